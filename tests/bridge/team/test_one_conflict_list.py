"""A team has one list of conflicts: whoever has only the winner hears of what lost, and a decision anywhere settles it."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg.errors import CheckViolation, InsufficientPrivilege, ProgramLimitExceeded

from hermes_memory_bridge.team import shared_conflicts
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_store.model import Uid
from tests.bridge.team.conftest import Database
from tests.bridge.team.people import THEME, Person, settle, team_of
from tests.bridge.team.proxy import Proxy


def lost(person: Person) -> list[tuple[str | None, str | None]]:
    """What stands and what lost, of each conflict."""
    return sorted((one.mine.content, one.theirs.content) for one in person.store.sync.standing.conflicts(THEME))


def edit_at_once(database: Database, ann: Person, bob: Person, *others: Person) -> str:
    """Two people edit a fact without knowing of each other; its uid."""
    fact = ann.write("D[cache]: keep sessions in redis")
    settle(ann, bob, *others)
    ann.store.facts.edit(fact.uid, "keep sessions in memory")
    bob.store.facts.edit(fact.uid, "keep sessions in files")
    return str(fact.uid)


def test_who_saw_only_the_winner_has_the_same_list(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="curate", cleo="curate") as (ann, bob, cleo):
        edit_at_once(database, ann, bob, cleo)
        settle(ann, bob)
        settle(ann, bob, cleo)
        assert lost(ann) == lost(bob) == lost(cleo)
        assert len(lost(cleo)) == 1

        late = Person(tmp_path / "late", ann.dsn, ann.role)
        settle(late)
        assert lost(late) == lost(ann)
        late.close()


def test_what_was_settled_offline_does_not_come_back(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="curate", cleo="curate") as (ann, bob, cleo):
        uid = edit_at_once(database, ann, bob, cleo)
        settle(ann, bob)
        bob.store.sync.standing.resolve(uid, "mine", theme=THEME)  # type: ignore[arg-type]
        cleo.exchange()
        assert len(lost(cleo)) == 1
        bob.exchange()
        settle(cleo, ann)
        assert lost(ann) == lost(bob) == lost(cleo) == []


def test_a_decision_whose_sending_broke_off_is_not_forgotten_for_an_equal_version(
    database: Database, tmp_path: Path
) -> None:
    with team_of(database, tmp_path, ann="curate", bob="curate", cleo="curate") as (ann, bob, cleo):
        ann.write("D[queue]: keep jobs in redis")
        uid = edit_at_once(database, ann, bob, cleo)
        settle(ann, bob, cleo)
        with Proxy(ann.dsn) as proxy, TeamServer(proxy.dsn()) as server:
            ann.run.run(server)
            ann.store.sync.standing.resolve(uid, "mine", theme=THEME)  # type: ignore[arg-type]
            proxy.lose_chance = 1.0
            with pytest.raises(TeamError):
                ann.run._push(server, THEME)
        bob.store.facts.edit(Uid(uid), "x y z")
        bob.store.facts.edit(Uid(uid), "keep sessions in files")
        with TeamServer(bob.dsn) as server:
            bob.run._push(server, THEME)
        settle(ann, bob, cleo)
        assert lost(ann) == lost(bob) == lost(cleo) == []
        assert database.one("SELECT count(*) FROM hm.conflict") == 0


def test_a_purge_takes_what_lost_with_it(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="curate") as (ann, bob):
        uid = edit_at_once(database, ann, bob)
        settle(ann, bob)
        assert database.one("SELECT count(*) FROM hm.conflict") == 1
        ann.store.purge.execute_facts(Uid(uid))
        settle(ann, bob)
        assert lost(ann) == lost(bob) == []
        assert database.one("SELECT count(*) FROM hm.conflict") == 0


def test_an_exchange_with_nothing_new_asks_for_no_conflicts(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", bob="curate") as (ann, bob):
        edit_at_once(database, ann, bob)
        settle(ann, bob)
        seq = database.one("SELECT seq FROM hm.clock")
        settle(ann, bob)
        assert database.one("SELECT seq FROM hm.clock") == seq


def test_more_conflicts_than_one_push_takes_are_kept_in_one_exchange(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_conflicts, "MOST", 2)
    with team_of(database, tmp_path, ann="curate", bob="curate", cleo="curate") as (ann, bob, cleo):
        facts = [ann.write(f"D[part.{n}]: decision {n}") for n in range(7)]
        settle(ann, bob, cleo)
        for n, fact in enumerate(facts):
            ann.store.facts.edit(fact.uid, f"by ann {n}")
            bob.store.facts.edit(fact.uid, f"by bob {n}")
        ann.exchange()
        bob.exchange()
        assert database.one("SELECT count(*) FROM hm.conflict") == len(lost(bob)) == 7
        settle(ann, bob, cleo)
        assert lost(ann) == lost(bob) == lost(cleo)


KEPT = (
    "SELECT hm.push_conflicts('ours', ARRAY[{uid}]::uuid[], ARRAY['fact'], ARRAY[{text}], ARRAY['{{}}'],"
    " ARRAY[{state}]::smallint[], ARRAY[{stamp}]::bigint[], ARRAY[gen_random_uuid()], ARRAY['{{}}'])"
)


def test_a_hostile_member_keeps_nothing_that_is_no_conflict(database: Database, tmp_path: Path) -> None:
    with team_of(database, tmp_path, ann="curate", mallory="write", eve="read") as (ann, mallory, eve):
        uid = f"'{ann.write('D[cache]: keep sessions in redis').uid}'"
        settle(ann, mallory)
        named = {"uid": uid, "text": "'x'", "state": 0, "stamp": 5}
        with psycopg.connect(mallory.dsn, autocommit=True) as conn:
            for wrong in ({"uid": "gen_random_uuid()"}, {"stamp": (1 << 62) - 1}):
                assert conn.execute(KEPT.format(**{**named, **wrong})).fetchone() == (0,)
            for wrong in ({"text": "repeat('x', 500000)"}, {"state": 2}):
                with pytest.raises(CheckViolation):
                    conn.execute(KEPT.format(**{**named, **wrong}))
            with pytest.raises(ProgramLimitExceeded, match=mallory.role):
                conn.execute(KEPT.format(**{**named, "text": "repeat('x', 5000000)"}))
            kept = [conn.execute(KEPT.format(**{**named, "stamp": n})).fetchone() for n in range(1, 30)]
            assert kept.count((1,)) == 16
        with psycopg.connect(eve.dsn) as conn, pytest.raises(InsufficientPrivilege, match=eve.role):
            conn.execute(KEPT.format(**named))
        settle(ann)
        assert len(lost(ann)) == 0, "a version without the attributes of a fact is not shown"
