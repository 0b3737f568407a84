"""A project's theme syncs by the project's identity: under one name in the team, whatever it is called on each machine, and never
with the theme of another project."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psycopg
import pytest
from psycopg.errors import ProgramLimitExceeded

from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_server import KnownTheme, TeamServer, new_push_token
from hermes_memory_bridge.team.database.team_states import OTHER_PROJECT, TeamError
from hermes_memory_bridge.team.search import fact_queries
from hermes_memory_bridge.team.sync_run import SyncOutcome, SyncRun
from hermes_memory_bridge.team.syncer import Syncer
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from hermes_memory_store.sync.wire_format import PullCursor, scope_sync_uid
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import Database, made_database, migrate_openly
from tests.bridge.team.machines import Machine
from tests.processes import PATIENCE_S

ACME, OTHER = "git@github.com:acme/shop.git", "git@github.com:other/shop.git"

IDENTITY = "remote github.com/acme/shop"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


class Project:
    """A folder of a machine, with its theme."""

    def __init__(self, store: Store, folder: Path, remote: str | None, *, is_repository: bool = True) -> None:
        self.store = store
        self.folder = folder
        folder.mkdir(parents=True)
        if is_repository:
            git(folder, "init", "-q")
        if remote is not None:
            git(folder, "remote", "add", "origin", remote)
        self.theme = store.place_themes.theme_of(read_project(folder))

    def commit(self, words: str) -> None:
        """Make a first commit, which is the same wherever it is made in these words, and learn of it."""
        named = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(
            ["git", "-C", str(self.folder), *who, "commit", "-q", "--allow-empty", "-m", words],
            check=True,
            env=os.environ | named,
        )
        self.store.projects.note_first_commit(read_project(self.folder))

    def change_remote(self, remote: str) -> None:
        subprocess.run(["git", "-C", str(self.folder), "remote", "remove", "origin"], capture_output=True)
        git(self.folder, "remote", "add", "origin", remote)
        self.store.projects.locate(Origin(), self.folder)

    def write(self, line: str, scope: str | None = None) -> str:
        with self.store.attribute(self.store.projects.locate(Origin(way=Way.TOOL), self.folder)):
            self.store.turns.add(self.theme, "user", f"please note {line} for the whole team")
            return str(self.store.facts.write(self.theme, line, scope=scope).fact.uid)

    def contents(self) -> set[str]:
        return {fact.content for fact in self.store.facts.page(FactFilter(theme=self.theme)).facts}

    def heard(self) -> set[str]:
        return {turn.content for turn in self.store.turns.list(self.theme)}


class Clone(Project):
    """A machine with a clone of a repository, whose theme syncs; with further projects in it."""

    def __init__(
        self, home: Path, remote: str | None, *, is_repository: bool = True, folder: str = "shop", more: str = ""
    ) -> None:
        policy = f"[defaults]\nsync = true\nsync_turns = true\n{more}"
        (home / "memory-themes.toml").write_text(policy, encoding="utf-8")
        policies = Policies.load(home / "memory-themes.toml")
        self.home = home
        super().__init__(
            Store.open(home / "memory.db", policies=policies), home / folder, remote, is_repository=is_repository
        )
        self.run = SyncRun(Store.open(home / "memory.db", policies=policies))  # as a bridge has a store of its own

    def another(self, folder: str, remote: str | None) -> Project:
        return Project(self.store, self.home / folder, remote)

    def write_elsewhere(self, line: str) -> None:
        """Write in the project of the same name that the machine saw first."""
        with self.store.attribute(self.store.projects.locate(Origin(way=Way.TOOL), self.home / "shop")):
            self.store.facts.write("shop", line)
            self.store.turns.add("shop", "user", f"please note {line}")

    def exchange(self, database: Database, dsn: str | None = None) -> SyncOutcome:
        with TeamServer(dsn or database.runtime) as server:
            self.run.expire_backoffs()
            return self.run.run(server)

    def exchange_all(self, database: Database) -> SyncOutcome:
        """Exchange as a bridge does, which goes on at once where more is left."""
        with TeamServer(database.runtime) as server:
            for _ in range(4):
                self.run.expire_backoffs()
                said = self.run.run(server)
                if not said.more:
                    break
            return said

    def state(self, theme: str | None = None) -> str:
        state = self.run.outcome.themes[theme or self.theme].state
        return "idle" if state is None else state.name


Member = Callable[..., Clone]


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    made: list[Clone] = []

    def make(
        name: str, remote: str | None, *, before: str | None = None, is_repository: bool = True, **given: str
    ) -> Clone:
        """:param before: the remote of another project of the same name, which the machine saw first"""
        (tmp_path / name).mkdir()
        if before is None:
            made.append(Clone(tmp_path / name, remote, is_repository=is_repository, **given))
        else:
            first = Clone(tmp_path / name, before, **given)
            second = Clone.__new__(Clone)
            second.home, second.run = first.home, first.run
            Project.__init__(second, first.store, first.home / "work" / "shop", remote, is_repository=is_repository)
            assert (first.theme, second.theme) == ("shop", "shop-2")
            made.append(second)
        return made[-1]

    yield make
    for one in made:
        one.store.close()
        one.run.store.close()


def identities(database: Database) -> dict[str, set[str]]:
    with psycopg.connect(database.admin) as conn:
        rows = conn.execute("SELECT theme, identity FROM hm.identity").fetchall()
    return {theme: {one for name, one in rows if name == theme} for theme, _ in rows}


def settle(database: Database, *machines: Clone) -> None:
    for _ in range(3):
        for machine in machines:
            machine.exchange_all(database)


# Another project under one name.


def test_another_project_of_the_same_name_is_kept_apart_with_a_sentence(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    assert ann.theme == ben.theme == "shop"
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    for _ in range(2):
        said = ben.exchange(database)
        assert said.state.name == "other project"
        assert "theme shop: the team has another project under this name, github.com/acme/shop" in said.state.words
        assert "sync rename shop NAME" in said.state.words
    assert ben.contents() == {"SQLite"}
    ann.exchange(database)
    assert ann.contents() == {"Postgres"}
    assert not ann.store.turns.search("shop", "SQLite")
    assert not ben.store.turns.search("shop", "Postgres")
    assert identities(database) == {"shop": {IDENTITY}}


def test_what_is_kept_apart_goes_on_under_a_name_that_a_person_chooses(database: Database, member: Member) -> None:
    ann, ben, eve = member("ann", ACME), member("ben", OTHER), member("eve", OTHER)
    ann.write("D[db]: Postgres")
    ben.write("D[db]: SQLite", scope="storage")
    settle(database, ann, ben)
    assert ben.store.sync.rename_in_team("shop", "Other Shop") == "other-shop"
    settle(database, ben)
    assert ben.state() == "idle"
    eve.write("V[port]: 5433", scope="storage")
    settle(database, eve, ben, ann)
    assert eve.theme == "shop"
    assert eve.store.sync.team_names() == {"shop": "other-shop"}
    assert ben.contents() == eve.contents() == {"SQLite", "5433"}
    assert ann.contents() == {"Postgres"}
    assert ben.store.sync.standing.digest("shop") == eve.store.sync.standing.digest("shop")


def test_a_name_in_the_team_is_not_changed_once_it_is_used_nor_taken_from_another_theme(
    database: Database, member: Member
) -> None:
    ann = member("ann", ACME)
    ann.store.facts.write("marketing", "D[tone]: plain")
    ann.store.facts.write("shop", "D[db]: Postgres")
    with pytest.raises(ArgumentError, match="another theme of this machine is exchanged as marketing"):
        ann.store.sync.rename_in_team("shop", "marketing")
    ann.exchange(database)
    with pytest.raises(ArgumentError, match="exchanged as shop already"):
        ann.store.sync.rename_in_team("shop", "store")
    with pytest.raises(ArgumentError, match="not exchanged with a team database"):
        ann.store.sync.rename_in_team("nothing", "store")


def test_a_rename_is_noticed_by_a_run_that_goes_on_over_its_connection(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    with TeamServer(database.runtime) as server:
        assert ben.run.run(server).state.name == "other project"
        assert ben.run.run(server).state.name == "other project"
        ben.store.sync.rename_in_team("shop", "second")
        assert ben.run.run(server).state.name == "idle"
    assert database.one("SELECT count(*) FROM hm.item WHERE theme = 'second' AND kind = 'fact'") == 1


def test_a_program_that_ignores_the_answer_is_refused_by_the_database(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    claims = ben.store.place_themes.list_identities("shop")
    with TeamServer(database.runtime) as server:
        server.greet(ben.store.sync.node, [KnownTheme("shop", PullCursor(), claims)])
        with pytest.raises(TeamError) as refused:
            server.push("shop", ben.store.sync.node, ben.store.sync.outbox.pending_rows("shop"), new_push_token())
    assert refused.value.state.name == OTHER_PROJECT.name
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'SQLite'") == 0
    assert identities(database) == {"shop": {IDENTITY}}


def test_a_folder_without_an_identity_is_not_let_into_the_theme_of_a_project(
    database: Database, member: Member
) -> None:
    ann, ben = member("ann", ACME), member("ben", None, is_repository=False)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    assert ben.exchange(database).state.name == "other project"
    assert ben.contents() == {"SQLite"}


def test_a_theme_of_no_project_is_exchanged_as_before(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    for machine, line in ((ann, "D[tone]: plain"), (ben, "V[budget]: 300")):
        with machine.store.attribute(machine.store.projects.locate(Origin(way=Way.TOOL), machine.folder)):
            machine.store.facts.write("marketing", line)
    settle(database, ann, ben)
    assert ann.store.sync.standing.digest("marketing") == ben.store.sync.standing.digest("marketing")
    assert "marketing" not in identities(database)


# One project under several names.


def test_clones_of_one_project_share_their_theme(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", "https://github.com/acme/shop")
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("V[port]: 5432")
    assert ben.exchange(database).state.name == "idle"
    ann.exchange(database)
    assert ann.contents() == ben.contents() == {"Postgres", "5432"}


def test_a_theme_that_came_from_the_team_is_that_of_the_project_once_it_is_seen_here(
    database: Database, member: Member
) -> None:
    ann = member("ann", ACME)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben = member("ben", None, is_repository=False, folder="notes", more="\n[themes.shop]\nsync = true\n")
    ben.exchange(database)
    shop = ben.another("shop", "https://github.com/acme/shop.git")
    fork = ben.another("fork/shop", "https://github.com/fork/shop.git")
    assert (shop.theme, fork.theme) == ("shop", "shop-2")
    assert shop.contents() == {"Postgres"}
    shop.write("V[port]: 5432")
    settle(database, ben, ann)
    assert ann.contents() == shop.contents() == {"Postgres", "5432"}


@pytest.mark.parametrize("first", ["ann", "ben"])
def test_a_project_meets_under_the_name_of_who_comes_first(database: Database, member: Member, first: str) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before="git@github.com:ben/shop.git")
    purged = ann.write("D[db]: Postgres", scope="storage")
    ben.write("V[port]: 5432", scope="storage")
    settle(database, *((ann, ben) if first == "ann" else (ben, ann)))
    name = ann.theme if first == "ann" else ben.theme
    assert (ann.theme, ben.theme) == ("shop", "shop-2")
    assert ann.state() == ben.state() == "idle"
    assert ann.contents() == ben.contents() == {"Postgres", "5432"}
    assert ann.heard() == ben.heard()
    assert {scope.label for scope in ben.store.scopes.list(ben.theme)} == {"storage"}
    assert database.one("SELECT count(*) FROM hm.item WHERE theme = %s AND kind = 'scope'", name) == 1
    assert IDENTITY in identities(database)[name]
    # And later: a scope that is closed, words that are purged, an edit on both sides at once.
    ann.store.scopes.close(ann.theme, "storage")
    edited = ben.write("D[cache]: redis")
    settle(database, ann, ben)
    assert str(ben.store.scopes.get(ben.theme, "storage").status) == "closed"
    ben.store.purge.execute_facts(purged)
    ann.store.facts.edit(edited, "memcached")
    ben.store.facts.edit(edited, "valkey")
    settle(database, ann, ben)
    assert "Postgres" not in ann.contents() | ben.contents()
    assert ann.contents() == ben.contents()
    (here,), (there,) = ann.store.sync.standing.conflicts(), ben.store.sync.standing.conflicts()
    assert (here.theme, there.theme) == ("shop", "shop-2")
    assert here.theirs.content == there.theirs.content
    ann.store.sync.standing.resolve(here.uid, "theirs")
    settle(database, ann, ben)
    assert ann.contents() == ben.contents()
    assert not ann.store.sync.standing.conflicts() + ben.store.sync.standing.conflicts()
    digests = [
        {uid: row for uid, row in one.store.sync.standing.digests(one.theme).items() if one.store.facts.by_uids([uid])}
        for one in (ann, ben)
    ]
    assert digests[0] == digests[1] != {}


def test_the_other_project_of_a_machine_keeps_apart_while_its_namesake_meets(
    database: Database, member: Member
) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    own = ben.store
    ben.write_elsewhere("D[db]: SQLite")
    ann.write("D[db]: Postgres")
    ben.write("V[port]: 5432")
    settle(database, ann, ben)
    assert ben.state("shop-2") == "idle"
    assert ben.state("shop") == "other project"
    assert ann.contents() == ben.contents() == {"Postgres", "5432"}
    own.sync.rename_in_team("shop", "ben-shop")
    settle(database, ben, ann)
    assert ben.state("shop") == "idle"
    assert own.sync.team_names() == {"shop": "ben-shop", "shop-2": "shop"}
    assert database.one("SELECT content FROM hm.item WHERE theme = 'ben-shop' AND kind = 'fact'") == "SQLite"


def test_a_name_that_another_theme_of_the_machine_has_in_the_team_is_not_taken(
    database: Database, member: Member
) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=None)
    ben.store.facts.write("store", "D[tone]: plain")
    ben.exchange(database)  # `store` is a theme of no project there
    ann.write("D[db]: Postgres")
    ann.store.sync.rename_in_team("shop", "store")
    ann.exchange(database)
    ben.write("V[port]: 5432")
    settle(database, ben)
    assert ben.state() == "other project"
    assert "knows this project as theme store" in ben.run.outcome.state.words
    assert ben.state("store") == "idle"
    assert ben.contents() == {"5432"}


def test_two_machines_that_name_one_project_at_once_meet(database: Database, member: Member) -> None:
    # The theme is named, so that it is exchanged before anything is written.
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER, more="\n[themes.shop-2]\nsync = true\n")
    with TeamServer(database.runtime) as server:
        assert "shop-2" in ben.run.run(server).themes
        ann.write("D[db]: Postgres")
        ann.exchange(database)
        ben.write("V[port]: 5432")
        assert ben.run.run(server).more, "what it was told does not hold any more: it asks again at once"
        assert not ben.run.run(server).more
    settle(database, ann, ben)
    assert ann.contents() == ben.contents() == {"Postgres", "5432"}
    assert ben.heard() == ann.heard()
    assert database.one("SELECT count(DISTINCT theme) FROM hm.item") == 1


PUSH = (
    "SELECT hm.push(%s, gen_random_uuid(), gen_random_uuid(), 0, ARRAY[gen_random_uuid()], ARRAY['fact'], ARRAY['x'],"
    " ARRAY['{\"target\": \"a\"}'], '{NULL}', '{0}', '{1}', ARRAY[gen_random_uuid()], '{\"{}\"}', '{NULL}', %s)"
)


def push_as_member(database: Database, theme: str, claims: Sequence[str] | None) -> None:
    with psycopg.connect(database.runtime, autocommit=True) as conn:
        conn.execute(PUSH, (theme, claims))


def test_a_push_waits_for_one_that_gives_the_same_project_another_name(database: Database) -> None:
    refused: list[psycopg.Error] = []

    def push_late() -> None:
        try:
            push_as_member(database, "shop-2", [IDENTITY])
        except psycopg.Error as error:
            refused.append(error)

    with psycopg.connect(database.runtime) as conn:
        conn.execute(PUSH, ("shop", [IDENTITY]))
        late = threading.Thread(target=push_late)
        late.start()
        while not database.one("SELECT count(*) FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"):
            assert late.is_alive()
        push_as_member(database, "web", ["remote github.com/acme/web"])
        conn.commit()
    late.join(PATIENCE_S)
    assert [error.sqlstate for error in refused] == ["HM001"]
    assert identities(database) == {"shop": {IDENTITY}, "web": {"remote github.com/acme/web"}}


@pytest.mark.parametrize("seed", range(6))
def test_a_team_meets_whoever_comes_when(database: Database, member: Member, seed: int) -> None:
    chance = random.Random(seed)
    acme = [
        member("ann", ACME),
        member("ben", ACME, before="/srv/ben/shop"),
        member("eve", "https://github.com/Acme/Shop.git"),
    ]
    others = [member("oda", OTHER), member("pia", OTHER, before="/srv/pia/shop")]
    team = [*acme, *others]
    chance.shuffle(team)
    for number in range(14):
        machine = team[number] if number < len(team) else chance.choice(team)
        whose = "acme" if machine in acme else "other"
        machine.write(f"V[key{number}]: {whose} {number}", scope=chance.choice([None, "build"]))
        if chance.random() < 0.7:
            machine.exchange_all(database)
    settle(database, *team)
    for number, machine in enumerate(team):
        if machine.state() == "other project":
            machine.store.sync.rename_in_team(machine.theme, f"name{number}")
            settle(database, *team)
    for word, machines in (("acme", acme), ("other", others)):
        assert [one.state() for one in machines] == ["idle"] * len(machines)
        assert len({frozenset(one.contents()) for one in machines}) == 1
        assert len({frozenset(one.heard()) for one in machines}) == 1
        assert all(word in content for content in machines[0].contents())
    assert database.one("SELECT count(DISTINCT theme) FROM hm.item") == 2


# What a project is recognised by.


def test_a_project_whose_remote_changed_still_meets(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME)
    ann.write("D[db]: Postgres")
    ben.write("D[cache]: redis")
    settle(database, ann, ben)
    ann.change_remote("git@gitlab.com:acme/shop.git")
    ann.write("V[port]: 5432")
    settle(database, ann, ben)
    assert identities(database)["shop"] == {IDENTITY, "remote gitlab.com/acme/shop"}
    eve = member("eve", "https://gitlab.com/acme/shop.git", before=OTHER)
    eve.write("V[host]: db1")
    settle(database, eve, ann, ben)
    assert ann.contents() == ben.contents() == eve.contents() == {"Postgres", "redis", "5432", "db1"}


def test_a_project_without_a_remote_is_recognised_by_its_first_commit(database: Database, member: Member) -> None:
    ann, ben = member("ann", None), member("ben", None, before=OTHER)
    ann.commit("begin")
    ben.commit("begin")
    ann.write("D[db]: Postgres")
    ben.write("D[cache]: redis")
    settle(database, ann, ben)
    assert ben.theme == "shop-2"
    assert ben.contents() == {"Postgres", "redis"}
    ann.change_remote(ACME)  # and goes on once it has a remote
    ann.write("V[port]: 5432")
    ben.change_remote("git@github.com:moved/shop.git")
    ben.write("V[host]: db1")
    settle(database, ann, ben)
    assert ann.contents() == ben.contents() == {"Postgres", "redis", "5432", "db1"}


def test_a_fork_is_no_other_name_of_the_project(database: Database, member: Member) -> None:
    ann, ben = member("ann", None), member("ben", None, before=OTHER)
    for machine, remote in ((ann, ACME), (ben, "git@github.com:fork/shop.git")):
        machine.commit("begin")
        machine.change_remote(remote)
    ann.write("D[db]: Postgres")
    ben.write("D[db]: SQLite")
    settle(database, ann, ben)
    assert ann.contents() == {"Postgres"}
    assert ben.contents() == {"SQLite"}


def test_a_local_path_is_no_identity_that_travels(database: Database, member: Member) -> None:
    ann = member("ann", "/srv/git/shop.git")
    assert ann.store.place_themes.list_identities("shop") == []
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    assert identities(database) == {}


def test_of_two_themes_of_one_project_the_first_stands_for_it(member: Member) -> None:
    ann = member("ann", ACME)
    second = ann.another("copy", None)
    assert second.theme == "copy"
    second.change_remote(ACME)
    assert ann.store.place_themes.list_identities("shop") == [IDENTITY]
    assert ann.store.place_themes.list_identities("copy") == []
    assert ann.store.place_themes.list_identities("default") is None


def test_a_theme_of_before_is_that_of_the_project_its_facts_came_from(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    database.run("DELETE FROM hm.identity")  # as it is after the migration
    ben.write("D[db]: SQLite")
    assert ben.exchange(database).state.name == "other project"
    with pytest.raises(psycopg.Error) as refused:
        push_as_member(database, "shop", ["remote github.com/other/shop"])
    assert refused.value.sqlstate == "HM001"
    ann.write("V[port]: 5432")
    ann.exchange(database)
    assert identities(database) == {"shop": {IDENTITY}}


def test_who_was_exchanged_under_a_name_goes_on_under_it(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    database.run("DELETE FROM hm.identity")
    ben.write("V[port]: 5432")
    ben.exchange(database)  # as of before, under `shop-2`
    for machine in (ann, ben):
        machine.write("V[host]: db1")
    settle(database, ann, ben)
    assert ann.contents() == {"Postgres", "db1"}
    assert ben.contents() == {"5432", "db1"}
    assert ben.store.sync.team_names() == {}
    assert identities(database) == {"shop": {IDENTITY}, "shop-2": {IDENTITY}}


def test_a_push_that_is_refused_again_and_again_is_not_tried_without_end(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    ann.store.facts.write("shop", "D[db]: Postgres")
    ann.exchange(database)
    database.run("DELETE FROM hm.identity")  # as programs of before left it, who took each other for one project
    ben.write("V[port]: 5432")
    database.run("UPDATE hm.member SET themes = '{}', reads = '{shop}'")
    ben.exchange(database)
    database.run("UPDATE hm.member SET themes = '{*}'")
    ann.write("V[host]: db1")
    ann.exchange(database)
    with TeamServer(database.runtime) as server:
        ben.run.expire_backoffs()
        assert [ben.run.run(server).more for _ in range(3)] == [True, False, False]
        assert ben.run.outcome.state.name == "other project"
        assert "takes nothing of this theme" in ben.run.outcome.state.words
    assert ben.contents() == {"5432", "Postgres", "db1"}
    assert ann.contents() == {"Postgres", "db1"}


def test_another_database_has_names_of_its_own(
    database: Database, member: Member, postgres: object, template: str
) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres")
    ben.write("V[port]: 5432")
    settle(database, ann, ben)
    assert ben.store.sync.team_names() == {"shop-2": "shop"}
    with made_database(postgres, template) as other:  # type: ignore[arg-type]
        migrate_openly(other)
        ben.run = SyncRun(ben.run.store)
        settle(other, ben)
        assert other.one("SELECT count(*) FROM hm.item WHERE theme = 'shop' AND kind = 'fact'") == 2
        assert identities(other) == {"shop": {IDENTITY}}


# What nobody may do by saying who he is.


def test_of_a_theme_that_is_closed_nothing_is_told_and_nothing_taken(database: Database, member: Member) -> None:
    ann, eve = member("ann", ACME), member("eve", ACME, before=OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database, database.admin)
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["shop-2"])
    with TeamServer(database.runtime) as server:
        known = [KnownTheme("shop-2", PullCursor(), [IDENTITY]), KnownTheme("shop", PullCursor(), ["root 00"])]
        said = server.greet(str(uuid.uuid4()), known)
    assert (said.names, said.others, said.closed) == ({}, {}, {"shop"})
    eve.write("V[port]: 5432")
    eve.store.facts.write("shop", "D[db]: SQLite")
    eve.exchange(database)
    assert eve.contents() == {"5432"}
    assert eve.state() == "idle"
    assert eve.state("shop") == "closed"
    # Who may have both is sent to the one that had the project first.
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", [])
    ben = member("ben", ACME, before="/srv/ben/shop")
    ben.write("V[host]: db1")
    settle(database, ben)
    assert ben.state() == "idle"


def test_a_claim_does_not_take_a_theme_from_its_project(database: Database, member: Member) -> None:
    ann = member("ann", ACME)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    for claims in (["remote github.com/other/shop"], ["root 00", "remote github.com/other/shop"]):
        with pytest.raises(psycopg.Error) as refused:
            push_as_member(database, "shop", claims)
        assert refused.value.sqlstate == "HM001"
    with pytest.raises(psycopg.Error) as refused:
        push_as_member(database, "mine", [IDENTITY])  # a second theme of the project, which nobody would look for
    assert refused.value.sqlstate == "HM001"
    push_as_member(database, "mine", None)
    assert identities(database) == {"shop": {IDENTITY}}
    ann.write("V[port]: 5432")
    assert ann.exchange(database).state.name == "idle"


def test_the_identities_of_a_theme_are_bounded(database: Database) -> None:
    with pytest.raises(ProgramLimitExceeded):
        push_as_member(database, "shop", [f"root {n}" for n in range(101)])
    for begin in (0, 99, 198):
        push_as_member(database, "shop", ["root 0", *(f"root {n}" for n in range(begin, begin + 99))])
    push_as_member(database, "shop", ["root 0", "remote " + "x" * 5_000])
    assert 100 <= len(identities(database)["shop"]) < 200
    assert max(map(len, identities(database)["shop"])) < 1_100


def test_a_scope_that_claims_the_uid_it_has_under_the_name_of_here_is_not_taken_for_it(
    database: Database, member: Member
) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres", scope="storage")
    ann.exchange(database)
    ben.write("V[port]: 5432", scope="storage")
    settle(database, ben)
    forged = scope_sync_uid("shop-2", "storage")
    database.run(
        "WITH c AS (UPDATE hm.clock SET seq = seq + 1 WHERE theme = 'shop' RETURNING seq) INSERT INTO hm.item"
        " (theme, id, kind, content, attrs, hlc, node, seq) SELECT 'shop', '" + forged + "', 'scope', 'storage',"
        ' \'{"status": "closed", "opened_at": 1, "closed_at": 2, "closed_by": null}\', hlc + 1, node, c.seq'
        " FROM hm.item, c WHERE kind = 'scope'"
    )
    settle(database, ben, ann)
    assert str(ben.store.scopes.get("shop-2", "storage").status) == "open"
    assert [one.kind for one in ben.store.sync.standing.hidden_versions()] == ["scope"]
    assert [one.kind for one in ann.store.sync.standing.hidden_versions()] == ["scope"]


# What else names a theme.


def test_recall_over_the_team_asks_for_the_project_and_not_for_the_name(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    with TeamServer(database.runtime) as server:
        claims = {theme: ben.store.place_themes.list_identities(theme) or [] for theme in ("shop", "shop-2")}
        assert fact_queries.find_remote_themes(server, ["shop-2"], claims) == {"shop-2": "shop"}
        assert fact_queries.find_remote_themes(server, ["shop"], claims) == {}
        assert fact_queries.find_remote_themes(server, ["shop"]) == {"shop": "shop"}
        server.names = {"shop-2": "shop"}
        assert fact_queries.find_remote_themes(server, None) == {"shop-2": "shop"}
        assert fact_queries.find_remote_themes(server, ["shop-2"]) == {"shop-2": "shop"}


def test_verify_and_status_name_the_theme_as_here_and_the_name_of_the_team(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres", scope="storage")
    ann.exchange(database)
    ben.write("V[port]: 5432", scope="storage")
    ben.write_elsewhere("D[db]: SQLite")
    policies = Policies.load(ben.home / "memory-themes.toml")
    syncer = Syncer(
        ben.home / "memory.db", lambda: database.runtime, open_store=lambda path: Store.open(path, policies=policies)
    )
    compared = syncer.verify()
    syncer.start()
    try:
        found = {one.theme: one for one in compared.result(60).themes}
    finally:
        syncer.stop()
    assert found["shop-2"].same, found["shop-2"]
    assert found["shop-2"].rows == 4 + 1
    assert (found["shop"].rows, found["shop"].waiting, found["shop"].differs) == (0, 1 + 1, False)
    rows = {one["theme"]: one for one in syncer.report["themes"]}
    assert rows["shop-2"]["team_name"] == "shop"
    assert rows["shop-2"]["state"] == "idle"


def test_changes_and_closed_themes_are_told_by_the_name_of_the_team(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", ACME, before=OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("V[port]: 5432")
    with TeamServer(database.runtime) as server:
        for _ in range(2):
            ben.run.run(server)
        assert server.listening
        assert server.is_unchanged([KnownTheme("shop-2", ben.run.store.sync.inbox.cursor("shop-2"))])
        database.run("UPDATE hm.clock SET announced_at = NULL")  # as if the last announcement were a second old
        ann.write("V[host]: db1")
        ann.exchange(database)
        assert server.wait_for_notification(["shop-2"], 20)
        ben.run.run(server)
    assert ben.contents() == {"Postgres", "5432", "db1"}
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["shop-2"])
    said = ben.exchange(database)
    assert ben.state() == "closed"
    assert "not open to this role in the team database: shop;" in said.state.words


def test_the_command_gives_a_theme_another_name_in_the_team(database: Database, member: Member) -> None:
    ann, ben = member("ann", ACME), member("ben", OTHER)
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    ben.store.close()
    ben.run.store.close()
    machine = Machine.__new__(Machine)
    machine.home, machine.db, machine.dsn, machine.process = ben.home, ben.home / "memory.db", database.runtime, None
    first = machine.command("sync", "now")
    assert first.returncode == 1
    assert "`hermes-memory-bridge sync rename shop NAME` gives it one" in first.stdout
    done = machine.command("sync", "rename", "shop", "other-shop")
    assert done.stdout == "theme shop is exchanged as other-shop from now on\n", done.stderr
    second = machine.command("sync", "now")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "shop (other-shop in the team): 0 to send" in second.stdout
    assert database.one("SELECT content FROM hm.item WHERE theme = 'other-shop' AND kind = 'fact'") == "SQLite"


def test_the_personal_theme_is_synced_only_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "memory-themes.toml"
    file.write_text("[defaults]\nsync = true\nsync_turns = true\n\n[kinds.theme]\nsync = true\n")
    assert not Policies.load(file).for_theme("personal").sync
    file.write_text("[themes.personal]\nsync = true\n")
    assert Policies.load(file).for_theme("personal").sync
