"""The store as of a past moment."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import FactFilter, Tier
from hermes_memory_store.past import store_at
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

ALL = FactFilter(theme="default", tiers=frozenset(Tier))


def said(store: Store) -> set[tuple[str, str]]:
    return {(fact.notation, str(fact.tier)) for fact in store.facts.page(ALL).facts}


def test_it_shows_what_stood_then_and_no_more(store: Store, clock: HandClock) -> None:
    moments = []
    for line in ("D[auth]: JWT", "D[auth]: SAML", "~[auth]: dropped"):
        store.facts.write("default", line, scope="login")
        moments.append((clock.now, said(store)))
        clock.forward(1000)
    for moment, expected in moments:
        with store_at(store, moment) as past:
            assert said(past) == expected
            assert past.clock() == moment
    with store_at(store, moments[0][0] + 999) as past:
        assert said(past) == moments[0][1]


def test_before_the_first_change_it_is_empty(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with store_at(store, clock.now - 1) as past:
        assert past.themes() == []


def test_it_cannot_be_written(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    with store_at(store, clock.now) as past, pytest.raises(errors.StoreReadOnly):
        past.facts.write("default", "D[auth]: SAML")


def test_it_is_removed_from_the_disk_when_it_is_closed(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    past = store_at(store, clock.now)
    folder = past.path.parent
    with past.reader() as reader:
        assert said(reader) == {("D[auth]: JWT", "hot")}
    assert said(past) == {("D[auth]: JWT", "hot")}
    past.close()
    assert not folder.exists()


def test_an_altered_journal_shows_no_past(store: Store, clock: HandClock) -> None:
    store.facts.write("default", "D[auth]: JWT")
    store.db.conn.execute("UPDATE journal SET after = replace(after, 'JWT', 'jwt')")
    with pytest.raises(errors.JournalBroken):
        store_at(store, clock.now)


def test_a_purged_fact_is_gone_from_the_past_too(store: Store, clock: HandClock) -> None:
    uid = store.facts.write("default", "V[key]: sk-live-0000").fact.uid
    then = clock.now
    clock.forward(1000)
    store.facts.archive([uid])
    store.purge.run("default")
    with store_at(store, then) as past:
        assert said(past) == set()
