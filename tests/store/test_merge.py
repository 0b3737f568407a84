"""The merge of two versions of one thing, as a table; and that it ends with the same whatever comes first."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.sync.hybrid_clock import AHEAD_MS, PhysicalClocks, lowered_clocks
from hermes_memory_store.sync.merge import (
    Decision,
    Outcome,
    Stamp,
    find_lineage_to_add,
    is_before_ancestors,
    is_made_from_held,
    merge,
    newest_ancestors,
)
from hermes_memory_store.sync.wire_format import DELETED, LIVE, MAX_ANCESTORS, PURGED, SyncRow, comparable_content

NOW_MS = 1_790_000_000_000
NOW = NOW_MS << 16
HOUR = 3_600_000 << 16
AHEAD = NOW + HOUR
CLOCKS = PhysicalClocks(NOW_MS, NOW_MS)
SERVER_BEHIND = PhysicalClocks(NOW_MS, NOW_MS - 3_600_000)
SERVER_AHEAD = PhysicalClocks(NOW_MS, NOW_MS + 2 * 3_600_000)

FULL = tuple(range(NOW - 1, NOW - 1 - MAX_ANCESTORS, -1))
"""As many ancestors as a version names."""


def stamp(
    hlc: int, *ancestors: int, node: str = "a", state: int = LIVE, hidden: bool = False, sent: bool = True
) -> Stamp:
    return Stamp(hlc, node, state, ancestors, hidden, sent)


OLD, NEW = stamp(NOW - 9), stamp(NOW, node="b")
HOLD, SAME, TAKE = Decision(Outcome.HOLD), Decision(Outcome.SAME), Decision(Outcome.TAKE)
CONFLICT_LOST_HERE = Decision(Outcome.TAKE, is_concurrent=True)
KEEP = Decision(Outcome.KEEP, is_missing=True)
KEEP_UNSENT = Decision(Outcome.KEEP)
CONFLICT_WON_HERE = Decision(Outcome.KEEP, is_concurrent=True, is_missing=True)
CONFLICT_WON_UNSENT = Decision(Outcome.KEEP, is_concurrent=True)

Row = tuple[str, Stamp | None, Stamp, Decision]

TABLE: list[Row] = [
    ("nothing is here", None, NEW, TAKE),
    ("nothing is here, a tombstone comes", None, NEW._replace(state=DELETED), TAKE),
    ("nothing is here, a purge comes", None, NEW._replace(state=PURGED), TAKE),
    ("nothing is here, what must not be shown comes", None, NEW._replace(is_hidden=True), TAKE),
    ("the same", NEW, NEW, SAME),
    ("the same, which is not acknowledged", NEW._replace(is_sent=False), NEW, SAME),
    ("the same, though it says less of where it came from", NEW._replace(ancestors=(NOW - 9,)), NEW, SAME),
    ("the same, which is ahead", stamp(AHEAD), stamp(AHEAD), SAME),
    ("one clock, two nodes: the higher node", stamp(NOW, node="a"), stamp(NOW, node="b"), CONFLICT_LOST_HERE),
    ("one clock, two nodes: the lower node", stamp(NOW, node="b"), stamp(NOW, node="a"), CONFLICT_WON_HERE),
    ("ahead, nothing is here", None, stamp(AHEAD), HOLD),
    ("ahead, an older one is here", OLD, stamp(AHEAD), HOLD),
    ("ahead, made from what is here", OLD, stamp(AHEAD, NOW - 9), HOLD),
    ("ahead, a tombstone", OLD, stamp(AHEAD, state=DELETED), HOLD),
    ("ahead, what must not be shown", OLD, stamp(AHEAD, hidden=True), HOLD),
    ("ahead, a purge: it erases at once", OLD, stamp(AHEAD, state=PURGED), TAKE),
    ("ahead by as much as is allowed", OLD, stamp((NOW_MS + AHEAD_MS) << 16, NOW - 9), TAKE),
    ("the highest clock there is", OLD, stamp((1 << 63) - 1), HOLD),
    ("newer, made from what is here", OLD, stamp(NOW, NOW - 9), TAKE),
    ("newer, made from it long ago", OLD, stamp(NOW, NOW - 1, NOW - 5, NOW - 9), TAKE),
    ("newer, made from something else", OLD, stamp(NOW, NOW - 5), CONFLICT_LOST_HERE),
    ("newer, made from nothing", OLD, NEW, CONFLICT_LOST_HERE),
    ("newer, what is here was never sent", OLD._replace(is_sent=False), NEW, CONFLICT_LOST_HERE),
    ("newer, a full list that may have lost what is here", stamp(NOW - 99), stamp(NOW, *FULL), TAKE),
    (
        "newer, a full list, and what is here was never sent",
        stamp(NOW - 99, sent=False),
        stamp(NOW, *FULL),
        CONFLICT_LOST_HERE,
    ),
    ("newer, a list with room that lacks what is here", stamp(NOW - 99), stamp(NOW, *FULL[:-1]), CONFLICT_LOST_HERE),
    ("newer, and here is what must not be shown", OLD._replace(is_hidden=True), NEW, TAKE),
    ("newer, and it must not be shown", OLD, NEW._replace(is_hidden=True), CONFLICT_LOST_HERE),
    ("a newer tombstone made from what is here", OLD, stamp(NOW, NOW - 9, state=DELETED), TAKE),
    ("a newer tombstone of something else", OLD, stamp(NOW, state=DELETED), CONFLICT_LOST_HERE),
    ("newer than a tombstone it does not know", OLD._replace(state=DELETED), NEW, CONFLICT_LOST_HERE),
    ("a purge that is newer", OLD, stamp(NOW, state=PURGED), TAKE),
    ("a purge that is older", NEW, stamp(NOW - 9, state=PURGED), TAKE),
    ("a purge of what was never sent", NEW._replace(is_sent=False), stamp(NOW - 9, state=PURGED), TAKE),
    ("newer than a purge", OLD._replace(state=PURGED), NEW, KEEP),
    ("newer than a purge, made from it", OLD._replace(state=PURGED), stamp(NOW, NOW - 9), KEEP),
    ("a newer purge of what was purged", OLD._replace(state=PURGED), stamp(NOW, state=PURGED), TAKE),
    ("an older purge of what was purged", stamp(NOW, state=PURGED), stamp(NOW - 9, state=PURGED), KEEP),
    ("older, known to what is here", stamp(NOW, NOW - 9), OLD, KEEP),
    ("older, known, and what is here was never sent", stamp(NOW, NOW - 9, sent=False), OLD, KEEP_UNSENT),
    ("older, unknown", NEW, OLD, CONFLICT_WON_HERE),
    ("older, unknown, and what is here was never sent", NEW._replace(is_sent=False), OLD, CONFLICT_WON_UNSENT),
    ("older, unknown, and it must not be shown", NEW, OLD._replace(is_hidden=True), KEEP),
    ("older, and here is what must not be shown", NEW._replace(is_hidden=True), OLD, CONFLICT_WON_HERE),
    ("an older tombstone that is unknown", NEW, OLD._replace(state=DELETED), CONFLICT_WON_HERE),
    ("older than all of a full list", stamp(NOW, *FULL), stamp(NOW - 99), CONFLICT_WON_HERE),
    ("here ran ahead and was sent; the database has another", stamp(AHEAD), NEW, CONFLICT_LOST_HERE),
    ("here ran ahead; the other names it", stamp(AHEAD), stamp(NOW, AHEAD), TAKE),
    (
        "here ran ahead; the other names the clock that every machine makes of it",
        stamp(AHEAD, NOW - 9),
        stamp(NOW, lowered_clocks((NOW - 9, AHEAD), CLOCKS.plausible)[AHEAD]),
        TAKE,
    ),
    ("here ran ahead, and was never sent", stamp(AHEAD, sent=False), NEW, CONFLICT_WON_UNSENT),
    ("here ran ahead, and purges", stamp(AHEAD, state=PURGED), NEW, KEEP),
]


@pytest.mark.parametrize(("here", "received", "decision"), [pytest.param(*row[1:], id=row[0]) for row in TABLE])
def test_the_merge_decides_as_its_table_says(here: Stamp | None, received: Stamp, decision: Decision) -> None:
    assert merge(here, received, CLOCKS) == decision


HISTORY: list[Row] = [
    ("nothing is here", None, NEW, TAKE),
    ("the same", NEW, NEW, SAME),
    ("older, known: an old one that comes again", stamp(NOW, NOW - 9), OLD, KEEP_UNSENT),
    ("older, unknown", NEW, OLD, CONFLICT_WON_UNSENT),
    ("older than all of a full list, which may have lost it", stamp(NOW, *FULL), stamp(NOW - 99), KEEP_UNSENT),
    ("older than none of a full list", stamp(NOW, *FULL), stamp(NOW - 5, node="c"), KEEP_UNSENT),
    ("newer, unknown", OLD, NEW, CONFLICT_LOST_HERE),
    ("here ran ahead: an old one takes no place", stamp(AHEAD), NEW, CONFLICT_WON_UNSENT),
    ("ahead", OLD, stamp(AHEAD), HOLD),
    ("newer than a purge", OLD._replace(state=PURGED), NEW, KEEP_UNSENT),
]


@pytest.mark.parametrize(("here", "received", "decision"), [pytest.param(*row[1:], id=row[0]) for row in HISTORY])
def test_of_a_carrier_that_keeps_old_versions_none_makes_anybody_send_again(
    here: Stamp | None, received: Stamp, decision: Decision
) -> None:
    assert merge(here, received, CLOCKS, is_history=True) == decision


@pytest.mark.parametrize(
    ("clocks", "decision"),
    [
        pytest.param(CLOCKS, HOLD, id="both clocks agree"),
        pytest.param(SERVER_BEHIND, HOLD, id="the server is behind"),
        pytest.param(SERVER_AHEAD, TAKE, id="the server allows it already"),
    ],
)
def test_the_servers_time_says_what_is_ahead(clocks: PhysicalClocks, decision: Decision) -> None:
    assert merge(None, stamp(AHEAD), clocks) == decision


def test_what_either_clock_allows_did_not_run_ahead() -> None:
    here, received = stamp(AHEAD), stamp(NOW - 2 * HOUR)
    assert merge(here, received, SERVER_AHEAD) == CONFLICT_WON_HERE
    assert merge(here, received, SERVER_BEHIND) == CONFLICT_LOST_HERE


clocks_of_versions = st.integers(NOW - 40, NOW)
versions = st.builds(
    Stamp,
    clocks_of_versions,
    st.sampled_from("abc"),
    st.sampled_from((LIVE, LIVE, DELETED, PURGED)),
    st.lists(clocks_of_versions, max_size=3, unique=True).map(lambda clocks: newest_ancestors(*clocks)),
    st.just(False),
    st.just(True),
)
several = st.lists(versions, min_size=1, max_size=6, unique_by=lambda version: (version.hlc, version.node))


def take_in(received: list[Stamp], *, is_history: bool) -> Stamp:
    """What stands after these came one by one."""

    def step(here: Stamp | None, received: Stamp) -> Stamp:
        decision = merge(here, received, CLOCKS, is_history=is_history)
        return received if here is None or decision.outcome is Outcome.TAKE else here

    stands = reduce(step, received, None)
    assert stands is not None
    return stands


@given(several, st.randoms(), st.booleans())
def test_whatever_comes_first_the_same_stands_in_the_end(
    received: list[Stamp], chance: object, is_history: bool
) -> None:
    """Commutative, associative and idempotent: an order, another one, and all of it twice."""
    other = sorted(received, key=lambda _: chance.random())  # type: ignore[attr-defined]
    stands = max(received, key=lambda version: version.rank)
    assert take_in(received, is_history=is_history) == stands
    assert take_in(other, is_history=is_history) == stands
    assert take_in([*received, *other], is_history=is_history) == stands
    assert take_in([take_in(received[:3], is_history=is_history), *other], is_history=is_history) == stands


@given(versions, versions)
def test_two_machines_that_meet_agree_who_wins_and_whether_anybody_has_to_decide(one: Stamp, other: Stamp) -> None:
    here, there = merge(one, other, CLOCKS), merge(other, one, CLOCKS)
    if (one.hlc, one.node) == (other.hlc, other.node):
        assert here == there == SAME
        return
    assert {here.outcome, there.outcome} == {Outcome.TAKE, Outcome.KEEP}
    if PURGED not in (one.state, other.state):
        assert here.is_concurrent == there.is_concurrent


@given(versions, versions, st.booleans())
def test_nothing_that_stays_unknown_is_lost_in_silence(here: Stamp, received: Stamp, is_sent: bool) -> None:
    here = here._replace(is_sent=is_sent)
    decision = merge(here, received, CLOCKS)
    loser, winner = (here, received) if decision.outcome is Outcome.TAKE else (received, here)
    if decision.outcome is not Outcome.SAME and not decision.is_concurrent:
        assert loser.hlc in winner.ancestors or PURGED in (loser.state, winner.state)


def test_a_version_names_its_newest_ancestors() -> None:
    assert newest_ancestors(3, 1, 3, 2) == (3, 2, 1)
    assert newest_ancestors(*range(100)) == tuple(range(99, 99 - MAX_ANCESTORS, -1))


@pytest.mark.parametrize(
    ("ancestors", "clock", "is_before"),
    [
        (FULL, NOW - 99, True),
        (FULL, FULL[-1], False),
        (FULL, NOW - 2, False),
        (FULL[1:], NOW - 99, False),
        ((), 1, False),
    ],
)
def test_only_a_full_list_of_ancestors_may_have_lost_one(
    ancestors: tuple[int, ...], clock: int, is_before: bool
) -> None:
    assert is_before_ancestors(clock, ancestors) is is_before


@pytest.mark.parametrize(
    ("received", "is_made_from"),
    [
        pytest.param(stamp(AHEAD), True, id="itself"),
        pytest.param(stamp(NOW, AHEAD), True, id="made from it"),
        pytest.param(stamp(lowered_clocks((NOW - 9, AHEAD), CLOCKS.plausible)[AHEAD]), True, id="itself, lowered"),
        pytest.param(stamp(NOW, NOW - 9), False, id="made from what it was made from"),
        pytest.param(stamp(NOW), False, id="something else"),
    ],
)
def test_what_took_the_place_of_a_held_version_was_made_from_it_or_not(received: Stamp, is_made_from: bool) -> None:
    assert is_made_from_held(received, stamp(AHEAD, NOW - 9), CLOCKS) is is_made_from


@pytest.mark.parametrize(
    ("clocks", "lineage"),
    [
        ((), None),
        ((NOW - 9,), None),
        ((NOW,), None),
        ((NOW - 5,), (NOW, NOW - 5, NOW - 9)),
        ((1, 2), (NOW, NOW - 9, 2, 1)),
    ],
)
def test_a_descendant_is_made_only_where_what_stands_does_not_know_all(
    clocks: tuple[int, ...], lineage: tuple[int, ...] | None
) -> None:
    assert find_lineage_to_add(stamp(NOW, NOW - 9), clocks) == lineage


ATTRS = {
    "type": "D",
    "target": "cache",
    "scope": None,
    "tier": "hot",
    "pinned": False,
    "cooled_by": None,
    "updated_at": 5,
}
EDITED = {"content": "valkey"}


def fact(**changed: object) -> SyncRow:
    """A fact of which some things were changed."""
    state, content = changed.pop("state", LIVE), changed.pop("content", "redis")
    return SyncRow("team", "u", "fact", content, ATTRS | changed, state, NOW, "n")  # type: ignore[arg-type]


CHANGES: dict[str, dict[str, object]] = {
    "edited": EDITED,
    "moved": {"scope": "later"},
    "pinned": {"pinned": True},
    "archived": {"tier": "archived"},
    "superseded": {"tier": "superseded"},
    "deleted": {"state": DELETED, "content": None},
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("other", CHANGES)
def test_two_changes_at_a_time_are_for_a_person_unless_they_did_the_same(change: str, other: str) -> None:
    one, two = comparable_content(fact(**CHANGES[change])), comparable_content(fact(**CHANGES[other]))
    assert (one == two) is (change == other)
    assert one != comparable_content(fact())


@pytest.mark.parametrize(
    "move", [{"tier": "cold", "cooled_by": "relief"}, {"updated_at": 9}, {"created_at": 1}, {"by": "x"}]
)
def test_what_pressure_moves_or_a_use_renews_is_no_conflict(move: dict[str, object]) -> None:
    assert comparable_content(fact(**move)) == comparable_content(fact())


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [("open", "closed", False), ("open", "open", True), ("closed", "closed", True), (None, "open", True)],
)
def test_two_who_close_a_scope_agree(one: str | None, other: str, is_same: bool) -> None:
    rows = [SyncRow("team", "u", "scope", "speed", {"status": status}, LIVE, NOW, "n") for status in (one, other)]  # type: ignore[arg-type]
    assert (comparable_content(rows[0]) == comparable_content(rows[1])) is is_same
