"""Several changes recorded as one: one undo takes all of them back, whatever order their rows are in."""

from __future__ import annotations

import itertools
from contextlib import suppress
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import PERSON, Fact, FactFilter, Millis, Tier
from hermes_memory_store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with five facts in two scopes."""
    ticks = itertools.count(1_773_756_000_000)  # of two facts the newer wins a place: no two are of one millisecond
    store = Store.open(tmp_path / "memory.db", clock=lambda: Millis(next(ticks)))
    for scope in ("one", "two"):
        for target in ("a", "b"):
            store.facts.write("ops", f"V[{target}]: {scope}", scope=scope)
    store.facts.write("ops", "V[a]: none")
    return store


def state(store: Store) -> dict[str, tuple[object, ...]]:
    facts = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset()))))
    rows: dict[str, tuple[object, ...]] = {
        fact.uid: (fact.notation, fact.tier, fact.pinned, fact.scope, fact.superseded_by) for fact in facts
    }
    return rows | {scope.uid: (scope.label, scope.status) for scope in store.scopes.list()}


def find(store: Store, target: str, scope: str | None) -> Fact:
    wanted = FactFilter(theme="ops", target=target, scopes=frozenset({scope}))
    return store.facts.page(wanted).facts[0]


def test_joined_changes_are_one_change_that_one_undo_takes_back(store: Store) -> None:
    before, since = state(store), store.journal.last_seq()

    with store.journal.join_changes():
        store.facts.edit(find(store, "a", "one").uid, "edited")
        store.facts.pin(find(store, "b", "one").uid)
        store.facts.move(find(store, "b", "one").uid, "three")

    assert len({row.change for row in store.journal.changes(since=since)}) == 1
    assert store.journal.verify().ok
    store.undo.last()
    assert state(store) == before


def test_a_change_in_which_one_fact_made_room_for_another_is_undone(store: Store) -> None:
    before = state(store)
    first, second = find(store, "a", "one"), find(store, "a", "two")

    with store.journal.join_changes():
        store.facts.move(first.uid, "three")
        store.facts.move(second.uid, "one")
        store.facts.edit(first.uid, "touched last, and so the first to be taken back")

    store.undo.last()
    assert state(store) == before


def test_a_refused_change_leaves_nothing_of_those_before_it(store: Store) -> None:
    before, since = state(store), store.journal.last_seq()

    def change() -> None:
        with store.journal.join_changes():
            store.facts.edit(find(store, "a", "one").uid, "edited")
            store.facts.move(find(store, "a", "one").uid, "two")

    with pytest.raises(errors.FactConflict):
        change()

    assert state(store) == before
    assert store.journal.last_seq() == since
    store.facts.pin(find(store, "a", "one").uid)
    assert store.journal.changes(since=since)[0].change == since + 1


def test_a_step_that_was_taken_back_within_them_is_no_part_of_the_change(store: Store) -> None:
    before, since = state(store), store.journal.last_seq()

    with store.journal.join_changes() as conn:
        with suppress(errors.FactConflict), store.db.savepoint(conn):
            store.facts.pin(find(store, "b", "two").uid)
            store.facts.move(find(store, "a", "one").uid, "two")
        store.facts.pin(find(store, "a", "one").uid)

    rows = store.journal.changes(since=since)
    assert [(row.op, row.change) for row in rows] == [("pin", since + 1)]
    assert store.journal.verify().ok
    store.undo.last()
    assert state(store) == before


def test_undo_of_the_newest_change_looks_up_nothing_that_is_related_to_it(store: Store) -> None:
    """An import relates all of its facts: an undo of one of 50,000 took ten seconds."""
    store.facts.write_many("ops", [(f"V[t{number}]: {number}", None) for number in range(500)], actor=PERSON)
    store.facts.archive(find(store, "t7", None).uid)
    statements: list[str] = []
    store.db.conn.set_trace_callback(statements.append)
    store.undo.last()
    store.db.conn.set_trace_callback(None)
    assert len(statements) < 200
    assert find(store, "t7", None).tier is Tier.HOT
