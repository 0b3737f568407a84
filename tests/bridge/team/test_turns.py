"""Captured turns of a theme that shares them: on every machine the same, and erased on every machine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hermes_memory_bridge.team import sync_run as module
from hermes_memory_bridge.team.database.team_rights import open_themes, restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer, new_push_token
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_store import uids
from hermes_memory_store.clock import system_clock
from hermes_memory_store.conversations.turn_rows import PortableTurn
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.files.fact_restore import Restorer
from hermes_memory_store.intake.intake import AdmittedTurn
from hermes_memory_store.model import PERSON, Uid, Way
from hermes_memory_store.store import Store
from hermes_memory_store.sync.shared_turns import IN_OTHER_THEME
from hermes_memory_store.sync.wire_format import CheckedVersion, SyncRow
from hermes_memory_store.upkeep import backup
from hermes_memory_themes import Policies
from tests.bridge.team.conftest import LONG, Database, migrate_openly
from tests.bridge.team.proxy import Proxy

THEME = "ours"

DAY_MS = 86_400_000

SHARED = f"[themes.{THEME}]\nsync = true\nsync_turns = true\n"


class Machine:
    """A store of the team, and its exchange."""

    def __init__(self, home: Path, said: str) -> None:
        home.mkdir()
        self.home = home
        self.days = 0
        self.policy(said)

    def policy(self, said: str) -> None:
        """From now on this stands in its memory-themes.toml."""
        file = self.home / "memory-themes.toml"
        file.write_text(said, encoding="utf-8")
        self.close()
        self.store, self.syncing = (
            Store.open(self.home / "memory.db", policies=Policies.load(file), clock=self.clock) for _ in range(2)
        )
        self.exchange = SyncRun(self.syncing)

    def close(self) -> None:
        for name in ("store", "syncing"):
            if hasattr(self, name):
                getattr(self, name).close()

    def clock(self) -> int:
        return system_clock() + self.days * DAY_MS

    def say(self, *contents: str, session: str | None = None) -> None:
        opened = self.store.sessions.open(THEME, session) if session else None
        for content in contents:
            self.store.turns.add(THEME, "user", content, session=opened)

    def heard(self) -> list[str]:
        return sorted(turn.content for turn in self.store.turns.list(THEME, limit=10_000))


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def machine(said: str = SHARED) -> Machine:
        made.append(Machine(tmp_path / str(len(made)), said))
        return made[-1]

    yield machine
    for one in made:
        one.close()


def settle(database: Database, *machines: Machine) -> None:
    with TeamServer(database.runtime) as server:
        for _ in range(3):
            for machine in machines:
                machine.exchange.run(server)


def test_what_was_said_on_one_machine_is_found_on_the_other(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    here.say("Let us deploy the authentication service on Friday", session="planning")
    here.say("Lunch is at noon.")
    settle(database, here, there)

    found, *_ = there.store.turns.search(THEME, "when do we deploy?")
    said, *_ = here.store.turns.search(THEME, "when do we deploy?")
    assert replace(found.turn, origin=said.turn.origin) == said.turn
    assert found.turn.origin.way is Way.TEAM
    assert found.turn.origin.team_way == said.turn.origin.way
    assert found.turn.session == "planning"
    assert there.store.turns.search(THEME, "deploy", session="planning")
    assert there.heard() == here.heard()
    assert there.store.journal.verify().ok
    assert all(check.ok for check in examine_store(there.store))


def test_turns_stay_here_unless_their_theme_says_otherwise(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(f"[themes.{THEME}]\nsync = true\n"), join()
    here.say("nobody's but mine")
    here.store.facts.write(THEME, "D[db]: sqlite")
    settle(database, here, there)
    assert there.heard() == []
    assert database.one("SELECT count(*) FROM hm.item WHERE is_turn") == 0

    here.policy(SHARED)
    settle(database, here, there)
    assert there.heard() == ["nobody's but mine"]

    here.policy(f"[themes.{THEME}]\nsync = true\n")
    here.say("mine again")
    there.say("not for the other")
    settle(database, here, there)
    assert there.heard() == ["nobody's but mine", "not for the other"]
    assert here.heard() == ["mine again", "nobody's but mine"]
    here.store.turns.erase(THEME)
    settle(database, here, there)
    assert there.heard() == ["not for the other"], "what was shared once is erased for everybody"


def test_who_erases_by_hand_erases_for_everybody_and_for_good(
    database: Database, join: Callable[..., Machine], tmp_path: Path
) -> None:
    here, there, later = join(), join(), join()
    here.say("the secret word xylophone")
    there.say("and what follows it")
    settle(database, here, there)
    assert len(there.heard()) == len(here.heard()) == 2
    there.store.turns.erase(THEME)
    settle(database, there, here, later)

    assert here.heard() == there.heard() == later.heard() == []
    assert database.one("SELECT count(*) FROM hm.item WHERE is_turn AND state = 2 AND content IS NULL") == 2
    for machine in (here, there):
        machine.close()
        assert b"xylophone" not in (machine.home / "memory.db").read_bytes()
        machine.policy(SHARED)
    for machine in (here, there, later):
        machine.store.sync.outbox.mark_all_unsent(THEME)
    settle(database, here, there, later)
    assert here.heard() == there.heard() == later.heard() == []


def test_who_captured_a_turn_says_how_long_it_is_kept_and_others_may_keep_it_for_less(
    database: Database, join: Callable[..., Machine]
) -> None:
    long, short = join(SHARED + "turn_days = 30\n"), join(SHARED + "turn_days = 7\n")
    long.say("said by who keeps it long")
    short.say("said by who keeps it briefly")
    settle(database, long, short)

    def retire() -> None:
        for machine, days in ((long, 30), (short, 7)):
            machine.store.turns.erase(THEME, older_than_ms=days * DAY_MS, actor=PERSON, everywhere=False)
        settle(database, long, short)

    long.days = short.days = 10
    retire()
    assert short.heard() == []
    assert long.heard() == ["said by who keeps it long"]
    short.store.sync.outbox.mark_all_unsent(THEME)
    settle(database, long, short)
    assert short.heard() == [], "it does not come back to who keeps it for less"
    long.days = short.days = 31
    retire()
    assert long.heard() == []
    assert database.one("SELECT count(*) FROM hm.item WHERE is_turn AND state = 0") == 0


def test_what_is_older_than_turns_are_kept_here_does_not_come(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join(SHARED + "turn_days = 7\n")
    here.say("long ago")
    there.days = 8
    settle(database, here, there)
    assert there.heard() == []


class Strict:
    """Masks, and keeps some out."""

    def name(self, theme: str, what: str, name: str) -> None: ...

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        return CheckedVersion()

    def turn(self, theme: str, turn: PortableTurn) -> AdmittedTurn:
        if "unspeakable" in turn.content:
            raise ArgumentError("it must not be kept", turn.content)
        return AdmittedTurn(turn.content.replace("hunter2", "‹secret:it›"))


def test_turns_pass_the_screens_of_the_machine_they_come_to(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    there.syncing.sync.content_check = Strict()
    here.say("it is hunter2", "something unspeakable")
    settle(database, here, there)

    assert there.heard() == ["it is ‹secret:it›"]
    ((theme, why),) = [(one.theme, one.why) for one in there.store.shared_turns.skipped_turns()]
    assert (theme, why) == (THEME, "it must not be kept")
    assert here.heard() == ["it is hunter2", "something unspeakable"]
    there.policy(SHARED)  # another day, without that screen
    settle(database, here, there)
    assert there.heard() == ["it is ‹secret:it›", "something unspeakable"]
    assert there.store.shared_turns.skipped_turns() == []


OFF = f"[themes.{THEME}]\nsync = true\n"


def exported(machine: Machine) -> list[PortableTurn]:
    rows = machine.store.db.rows("SELECT uid, role, content, at FROM turns ORDER BY id")
    return [PortableTurn(uid, None, role, content, at) for uid, role, content, at in rows]


def test_what_was_said_while_a_theme_did_not_share_comes_when_it_does_again(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()
    here.say("one")
    settle(database, here, there)
    there.policy(OFF)
    here.say("two")
    there.say("three")
    settle(database, here, there)
    assert (here.heard(), there.heard()) == (["one", "two"], ["one", "three"])
    there.policy(SHARED)
    settle(database, here, there)
    assert here.heard() == there.heard() == ["one", "three", "two"]


def test_a_running_bridge_sends_what_was_captured_before_its_theme_shared_again(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()

    def policy(said: str) -> None:
        (here.home / "memory-themes.toml").write_text(said, encoding="utf-8")
        here.syncing.policies.reload()

    here.say("one")
    settle(database, here, there)
    policy(OFF)
    here.say("two")
    settle(database, here, there)
    assert there.heard() == ["one"]
    policy(SHARED)
    settle(database, here, there)
    assert there.heard() == ["one", "two"]


def test_a_theme_that_keeps_no_turns_takes_none(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join(SHARED + 'turns = "none"\n')
    here.say("hello")
    settle(database, here, there)
    assert there.heard() == []


def test_who_imported_what_another_captured_does_not_say_how_long_it_is_kept(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join(SHARED + "turn_days = 7\n")
    here.say("precious")
    Restorer(there.store, THEME, None).restore_batch(enumerate(exported(here)))
    settle(database, here, there)
    here.days = there.days = 8
    there.store.turns.erase(THEME, older_than_ms=7 * DAY_MS, everywhere=False)
    settle(database, here, there)
    assert (here.heard(), there.heard()) == (["precious"], [])


def test_a_turn_that_stands_in_another_theme_here_is_told_of(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    here.say("hello")
    Restorer(there.store, "mine", None).restore_batch(enumerate(exported(here)))
    settle(database, here, there)
    assert [one.why for one in there.store.shared_turns.skipped_turns()] == [IN_OTHER_THEME]
    there.store.turns.erase("mine")
    there.policy(SHARED)
    settle(database, here, there)
    assert there.heard() == ["hello"]


def test_an_import_brings_nothing_back_that_was_erased_for_the_team(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()
    here.say("secret")
    turns = exported(here)
    Restorer(there.store, "mine", None).restore_batch(enumerate(turns))
    settle(database, here, there)
    here.store.turns.erase(THEME)
    settle(database, here, there)
    Restorer(there.store, THEME, None).restore_batch(enumerate(turns))
    settle(database, here, there)
    assert here.heard() == there.heard() == []


def test_one_export_that_two_machines_import_is_there_once(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    there.store.facts.write("zero", "D[x]: 1")  # so that their themes have other keys
    turns = [PortableTurn(uids.new_uid(1), None, "user", "imported", 1_700_000_000_000)]
    for machine in (here, there):
        for theme in ("mine", THEME):
            Restorer(machine.store, theme, None).restore_batch(enumerate(turns))
    settle(database, here, there)
    assert here.heard() == there.heard() == ["imported"]


def test_what_a_screen_altered_is_not_offered_to_a_database_that_lost_it(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there, later = join(), join(), join()
    there.syncing.sync.content_check = Strict()
    here.say("it is hunter2")
    settle(database, here, there)
    database.run("DELETE FROM hm.item WHERE is_turn; DELETE FROM hm.mark; UPDATE hm.clock SET seq = 0")
    settle(database, there, here, later)
    assert later.heard() == ["it is hunter2"]


def test_what_was_left_out_first_and_altered_then_is_not_offered_either(
    database: Database, join: Callable[..., Machine]
) -> None:
    class Closed(Strict):
        def turn(self, theme: str, content: str) -> str:
            raise ArgumentError("the keyring is closed", content)

    here, there, later = join(), join(), join()
    there.syncing.sync.content_check = Closed()
    here.say("it is hunter2")
    settle(database, here, there)
    there.policy(SHARED)
    there.syncing.sync.content_check = Strict()
    settle(database, there)
    assert there.heard() == ["it is ‹secret:it›"]
    database.run("DELETE FROM hm.item WHERE is_turn; DELETE FROM hm.mark; UPDATE hm.clock SET seq = 0")
    settle(database, there, here, later)
    assert later.heard() == ["it is hunter2"]


def test_erasing_all_erases_what_a_clock_that_is_ahead_stamped(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()
    here.days = 1
    here.say("from the future")
    settle(database, here, there)
    assert there.store.turns.count(THEME) == 1
    there.store.turns.erase(THEME)
    settle(database, here, there)
    assert here.heard() == there.heard() == []


@pytest.mark.parametrize("before_sharing", [True, False])
def test_a_backup_that_is_put_back_forgets_no_erasure(
    database: Database, join: Callable[..., Machine], before_sharing: bool
) -> None:
    here, there = join(OFF if before_sharing else SHARED), join()
    (here if before_sharing else there).say("word")
    settle(database, there, here)
    kept = here.home / "kept.bak"
    backup.create_backup(here.store, kept)
    here.policy(SHARED)
    settle(database, here, there)
    assert here.heard() == there.heard() == ["word"]
    here.store.turns.erase(THEME)  # and nothing is exchanged before the backup is put back
    here.close()
    backup.restore_backup(kept, here.home / "memory.db")
    here.policy(SHARED)
    settle(database, here, there)
    assert here.heard() == there.heard() == []


def test_turns_are_never_pulled_farther_than_facts_whose_mark_tells_what_the_database_lost(
    database: Database, join: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob, cleo = join(), join(), join()
    ann.say("0")
    settle(database, ann, bob, cleo)
    pull = TeamServer.pull_turns

    def meanwhile(*told: Any, **more: Any) -> Any:
        monkeypatch.undo()
        ann.say("lost by the database")
        settle(database, ann)
        return pull(*told, **more)

    ann.store.facts.write(THEME, "V[x]: 1")
    settle(database, ann)
    monkeypatch.setattr(TeamServer, "pull_turns", meanwhile)
    with TeamServer(database.runtime) as server:
        bob.exchange.run(server)
    database.run("DELETE FROM hm.mark WHERE seq = (SELECT seq FROM hm.clock)")
    database.run(
        "DELETE FROM hm.item WHERE is_turn AND seq = (SELECT seq FROM hm.clock); UPDATE hm.clock SET seq = seq - 1"
    )
    cleo.say("from cleo")
    settle(database, cleo, bob, ann)
    assert ann.heard() == bob.heard() == cleo.heard() == ["0", "from cleo", "lost by the database"]


def test_only_what_was_left_out_is_asked_for_again(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    there.syncing.sync.content_check = Strict()
    here.say("something unspeakable", *(f"turn {n}" for n in range(20)))
    settle(database, here, there)
    there.exchange = SyncRun(there.syncing)
    with TeamServer(database.runtime) as server:
        assert there.exchange.run(server).themes[THEME].turns_pulled == 0
    assert len(there.store.shared_turns.skipped_turns()) == 1


def test_facts_do_not_wait_for_turns(
    database: Database, join: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TURNS_S", 0.0)
    monkeypatch.setattr(module, "BATCH", 10)
    here, there = join(), join()
    here.say(*(f"turn {n}" for n in range(30)))
    settle(database, there)
    here.store.facts.write(THEME, "V[x]: 1")
    with TeamServer(database.runtime) as server:
        first = here.exchange.run(server)
        assert (first.themes[THEME].pushed, first.themes[THEME].turns_pushed, first.more) == (1, 10, True)
        while here.exchange.run(server).more:
            pass
    assert here.store.shared_turns.pending_turn_count(THEME) == 0


def test_what_was_erased_leaves_the_backups_though_somebody_was_cut_off(
    database: Database, join: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = join(), join()
    here.say("the secret word xylophone")
    settle(database, here, there)
    kept = there.home / "kept.bak"
    backup.create_backup(there.store, kept)
    here.store.turns.erase(THEME)
    monkeypatch.setattr(there.syncing.turns, "scrub", lambda: ())
    settle(database, here, there)
    assert b"xylophone" in kept.read_bytes()
    there.policy(SHARED)
    settle(database, there)
    assert b"xylophone" not in kept.read_bytes()


def test_a_turn_the_database_cannot_keep_hinders_no_other(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    here.say("before", "with | in it", "after")
    with here.store.db.write_transaction() as conn:  # as programs before 0.4.1 stored it
        conn.execute("UPDATE turns SET content = replace(content, '|', char(0))")
    settle(database, here, there)

    assert there.heard() == ["after", "before"]
    assert here.store.shared_turns.pending_turn_count(THEME) == 0
    assert ["NUL" in one.why for one in here.store.shared_turns.rejected_turns()] == [True]


def test_many_and_long_turns_travel_in_pieces_and_are_not_fetched_by_who_sent_them(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()
    here.say(*(f"{n} " + "word " * 15_000 for n in range(40)), *(f"short {n}" for n in range(700)))
    with TeamServer(database.runtime) as server:
        pushed = pulled = 0
        while not (done := here.exchange.run(server)).idle:
            pushed += done.themes[THEME].turns_pushed
            pulled += done.themes[THEME].turns_pulled
        assert (pushed, pulled) == (740, 0)
        assert len(server.pull_turns(THEME, 0, 1_000).rows) < 40  # of that many characters no more are taken in at once
        while there.exchange.run(server).more:
            pass
    assert there.heard() == here.heard()
    assert database.one("SELECT count(*) FROM hm.mark") > 2  # type: ignore[operator]


def test_nothing_to_do_is_one_round_trip(database: Database, join: Callable[..., Machine]) -> None:
    here = join()
    here.say("something")
    here.store.facts.write(THEME, "D[db]: sqlite")
    settle(database, here)
    with Proxy(database.runtime) as proxy, TeamServer(proxy.dsn()) as server:
        here.exchange.run(server)
        before = proxy.pieces
        assert here.exchange.run(server).idle
        assert proxy.pieces - before == 1


def test_turns_that_come_meanwhile_leave_no_fact_behind(
    database: Database, join: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = join(), join()
    here.say("first")
    settle(database, here, there)
    pull = TeamServer.pull_turns

    def meanwhile(server: TeamServer, *told: Any, **more: Any) -> Any:
        monkeypatch.undo()
        here.say("second")
        settle(database, here)
        return pull(server, *told, **more)

    here.say("before")
    settle(database, here)
    monkeypatch.setattr(TeamServer, "pull_turns", meanwhile)
    with TeamServer(database.runtime) as server:
        done = there.exchange.run(server).themes[THEME]
    assert done.server_seq == there.syncing.sync.inbox.cursor(THEME).seq
    assert there.syncing.shared_turns.cursor(THEME) == there.syncing.sync.inbox.cursor(THEME).seq
    settle(database, there)
    assert there.heard() == ["before", "first", "second"]


def test_what_waits_for_a_migration_is_exchanged_after_it(former: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    here.say("waits")
    here.store.facts.write(THEME, "D[db]: sqlite")
    with pytest.raises(TeamError, match="team migrate"):
        TeamServer(former.runtime)
    migrate_team_schema(former.admin)
    open_themes(former.admin, f"{former.name}_runtime", [THEME])
    settle(former, here, there)
    assert there.heard() == ["waits"]


def test_turns_of_before_are_moved_with_where_they_came_from_and_what_was_erased(
    former: Database, join: Callable[..., Machine]
) -> None:
    kept, erased, node = (
        uids.format_uid(uids.new_uid(1)),
        uids.format_uid(uids.new_uid(2)),
        uids.format_uid(uids.new_uid(3)),
    )
    former.run(
        "INSERT INTO hm.clock VALUES ('ours', 2);"
        "INSERT INTO hm.turn (theme, id, session, role, content, said_at, node, seq, origin)"
        f" VALUES ('ours', '{kept}', 'planning', 'user', 'deploy on Friday', 1700000000000, '{node}', 1,"
        """ '{"way": "hook"}');"""
        f"INSERT INTO hm.turn (theme, id, state, node, seq) VALUES ('ours', '{erased}', 2, '{node}', 2)"
    )
    migrate_openly(former)
    here, there = join(), join()
    here.store.facts.write("zero", "D[x]: 1")
    turns = [PortableTurn(uids.parse_uid(erased), None, "user", "erased elsewhere", 1_700_000_000_000)]
    Restorer(here.store, THEME, None).restore_batch(enumerate(turns))

    settle(former, here, there)

    assert here.heard() == there.heard() == ["deploy on Friday"]
    (turn,) = there.store.turns.list(THEME)
    assert (turn.uid, turn.session, turn.at) == (kept, "planning", 1_700_000_000_000)
    assert turn.origin.team_way == Way.HOOK
    with TeamServer(former.runtime) as server:
        found = "SELECT id::text FROM hm.worded('ours', 'turn', ARRAY['deploy & friday'], NULL, NULL, NULL, 10, 10)"
        assert server.value(found) == kept
    there.store.turns.erase(THEME)
    settle(former, there, here)
    assert here.heard() == []


def test_a_turn_is_never_changed_nor_made_of_something_else(database: Database, join: Callable[..., Machine]) -> None:
    here, there = join(), join()
    here.say("as it was said")
    fact = here.store.facts.write(THEME, "V[x]: 1").fact.uid
    settle(database, here, there)
    (turn,) = here.store.turns.list(THEME)
    highest = Uid("ffffffff-ffff-7fff-bfff-ffffffffffff")
    attrs = {"session": None, "role": "user", "said_at": 1}
    pushed = [
        SyncRow(THEME, turn.uid, "turn", "forged", attrs, 0, 0, highest),
        SyncRow(THEME, turn.uid, "fact", "forged", {"target": "x"}, 0, system_clock() << 16, highest),
        SyncRow(THEME, turn.uid, "fact", None, {}, 2, system_clock() << 16, highest),
        SyncRow(THEME, fact, "turn", "forged", attrs, 0, 0, highest),
        SyncRow(THEME, fact, "turn", None, {}, 2, 0, highest),
    ]
    with TeamServer(database.runtime) as server:
        for row in pushed:
            assert server.push(THEME, highest, [row], new_push_token()).accepted == [(row, None)]
        for state, said in ((1, attrs), (0, {**attrs, "role": 7}), (0, {**attrs, "said_at": "now"}), (0, [])):
            with pytest.raises(psycopg.errors.CheckViolation):
                server.push(
                    THEME,
                    highest,
                    [SyncRow(THEME, highest, "turn", "forged", said, state, 0, highest)],
                    new_push_token(),
                )
    settle(database, there, here)
    assert here.heard() == there.heard() == ["as it was said"]
    assert database.one("SELECT count(*) FROM hm.item WHERE content = 'forged' OR state = 2") == 0


def test_who_shares_no_turns_reads_none(database: Database, join: Callable[..., Machine]) -> None:
    here = join()
    here.store.facts.write(THEME, "V[x]: 1")
    settle(database, here)
    here.say(*(f"turn {n}" for n in range(600)))
    settle(database, here)
    here.store.facts.write(THEME, "V[y]: 2")
    settle(database, here)
    with psycopg.connect(database.admin, autocommit=True) as conn:
        conn.execute("ANALYZE hm.item")
    with psycopg.connect(database.admin) as conn:
        found = conn.execute(
            "SELECT kind, more FROM hm.pull(%s, false, true, 0, NULL, 100, 1000000)", (THEME,)
        ).fetchall()
        read = "SELECT sum(seq_tup_read + idx_tup_fetch)::int FROM pg_stat_xact_user_tables WHERE relname LIKE 'item%'"
        assert conn.execute(read).fetchone() == (2,)
    assert found == [("fact", False)] * 2


def test_a_role_sees_the_turns_of_its_themes_only(database: Database, join: Callable[..., Machine]) -> None:
    here = join()
    here.say("for us")
    settle(database, here)
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["theirs"])
    with TeamServer(database.runtime) as server:
        assert server.value("SELECT hm.count_items('ours', 'turn', 10)") == 0
        words = "SELECT count(*) FROM hm.worded('ours', 'turn', ARRAY['us'], NULL, NULL, NULL, 10, 10)"
        assert server.value(words) == 0
        restrict_role_to_themes(database.admin, f"{database.name}_runtime", [])
        assert server.value("SELECT hm.count_items('ours', 'turn', 10)") == 1
        assert server.value(words) == 1
    with psycopg.connect(database.runtime) as conn, pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("DELETE FROM hm.item")


def test_a_database_that_lost_its_newest_changes_is_offered_all_turns_again(
    database: Database, join: Callable[..., Machine]
) -> None:
    here, there = join(), join()
    here.say("first")
    settle(database, here, there)
    with psycopg.connect(database.admin) as conn:
        conn.execute("DELETE FROM hm.item WHERE is_turn; DELETE FROM hm.mark; UPDATE hm.clock SET seq = 0")
    there.say("second")
    settle(database, here, there)
    assert here.heard() == there.heard() == ["first", "second"]
    assert database.one("SELECT count(*) FROM hm.item WHERE is_turn") == 2


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(12 if LONG else 3))
def test_turns_arrive_over_lines_that_fail_and_what_was_erased_never_returns(
    database: Database, join: Callable[..., Machine], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    chance = random.Random(seed)
    machines = [join() for _ in range(chance.randint(2, 4))]
    said: set[str] = set()
    with Proxy(database.runtime, seed) as proxy:
        for step in range(60):
            machine = chance.choice(machines)
            what = chance.random()
            if what < 0.5:
                said.add(content := f"{seed} said {step}")
                machine.say(content)
            elif what < 0.55 and machine.store.names.theme_or_none(THEME):
                gone = machine.heard()
                machine.store.turns.erase(THEME)
                said -= set(gone)
            elif what < 0.6:
                machine.store.facts.write(THEME, f"V[t{step}]: {step}")
            proxy.cut_chance = proxy.lose_chance = 0.05
            try:
                with TeamServer(proxy.dsn()) as server:
                    machine.exchange.run(server)
            except TeamError:
                machine.policy(SHARED)  # as after a crash
        proxy.cut_chance = proxy.lose_chance = 0.0
    settle(database, *machines)
    for machine in machines:
        assert set(machine.heard()) == said
        assert machine.store.shared_turns.pending_turn_count(THEME) == 0
        assert all(check.ok for check in examine_store(machine.store))
