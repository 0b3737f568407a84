"""A fact that a session was given counts as used where what is said, written or searched afterwards touches it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store.conversations.fact_uses import FactUse
from hermes_memory_store.model import Fact, Session
from hermes_memory_store.store import Store

PORT, QUEUE, RULE = "V[db.port]: 5433 on staging", "D[queue.broker]: rabbitmq", "C[commits]: imperative subjects"


@pytest.fixture
def facts(store: Store) -> list[Fact]:
    return [store.facts.write("ops", line).fact for line in (PORT, QUEUE, RULE)]


@pytest.fixture
def session(store: Store, facts: list[Fact]) -> Session:
    """A session that was given all facts."""
    assert facts
    session = store.sessions.open("ops", "night")
    store.context.status("ops", session=session)
    return session


def uses(store: Store) -> dict[str, tuple[int, int]]:
    store.reads.flush()
    rows = store.db.rows("SELECT f.target, u.given, u.used FROM fact_uses u JOIN facts f ON f.id = u.fact_id")
    return {target: (given, used) for target, given, used in rows}


def test_a_fact_that_a_session_is_given_is_counted(store: Store, facts: list[Fact]) -> None:
    session = store.sessions.open("ops", "night")
    for _ in range(2):
        store.context.status("ops", session=session)
    store.context.status("ops", record=False)
    assert uses(store) == {"db.port": (2, 0), "queue.broker": (2, 0), "commits": (2, 0)}
    store.reads.note("search", "ops", facts, session=store.sessions.open("ops", "other"), why="db")
    assert uses(store)["db.port"] == (2, 0), "who asked was not given it unasked"


def test_what_is_said_uses_what_it_touches_once_in_a_session(store: Store, session: Session) -> None:
    store.fact_uses.note_said(session, "The db port: is it 5433?")
    store.fact_uses.note_said(session, "and the db port again")
    assert uses(store) == {"db.port": (1, 1), "queue.broker": (1, 0), "commits": (1, 0)}
    last = store.db.value("SELECT last_used_at FROM fact_uses WHERE used > 0")
    assert last is not None


def test_what_is_said_before_it_was_given_uses_nothing(store: Store, facts: list[Fact]) -> None:
    session = store.sessions.open("ops", "night")
    store.fact_uses.note_said(session, "The db port: is it 5433?")
    assert uses(store) == {}


def test_a_write_to_the_same_target_and_a_search_use_a_fact(store: Store, session: Session) -> None:
    fact = store.facts.write("ops", "V[db.port]: 6000 now", session=session).fact
    store.fact_uses.note_written(session, fact)
    store.search.find("ops", "broker queue", session=session)
    assert {target: used for target, (_, used) in uses(store).items()} == {
        "db.port": 1,
        "queue.broker": 1,
        "commits": 0,
    }


def test_another_process_knows_what_a_session_was_given(path: Path, store: Store, session: Session) -> None:
    store.reads.flush()
    with Store.open(path) as other:
        other.fact_uses.note_said(session, "what is the db port?")
        assert uses(other)["db.port"] == (1, 1)


def test_what_is_purged_leaves_no_count(store: Store, session: Session, facts: list[Fact]) -> None:
    store.fact_uses.note_said(session, "what is the db port?")
    assert "db.port" in uses(store)
    store.purge.erase([facts[0].uid])
    assert "db.port" not in uses(store)
    assert store.db.value("SELECT count(*) FROM fact_uses") == 2
    store.fact_uses.note_said(session, "what is the db port?")
    assert "db.port" not in uses(store)


@pytest.mark.parametrize("text", ["", "   ", "\"'::--", "🙂" * 5_000, "x" * 1_000_000, "db:port AND NOT ("])
def test_any_text_may_be_said(store: Store, session: Session, text: str) -> None:
    store.fact_uses.note_said(session, text)
    assert uses(store)["commits"] == (1, 0)


def test_a_rule_loses_nothing_by_being_obeyed_in_silence(store: Store, facts: list[Fact]) -> None:
    session = store.sessions.open("ops", "night")
    for _ in range(5):
        store.context.status("ops", session=session)
    store.reads.flush()
    choice = store.context.choose("ops", store.context.present_situation(), 100)
    reasons = {one.key: dict(one.parts) for one in choice.given}
    assert "unused" in reasons[facts[0].id]
    assert "unused" not in reasons[facts[2].id]


CASES = tomllib.loads((Path(__file__).parent / "context" / "act_cases.toml").read_text())["act"]


def test_what_an_act_does_to_the_facts_that_were_given(tmp_path: Path) -> None:
    """45 acts against all facts of a real project's memory: never a contradiction that is none, and few that are missed."""
    missed, wrong = [], []
    for number, case in enumerate(CASES):
        with Store.open(tmp_path / f"{number}.db") as store:
            counts = count_act(store, case)
        contradicted = {target for target, use in counts.items() if use.contradicted}
        used = {target for target, use in counts.items() if use.used}
        wanted = set(case.get("contradicts", []))
        wrong += [(number, target) for target in contradicted - wanted]
        wrong += [(number, target) for target in used & {*case.get("spared", []), *wanted}]
        wrong += [(number, target) for target in used if case.get("ignores")]
        missed += [(number, target) for target in (wanted - contradicted) | (set(case.get("agrees", [])) - used)]
    assert wrong == []
    assert len(missed) <= 3, missed


def count_act(store: Store, case: dict[str, Any]) -> dict[str, FactUse]:
    lines = (Path(__file__).parents[1] / "recall_sets" / "work" / f"{case['facts']}.txt").read_text().splitlines()
    facts = [store.facts.write("ops", line).fact for line in lines if line[1:2] == "["]
    session = store.sessions.open("ops", "night")
    store.reads.note("start", "ops", facts, session=session)
    act, subject = ("run", case["run"]) if "run" in case else ("edit", case["path"])
    store.fact_uses.note_act(session, act, subject, case.get("edit", ""))
    store.reads.flush()
    return {use.fact.target: use for use in store.fact_uses.list()}


def test_an_act_counts_once_in_a_session_and_only_against_what_it_was_given(store: Store, session: Session) -> None:
    other = store.sessions.open("ops", "day")
    for who in (session, session, other):
        store.fact_uses.note_act(who, "run", "DB_PORT=5432 make dev", "")
        store.fact_uses.note_act(who, "run", "rabbitmq queue broker restart", "")
        store.fact_uses.note_act(who, "read", "src/db/port.py", "")
    store.reads.flush()
    counts = {use.fact.target: (use.given, use.used, use.contradicted) for use in store.fact_uses.list("ops")}
    assert counts == {"db.port": (1, 0, 1), "queue.broker": (1, 1, 0), "commits": (1, 0, 0)}
    assert store.fact_uses.list("ops")[0].fact.target == "db.port"
    assert store.fact_uses.list("elsewhere") == []


@pytest.mark.parametrize(
    "text", ["", "   ", "a" * 5_000_000, "db_port=" * 100_000, "\0\x1b🙂", "*** Begin Patch\n-db port 1234"]
)
def test_any_act_may_be_done(store: Store, session: Session, text: str) -> None:
    store.fact_uses.note_act(session, "run", text, "")
    store.fact_uses.note_act(session, "edit", "src/port.py", text)
    assert uses(store)["commits"] == (1, 0)
    assert not any(use.contradicted for use in store.fact_uses.list())
