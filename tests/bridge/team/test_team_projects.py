"""Two projects of one name are not mixed by a team: the second machine is told of it, and exchanges nothing of that theme."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.sync_run import SyncOutcome, SyncRun
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import Database

Member = Callable[[str, str], "Clone"]


class Clone:
    """A machine with a clone of a repository, whose theme syncs."""

    def __init__(self, home: Path, remote: str) -> None:
        self.folder = home / "shop"
        subprocess.run(["git", "init", "-q", str(self.folder)], check=True)
        subprocess.run(["git", "-C", str(self.folder), "remote", "add", "origin", remote], check=True)
        (home / "memory-themes.toml").write_text("[defaults]\nsync = true\nsync_turns = true\n", encoding="utf-8")
        policies = Policies.load(home / "memory-themes.toml")
        self.store = Store.open(home / "memory.db", policies=policies)
        self.theme = self.store.place_themes.theme_of(read_project(self.folder))
        self.run = SyncRun(self.store)

    def write(self, line: str) -> None:
        with self.store.attribute(self.store.projects.locate(Origin(way=Way.TOOL), self.folder)):
            self.store.facts.write(self.theme, line)
            self.store.turns.add(self.theme, "user", f"please note {line} for the whole team")

    def exchange(self, database: Database) -> SyncOutcome:
        with TeamServer(database.runtime) as server:
            self.run.expire_backoffs()
            return self.run.run(server)

    def contents(self) -> set[str]:
        return {fact.content for fact in self.store.facts.page(FactFilter(theme=self.theme)).facts}


@pytest.fixture
def member(tmp_path: Path) -> Iterator[Member]:
    made: list[Clone] = []

    def make(name: str, remote: str) -> Clone:
        (tmp_path / name).mkdir()
        made.append(Clone(tmp_path / name, remote))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


def test_another_project_of_the_same_name_is_kept_apart_with_a_sentence(database: Database, member: Member) -> None:
    ann, ben = member("ann", "git@github.com:acme/shop.git"), member("ben", "git@github.com:other/shop.git")
    assert ann.theme == ben.theme == "shop"
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("D[db]: SQLite")
    for _ in range(2):
        said = ben.exchange(database)
        assert said.state.name == "other project"
        assert "theme shop: the team has another project under this name, github.com/acme/shop" in said.state.words
    assert ben.contents() == {"SQLite"}
    ann.exchange(database)
    assert ann.contents() == {"Postgres"}
    assert not ann.store.turns.search("shop", "SQLite")


def test_clones_of_one_project_share_their_theme(database: Database, member: Member) -> None:
    ann, ben = member("ann", "git@github.com:acme/shop.git"), member("ben", "https://github.com/acme/shop")
    ann.write("D[db]: Postgres")
    ann.exchange(database)
    ben.write("V[port]: 5432")
    assert ben.exchange(database).state.name == "idle"
    ann.exchange(database)
    assert ann.contents() == ben.contents() == {"Postgres", "5432"}


def test_the_personal_theme_is_synced_only_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "memory-themes.toml"
    file.write_text("[defaults]\nsync = true\nsync_turns = true\n\n[kinds.theme]\nsync = true\n")
    assert not Policies.load(file).for_theme("personal").sync
    file.write_text("[themes.personal]\nsync = true\n")
    assert Policies.load(file).for_theme("personal").sync
