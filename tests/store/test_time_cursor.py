"""A store moved back and forth through time is at every moment what it was."""

from __future__ import annotations

import itertools
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal import rewind, transaction_log
from hermes_memory_store.journal.time_travel import (
    BeyondCopy,
    TimeCursor,
    find_change_after,
    find_change_before,
    stops_on_the_way,
)
from hermes_memory_store.model import FactFilter, SessionStatus, Tier
from hermes_memory_store.store import Store
from tests.examples import example_count
from tests.store.conftest import HandClock
from tests.store.portraits import portrait
from tests.store.test_past import without_lost_links
from tests.store.test_translog import STEP, fresh, live


def facts_said(store: Store) -> list[str]:
    page = store.facts.page(FactFilter(theme="default", tiers=frozenset(Tier)))
    return sorted(f"{fact.notation} {fact.tier}" for fact in page.facts)


@settings(max_examples=example_count(60), deadline=None)
@given(st.lists(STEP, max_size=25), st.lists(st.integers(0, 60), max_size=8))
def test_whatever_the_way_to_a_moment_the_store_is_the_same(
    steps: list[tuple[str, int, int, str]], way: list[int]
) -> None:
    clock = HandClock()
    with fresh(clock) as store:
        live(store, steps, clock)
        newest = store.journal.last_seq()
        with closing(TimeCursor.open(store, newest)) as cursor:
            for place in way:
                seq = min(place, newest)
                cursor.go_to(seq)
                view = cursor.view()
                assert view.journal.last_seq() == seq
                at = store.db.value("SELECT at FROM journal WHERE seq = ?", (seq,))
                with fresh() as replayed:
                    if at is not None:
                        transaction_log.replay_records(
                            replayed, (one for one in load_records(store.db, until=at) if one.seq <= seq)
                        )
                    without_lost_links(replayed)
                    assert portrait(view) == portrait(replayed)


def test_steps_go_by_changes_not_by_rows(store: Store, clock: HandClock) -> None:
    for number in range(5):
        store.facts.write("default", f"V[n{number}]: x", scope="payments")
        clock.forward(1000)
    before = store.journal.last_seq()
    store.scopes.close("default", "payments")
    newest = store.journal.last_seq()
    assert newest > before + 1
    assert find_change_before(store, newest) == before
    assert find_change_after(store, before) == newest
    assert find_change_after(store, newest) is None
    assert find_change_before(store, 0) is None


def test_forward_and_back_again_shows_text_that_the_journal_does_not_hold(store: Store, clock: HandClock) -> None:
    session = store.sessions.open("default", "worker")
    store.turns.add("default", "user", "we deploy on Tuesdays", session=session)
    clock.forward(1000)
    written = store.facts.write("default", "D[deploy]: Tuesdays", session=session)
    newest = store.journal.last_seq()
    with closing(TimeCursor.open(store, newest)) as cursor:
        cursor.go_to(0)
        assert cursor.view().themes() == []
        cursor.go_to(written.seqs[-1])
        assert facts_said(cursor.view()) == ["D[deploy]: Tuesdays hot"]
        assert [turn.content for turn in cursor.view().turns.list("default")] == ["we deploy on Tuesdays"]


def test_who_was_heard_after_a_moment_was_there_at_the_moment(store: Store, clock: HandClock) -> None:
    session = store.sessions.open("default", "worker")
    store.facts.write("default", "V[a]: 1", session=session)
    seq = store.journal.last_seq()
    clock.forward(3_600_000)
    store.sessions.heartbeat(session)
    store.facts.write("default", "V[b]: 1", session=session)
    with closing(TimeCursor.open(store, seq)) as cursor:
        (one,) = cursor.view().sessions.list()
        assert one.status in (SessionStatus.LIVE, SessionStatus.OPEN)
        assert one.heartbeat_at <= cursor.moment


def test_a_copy_made_by_replay_goes_a_little_forward_and_says_where_it_ends(
    store: Store, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewind, "LONG_JOURNAL", 10)
    monkeypatch.setattr("hermes_memory_store.journal.time_travel.NEAR_ROWS", 20)
    for number in range(100):
        store.facts.write("default", f"V[n{number}]: x")
        clock.forward(1000)
    with closing(TimeCursor.open(store, 5)) as cursor:
        few = len(facts_said(cursor.view()))
        cursor.go_to(15)
        assert len(facts_said(cursor.view())) > few
        with pytest.raises(BeyondCopy):
            cursor.go_to(90)


def test_giving_up_a_long_way_back_leaves_the_cursor_where_it_was(store: Store, clock: HandClock) -> None:
    for number in range(30):
        store.facts.write("default", f"V[n{number}]: x")
        clock.forward(1000)
    newest = store.journal.last_seq()
    with closing(TimeCursor.open(store, newest)) as cursor:
        said = facts_said(cursor.view())
        cursor._store.db.conn.execute("UPDATE journal SET after = replace(after, 'n3', 'm3') WHERE seq < 10")
        with pytest.raises(errors.JournalBroken):
            cursor.go_to(1)
        assert cursor.seq >= 10 or facts_said(cursor.view()) != []
        cursor.go_to(newest)
        assert facts_said(cursor.view()) == said


def test_nothing_of_the_copy_stays(store: Store) -> None:
    store.facts.write("default", "V[a]: 1")
    cursor = TimeCursor.open(store, 1)
    folder = cursor._folder
    assert folder.exists()
    cursor.close()
    assert not folder.exists()
    assert facts_said(store) == ["V[a]: 1 hot"]


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_marks_lie_ever_nearer_to_the_target(seq: int, target: int) -> None:
    stops = list(stops_on_the_way(seq, target))
    if target >= seq:
        assert stops == []
        return
    assert stops[-1] == target
    assert all(earlier > later for earlier, later in itertools.pairwise(stops))
    assert stops[0] < seq
    assert len(stops) <= 14


def test_what_themes_of_places_are_chosen_by_is_as_it_was(store: Store) -> None:
    store.facts.write("default", "V[port]: 5432")
    store.place_themes.keep_default()
    newest = store.journal.last_seq()
    with closing(TimeCursor.open(store, newest)) as cursor:
        assert cursor.view().place_themes.chosen_at is not None
        cursor.go_to(newest - 1)
        assert cursor.view().place_themes.chosen_at is None
        cursor.go_to(newest)
        assert cursor.view().place_themes.chosen_at is not None
