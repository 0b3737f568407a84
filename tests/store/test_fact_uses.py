"""A fact that a session was given counts as used where what is said, written or searched afterwards touches it."""

from __future__ import annotations

from pathlib import Path

import pytest

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
