"""Sessions: leases, turns, and when a scope closes."""

from __future__ import annotations

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import PERSON, OrphanPolicy, ScopeStatus, SessionStatus, Tier
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

THEME = "default"


def status_of(store: Store, label: str) -> ScopeStatus:
    return store.scopes.get(THEME, label).status


def test_writes_without_a_scope_go_to_the_sessions_present_one(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    assert store.facts.write(THEME, "D[b]: 2", session=session).fact.scope == "login"


def test_after_its_scope_closed_a_session_writes_without_one(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "✓[a]: shipped", scope="login", session=session)
    later = store.facts.write(THEME, "D[b]: 2", session=session)
    assert later.fact.scope is None
    assert later.fact.tier is Tier.HOT


def test_six_silent_turns_close_a_scope_and_three_show_it_cooling(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.sessions.tick(session, 1)
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    seen = [store.sessions.tick(session, turn) for turn in range(2, 8)]

    assert [tick.cooling for tick in seen if tick.cooling] == [("login",)]
    assert seen[2].cooling == ("login",)
    assert [tick.closed for tick in seen if tick.closed] == [("login",)]
    assert seen[-1].closed == ("login",)
    assert store.scopes.get(THEME, "login").closed_by == "silence"


def test_a_mention_keeps_a_scope_open(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    for turn in range(1, 12):
        store.sessions.tick(session, turn, "and the login page" if turn % 5 == 0 else "hm")
    assert status_of(store, "login") is not ScopeStatus.CLOSED


def test_one_agents_silence_does_not_close_a_scope_another_has_in_mind(store: Store) -> None:
    quiet, busy = store.sessions.open(THEME, "quiet"), store.sessions.open(THEME, "busy")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=quiet)
    store.facts.write(THEME, "D[b]: 1", scope="login", session=busy)
    for turn in range(1, 20):
        store.sessions.tick(quiet, turn)
    assert status_of(store, "login") is ScopeStatus.OPEN


def test_three_turns_of_writing_elsewhere_close_a_scope(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    store.sessions.tick(session, 1)
    closed: list[str] = []
    for turn in range(2, 6):
        store.facts.write(THEME, f"D[b{turn}]: 1", scope="billing", session=session)
        closed += store.sessions.tick(session, turn).closed
    assert closed == ["login"]
    assert store.scopes.get(THEME, "login").closed_by == "shift"


def test_a_burst_of_writes_within_one_turn_is_not_a_shift(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    store.sessions.tick(session, 1)
    for n in range(15):
        store.facts.write(THEME, f"D[b{n}]: 1", scope="billing", session=session)
    for turn in range(2, 5):
        store.sessions.tick(session, turn)
    assert status_of(store, "login") is not ScopeStatus.CLOSED


def test_a_closing_signal_closes_the_sessions_own_scope_only(store: Store) -> None:
    mine, other = store.sessions.open(THEME, "mine"), store.sessions.open(THEME, "other")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=mine)
    store.facts.write(THEME, "D[b]: 1", scope="billing", session=other)

    tick = store.sessions.tick(mine, 1, "it is merged")

    assert tick.closed == ("login",)
    assert status_of(store, "billing") is ScopeStatus.OPEN


def test_a_negative_turn_is_refused(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    with pytest.raises(errors.ArgumentError, match="turn must be >= 0"):
        store.sessions.tick(session, -1)


def test_a_lapsed_lease_is_stale_then_orphaned_with_a_checkpoint(store: Store, clock: HandClock) -> None:
    session = store.sessions.open(THEME, "s1", lease_ms=25_000)
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    store.sessions.tick(session, 4)

    clock.forward(26_000)
    assert [one.status for one in store.sessions.sweep()] == [SessionStatus.STALE]
    clock.forward(25_000)
    (orphan,) = store.sessions.sweep()

    assert orphan.status is SessionStatus.ORPHANED
    assert orphan.checkpoint is not None
    assert (orphan.checkpoint["turn"], orphan.checkpoint["scope"], orphan.checkpoint["writes"]) == (4, "login", 1)
    assert store.sessions.sweep() == []


def test_the_journal_says_who_closed_a_session(store: Store) -> None:
    for name, actor in (("s1", None), ("s2", PERSON)):
        store.sessions.close(store.sessions.open(THEME, name), actor=actor)
    closed = store.journal.changes(ops=["closed"])
    assert [str(change.actor) for change in closed] == ["session:s1", "person"]


def test_an_orphan_that_aborts_quietly_leaves_no_checkpoint(store: Store, clock: HandClock) -> None:
    store.sessions.open(THEME, "s1", on_orphan=OrphanPolicy.ABORT_QUIETLY)
    clock.forward(60_000)
    (orphan,) = store.sessions.sweep()
    assert (orphan.status, orphan.checkpoint) == (SessionStatus.ORPHANED, None)


def test_a_heartbeat_keeps_a_session_alive(store: Store, clock: HandClock) -> None:
    session = store.sessions.open(THEME, "s1")
    for _ in range(5):
        clock.forward(20_000)
        store.sessions.heartbeat(session)
        assert store.sessions.sweep() == []
    assert store.sessions.get(THEME, "s1").status is SessionStatus.LIVE


def test_when_the_last_lease_lapses_is_told_until_nobody_is_there(store: Store, clock: HandClock) -> None:
    assert store.sessions.ms_until_lapse() is None
    long = store.sessions.open(THEME, "long", lease_ms=60_000)
    short = store.sessions.open(THEME, "short", lease_ms=10_000)
    clock.forward(1_000)
    assert store.sessions.ms_until_lapse() == 59_000
    store.sessions.close(long)
    assert store.sessions.ms_until_lapse() == 9_000
    clock.forward(10_000)
    store.sessions.sweep()
    assert store.sessions.ms_until_lapse() == -1_000
    store.sessions.heartbeat(short)
    store.sessions.mark_lost(short)
    assert store.sessions.ms_until_lapse() is None
    clock.forward(60_000)
    store.sessions.sweep()
    assert store.sessions.ms_until_lapse() is None


def test_a_session_is_resumed_where_it_was_left(store: Store) -> None:
    session = store.sessions.open(THEME, "s1")
    store.facts.write(THEME, "D[a]: 1", scope="login", session=session)
    store.sessions.tick(session, 2)
    store.sessions.close(session)

    again = store.sessions.open(THEME, "s1")

    assert (again.uid, again.turn, again.scope) == (session.uid, 2, "login")
    assert again.checkpoint is not None


def test_the_turn_counters_of_sessions_do_not_mix(store: Store) -> None:
    long, new = store.sessions.open(THEME, "long"), store.sessions.open(THEME, "new")
    store.facts.write(THEME, "D[a]: 1", scope="fresh", session=new)
    store.sessions.tick(long, 400)
    assert status_of(store, "fresh") is ScopeStatus.OPEN


def test_the_newest_that_ended_are_listed_after_all_that_run(store: Store) -> None:
    for name in ("a", "b", "c", "d"):
        session = store.sessions.open(THEME, name)
        if name != "b":
            store.sessions.close(session)
    assert [one.name for one in store.sessions.list()] == ["b", "d", "c", "a"]
    assert [one.name for one in store.sessions.list(THEME, most_ended=2)] == ["b", "d", "c"]
    assert [one.name for one in store.sessions.list(most_ended=0)] == ["b"]
