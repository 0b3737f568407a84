"""The clock of versions: bounded by this machine's clock and by the server's, whatever either says."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.hybrid_clock import (
    AHEAD_MS,
    MAX_CLOCK,
    PhysicalClocks,
    descendant_tick,
    lowered_clocks,
    next_own_tick,
)
from hermes_memory_store.sync.wire_format import PullCursor

from .team import THEME, Member, Server, converge, joining_members, load_team_policies

NOW = 1_790_000_000_000

FAR_MS = 400 * DAY_MS

NODE = bytes(range(16))


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[[], Member]]:
    """Makes a member of the team, with a clock of its own."""
    with joining_members(tmp_path, load_team_policies(tmp_path), begin=NOW, apart_ms=0) as member:
        yield member


def clock_ms(member: Member) -> int:
    """Where the clock of its versions stands, in milliseconds."""
    return int(member.store.db.value("SELECT clock FROM sync_store") >> 16)


@pytest.mark.parametrize("last", [0, NOW << 16, NOW + FAR_MS << 16, MAX_CLOCK])
@pytest.mark.parametrize("server_ms", [0, NOW - FAR_MS, NOW - 1_000, NOW, NOW + 90_000, NOW + FAR_MS, 1 << 47])
def test_a_tick_is_never_ahead_of_what_both_clocks_allow(server_ms: int, last: int) -> None:
    tick = next_own_tick(PhysicalClocks(NOW, server_ms), last, NODE)
    assert 0 < tick <= min(NOW, server_ms) + AHEAD_MS + 1 << 16
    if server_ms == NOW + 90_000 and last < NOW << 16:
        assert tick >> 16 == server_ms


def test_ticks_rise_until_a_clock_is_set_back() -> None:
    last, seen = 0, []
    for ms in (0, 0, 5, -1_000, -200_000, 10):
        last = next_own_tick(PhysicalClocks(NOW + ms, NOW + ms), last, NODE)
        seen.append(last)
    assert seen == sorted(set(seen))
    assert next_own_tick(PhysicalClocks(NOW - DAY_MS, NOW - DAY_MS), last, NODE) < seen[0]


def test_a_tick_goes_up_to_what_both_clocks_allow_and_no_further() -> None:
    clocks = PhysicalClocks(NOW, NOW)
    last = clocks.reach - 2_000
    ticks = []
    while last < clocks.reach:
        last += 1
        tick = next_own_tick(clocks, last, NODE)
        if tick == clocks.reach or tick >> 16 == NOW:
            ticks.append(tick)
    assert clocks.reach in ticks, "a tick that is just allowed is taken"
    assert ticks[-1] >> 16 == NOW, "one beyond it begins at the present again"


def test_a_version_is_stamped_above_what_it_was_made_from_as_far_as_numbers_go() -> None:
    assert descendant_tick(50, NODE, ()) == 50
    assert descendant_tick(50, NODE, (90, 10)) > 90
    assert descendant_tick(50, NODE, (MAX_CLOCK,)) == MAX_CLOCK


def test_clocks_that_ran_ahead_are_brought_down_alike_everywhere_and_keep_their_order() -> None:
    plausible = PhysicalClocks(NOW, NOW).plausible
    early, late = [NOW - 5 << 16, NOW << 16], [NOW + FAR_MS << 16, (NOW + FAR_MS << 16) + 7, MAX_CLOCK]
    places = lowered_clocks([*late, *early], plausible)
    assert [places[clock] for clock in early] == early
    assert [places[clock] for clock in late] == sorted({places[clock] for clock in late})
    assert max(places.values()) <= plausible
    for whole in itertools.permutations([*early, *late]):
        assert lowered_clocks(whole, plausible) == places
    # A version knows those of its ancestors alone that came before it.
    assert lowered_clocks([*early, late[0]], plausible)[late[0]] == places[late[0]]
    later = PhysicalClocks(NOW + DAY_MS, NOW + DAY_MS).plausible
    assert lowered_clocks([*early, *late], later) == places


@pytest.mark.parametrize("server_ms", [NOW - FAR_MS, NOW, NOW + FAR_MS])
@pytest.mark.parametrize("hlc", [NOW + FAR_MS + DAY_MS << 16, MAX_CLOCK])
def test_a_row_from_the_future_moves_no_clock_and_hinders_no_write(
    join: Callable[[], Member], hlc: int, server_ms: int
) -> None:
    ann, bob = join(), join()
    ann.store.facts.write(THEME, "D[cache]: redis")
    (row,) = ann.store.sync.outbox.pending_rows(THEME)
    bob.store.sync.note_server_time(server_ms)
    bob.store.sync.inbox.apply(THEME, [(1, replace(row, hlc=hlc))], cursor=PullCursor(1))
    fact = bob.store.facts.write(THEME, "D[db]: sqlite").fact
    bob.store.facts.edit(fact.uid, "postgresql")
    assert len(bob.store.sync.standing.held_versions()) == 1
    assert clock_ms(bob) <= min(NOW, server_ms) + AHEAD_MS
    assert bob.store.sync.inbox.recheck_hidden() == 0


def test_a_clock_that_an_earlier_version_left_at_the_end_of_numbers_hinders_no_write(
    join: Callable[[], Member],
) -> None:
    ann = join()
    uid = ann.store.facts.write(THEME, "D[cache]: redis").fact.uid
    (row,) = ann.store.sync.outbox.pending_rows(THEME)
    ann.store.sync.outbox.acknowledge(THEME, [(row.uid, row.hlc)])
    with ann.store.db.write_transaction() as conn:
        conn.execute("UPDATE sync_rows SET hlc = ?", (MAX_CLOCK,))
        conn.execute("UPDATE sync_store SET clock = ?", (MAX_CLOCK,))
    ann.store.facts.edit(uid, "valkey")
    ann.store.facts.write(THEME, "D[db]: sqlite")
    ann.store.sync.note_server_time(NOW)
    ann.store.sync.restamp_future()
    found = ann.store.sync.outbox.pending_rows(THEME)
    assert {row.content for row in found} == {"valkey", "sqlite"}
    assert all(row.at <= NOW + AHEAD_MS for row in found)
    assert ann.store.sync.restamp_future() == 0


def test_nothing_is_brought_down_that_one_of_the_clocks_allows(join: Callable[[], Member]) -> None:
    ann, server = join(), Server()
    ann.store.facts.write(THEME, "D[cache]: redis")
    ann.exchange(server)
    before = ann.store.sync.standing.digests(THEME)
    for own_ms, server_ms in ((NOW, NOW - FAR_MS), (NOW - FAR_MS, NOW), (NOW + FAR_MS, NOW)):
        ann.clock.now = own_ms
        ann.store.sync.note_server_time(server_ms)
        ann.reopen()
        assert ann.store.sync.restamp_future() == 0
    assert ann.store.sync.standing.digests(THEME) == before


def test_what_is_held_back_goes_with_the_thing_and_is_no_conflict(join: Callable[[], Member]) -> None:
    ann, server = join(), Server()
    uid = ann.store.facts.write(THEME, "D[cache]: redis").fact.uid
    ann.exchange(server)
    _, row = server.rows[uid]
    ahead = replace(row, hlc=MAX_CLOCK, content="valkey", node=Uid("00000000-0000-4000-8000-000000000001"))
    ann.store.sync.inbox.apply(THEME, [(9, ahead)], cursor=PullCursor(9))
    assert ann.store.sync.standing.conflicts() == []
    assert [one.uid for one in ann.store.sync.standing.hidden_versions()] == [uid]
    ann.store.purge.erase([uid])
    assert ann.store.sync.standing.hidden_versions() == []
    assert b"valkey" not in ann.path.read_bytes()


def test_a_version_that_the_server_lost_is_offered_again(join: Callable[[], Member]) -> None:
    ann, bob, server = join(), join(), Server()
    uid = ann.store.facts.write(THEME, "D[cache]: redis").fact.uid
    converge([ann, bob], server)
    _, first = server.rows[uid]
    ann.clock.forward(1_000)
    ann.store.facts.edit(uid, "valkey")
    ann.exchange(server)
    server.seq += 1
    server.rows[uid] = server.seq, first
    converge([ann, bob], server)
    assert bob.store.facts.get(uid).content == ann.store.facts.get(uid).content == "valkey"
