"""The hybrid logical clock of versions: 48 bits of milliseconds, 16 of counter, bounded by two physical clocks.

The two are this machine's and the team server's, and either may be wrong. So the stamps of a store, and its own
clock, go no further than the earlier of the two allows; an existing stamp counts as running ahead only where the
later of the two says so. A server clock that jumps for some seconds moves no stamp and takes none back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from hermes_memory_store.sync.wire_format import COUNTER_BITS

AHEAD_MS = 300_000
"""How far ahead of the server's clock a version may be stamped. The statement by which rows are pushed refuses more."""

COUNTER = (1 << COUNTER_BITS) - 1

MAX_CLOCK = (1 << 63) - 1
"""The highest clock that a signed integer of 64 bits holds."""


@dataclass(frozen=True, slots=True)
class PhysicalClocks:
    """The current time, UTC milliseconds, by this machine's clock and by the server's as far as it is known."""

    own_ms: int
    server_ms: int

    @property
    def present_ms(self) -> int:
        """The time for new stamps: the server's, as far as this machine's own allows."""
        return max(0, min(self.server_ms, self.own_ms + AHEAD_MS))

    @property
    def reach(self) -> int:
        """The upper bound of this store's clock: as far as both allow."""
        return highest_allowed_tick(min(self.own_ms, self.server_ms))

    @property
    def acceptable(self) -> int:
        """The highest clock that the server accepts now."""
        return highest_allowed_tick(self.server_ms)

    @property
    def plausible(self) -> int:
        """The highest clock that no fast clock is needed to explain: as far as either allows."""
        return highest_allowed_tick(max(self.own_ms, self.server_ms))


def highest_allowed_tick(now_ms: int) -> int:
    return min(MAX_CLOCK, now_ms + AHEAD_MS << COUNTER_BITS | COUNTER)


def next_own_tick(clocks: PhysicalClocks, last: int, node: bytes) -> int:
    """Return the next clock of a store, given its last one; one ahead of what both physical clocks allow is dropped.

    A node starts at its own offset within a fresh millisecond, and adds its own step to the last clock it saw:
    versions name their ancestors by clock alone, so two nodes must not make equal ones.
    """
    fresh = max(1, clocks.present_ms << COUNTER_BITS | int.from_bytes(node[-2:], "big") >> 1)
    following = last + 1 + node_step(node, last)
    return max(fresh, following) if following <= clocks.reach else fresh


def descendant_tick(tick: int, node: bytes, parents: Iterable[int]) -> int:
    """Return the clock of a version with these ancestors, always above theirs, so that it wins over its sources."""
    newest = max(parents, default=0)
    return tick if tick > newest else min(MAX_CLOCK, newest + 1 + node_step(node, newest))


def node_step(name: bytes, clock: int) -> int:
    """Return a small number that two nodes are unlikely to share."""
    return int.from_bytes(hashlib.blake2b(name + clock.to_bytes(8, "big"), digest_size=2).digest(), "big") & 0x3FF


def lowered_clocks(lineage: Iterable[int], plausible: int) -> dict[int, int]:
    """Return the clocks of a version and its ancestors after those that ran ahead are lowered.

    Each comes right after the one before it, by a step that depends on the clock alone. So machines that do this
    independently make the same version, and a version made from it still names it as its ancestor.
    """
    lowered: dict[int, int] = {}
    before = 0
    for clock in sorted(set(lineage)):
        before = clock if clock <= plausible else before + 1 + node_step(b"", clock)
        lowered[clock] = before
    return lowered
