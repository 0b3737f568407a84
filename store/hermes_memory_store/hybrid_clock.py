"""The hybrid logical clock of versions: 48 bits of milliseconds, 16 of counter, bounded by two physical clocks.

The two are this machine's and the team server's, and either may be wrong. So what a store stamps, and what its clock follows,
goes no further than the earlier of the two allows; what it already has counts as running ahead only where the later of the two
says so. A server's clock that jumps for some seconds moves no stamp and takes none back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from hermes_memory_store.travelling import COUNTER_BITS

AHEAD_MS = 300_000
"""How far ahead of the server's clock a version may be stamped. The statement by which rows are pushed refuses more."""

COUNTER = (1 << COUNTER_BITS) - 1

LAST = (1 << 63) - 1
"""The highest clock that a signed integer of 64 bits holds."""


@dataclass(frozen=True, slots=True)
class PhysicalClocks:
    """The present, UTC milliseconds, by this machine's clock and by the server's as far as it is known."""

    own_ms: int
    server_ms: int

    @property
    def present_ms(self) -> int:
        """What is stamped now: the server's time, as far as this machine's own allows."""
        return max(0, min(self.server_ms, self.own_ms + AHEAD_MS))

    @property
    def reach(self) -> int:
        """Where the clock of this store may stand at most: as far as both allow."""
        return latest(min(self.own_ms, self.server_ms))

    @property
    def acceptable(self) -> int:
        """The highest clock that the server accepts now."""
        return latest(self.server_ms)

    @property
    def plausible(self) -> int:
        """The highest clock that was not made by a clock that ran ahead: as far as either allows."""
        return latest(max(self.own_ms, self.server_ms))


def latest(now_ms: int) -> int:
    """The highest clock that may be met at a time."""
    return min(LAST, now_ms + AHEAD_MS << COUNTER_BITS | COUNTER)


def first_tick(clocks: PhysicalClocks, last: int, node: bytes) -> int:
    """The next clock of a store whose last one is given; one that ran ahead of what both clocks allow is forgotten.

    A node counts from a place of its own within a fresh millisecond, and takes a step of its own from what it last saw:
    versions name their ancestors by clock alone, so two nodes must not make equal ones.
    """
    fresh = max(1, clocks.present_ms << COUNTER_BITS | int.from_bytes(node[-2:], "big") >> 1)
    following = last + 1 + step(node, last)
    return max(fresh, following) if following <= clocks.reach else fresh


def descendant(tick: int, node: bytes, parents: Iterable[int]) -> int:
    """The clock of a version with these ancestors: never at or below one of them, so that it wins over what it was made from."""
    newest = max(parents, default=0)
    return tick if tick > newest else min(LAST, newest + 1 + step(node, newest))


def step(name: bytes, clock: int) -> int:
    """A small number that two nodes hardly share."""
    return int.from_bytes(hashlib.blake2b(name + clock.to_bytes(8, "big"), digest_size=2).digest(), "big") & 0x3FF


def brought_down(lineage: Iterable[int], plausible: int) -> dict[int, int]:
    """Where the clocks of a version and its ancestors stand once those that ran ahead are brought down.

    Each comes right after the one before it, by a step that only the clock itself decides. So machines that do this without
    knowing of each other make the same version, and a version made from it still names it as its ancestor.
    """
    found: dict[int, int] = {}
    before = 0
    for clock in sorted(set(lineage)):
        before = clock if clock <= plausible else before + 1 + step(b"", clock)
        found[clock] = before
    return found
