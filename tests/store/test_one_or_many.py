"""Where the library takes uids it takes one, or many."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hermes_memory_store import Fact, Store, Tier, Uids, UnknownFact

from .conftest import HandClock

ACTS: dict[str, tuple[Callable[[Store, Uids], object], Callable[[Fact], bool]]] = {
    "pin": (lambda store, uids: store.facts.pin(uids), lambda fact: fact.pinned),
    "archive": (lambda store, uids: store.facts.archive(uids), lambda fact: fact.tier is Tier.ARCHIVED),
    "cool": (lambda store, uids: store.facts.cool(uids), lambda fact: fact.tier is Tier.COLD),
    "move": (lambda store, uids: store.facts.move(uids, "there"), lambda fact: fact.scope == "there"),
    "restore": (
        lambda store, uids: (store.facts.archive(uids), store.facts.restore(uids)),
        lambda fact: fact.tier is Tier.HOT and fact.updated_at > fact.created_at,
    ),
    "warm": (
        lambda store, uids: (store.facts.cool(uids), store.facts.warm(uids)),
        lambda fact: fact.tier is Tier.HOT and fact.updated_at > fact.created_at,
    ),
}


@pytest.mark.parametrize("act", ACTS)
def test_one_uid_is_one_fact_and_many_are_many(store: Store, clock: HandClock, act: str) -> None:
    one, two, three = (store.facts.write("default", f"V[n{n}]: {n}").fact for n in range(3))
    clock.forward(1000)
    change, is_done = ACTS[act]

    change(store, one.uid)
    assert [is_done(fact) for fact in store.facts.get([one.uid, two.uid, three.uid])] == [True, False, False]

    change(store, (two.uid, three.uid))
    assert [is_done(fact) for fact in store.facts.get((one.uid, two.uid, three.uid))] == [True, True, True]


@pytest.mark.parametrize("queue", [("approve", Tier.HOT), ("refuse", Tier.WITHDRAWN)])
def test_the_quarantine_queue_takes_one_or_many(store: Store, queue: tuple[str, Tier]) -> None:
    name, tier = queue
    uids = [store.facts.quarantine("default", f"V[n{n}]: {n}", why="test").uid for n in range(3)]

    getattr(store.facts, name)(uids[0])
    getattr(store.facts, name)(uids[1:])

    assert [store.facts.by_uids(uid)[uid].tier for uid in uids] == [tier] * 3


def test_reading_takes_one_or_many(store: Store) -> None:
    one, two = (store.facts.write("default", f"V[n{n}]: {n}").fact for n in range(2))
    store.facts.archive(one.uid)

    assert store.facts.get(one.uid).uid == one.uid
    assert [fact.uid for fact in store.facts.get([two.uid, one.uid])] == [two.uid, one.uid]
    assert store.facts.by_uids(one.uid).keys() == {one.uid}
    assert store.facts.by_uids(fact.uid for fact in (one, two)).keys() == {one.uid, two.uid}
    assert [change.op for change in store.facts.history(one.uid)] == ["create", "archive"]
    assert [change.op for change in store.facts.history([one.uid, two.uid, one.uid])] == ["create", "create", "archive"]
    with pytest.raises(UnknownFact):
        store.facts.get([one.uid, "0" * 32])


def test_erasing_takes_one_or_many(store: Store) -> None:
    uids = [store.facts.write("default", f"V[n{n}]: {n}").fact.uid for n in range(3)]

    assert store.purge.erase(uids[0])[0] == 1
    assert store.purge.erase(uids[1:])[0] == 2

    assert store.facts.find_purged(uids[0]) == {uids[0]}
    assert store.facts.find_purged(uids) == set(uids)


def test_known_turns_are_found_by_one_uid_or_many(store: Store) -> None:
    turns = [store.turns.add("default", "user", f"message {n}").uid for n in range(2)]

    assert store.turns.find_known("default", turns[0]) == {turns[0]}
    assert store.turns.find_known("default", turns) == set(turns)
