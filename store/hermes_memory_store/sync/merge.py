"""The merge: of two versions of one thing, which one stands, and whether a person may have to see the other. It reads nothing.

| here | received | decision |
| --- | --- | --- |
| anything but this version | its clock is ahead of what the team's time allows, and it purges nothing | HOLD |
| nothing | any | TAKE |
| this version | | SAME |
| of a higher rank | known to what is here, or not to be shown | KEEP |
| of a higher rank | unknown to what is here | KEEP, concurrent |
| purged | any that does not purge | KEEP |
| of a lower rank | made with knowledge of what is here | TAKE |
| of a lower rank | made without it | TAKE, concurrent |
| of a lower rank, and not to be shown | any | TAKE |
| ran ahead of all clocks once it was sent | of a lower rank, as the database has it now | as if it ranked higher |

A rank is (purged, clock, node). *Concurrent* means that neither was made from the other: a person may have to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, lowered_clocks
from hermes_memory_store.sync.wire_format import LIVE, MAX_ANCESTORS, PURGED


class Outcome(Enum):
    """What becomes of a received version."""

    HOLD = "it is held back until its time has come"
    SAME = "it is here"
    KEEP = "what is here stands"
    TAKE = "it replaces what is here"


class Stamp(NamedTuple):
    """What names a version, and what was known to whoever made it."""

    hlc: int
    node: str
    state: int = LIVE
    ancestors: tuple[int, ...] = ()
    is_hidden: bool = False
    """Whether nothing of it may be shown here."""
    is_sent: bool = True
    """Whether others have it, as they have whatever came from them."""

    @property
    def rank(self) -> tuple[bool, int, str]:
        return self.state == PURGED, self.hlc, self.node


class Decision(NamedTuple):
    outcome: Outcome
    is_concurrent: bool = False
    """Whether the version that lost is to be listed for a person, unless both say the same."""
    is_missing: bool = False
    """Whether the database no longer has the version that stands here, so that it is sent again."""


def merge(here: Stamp | None, received: Stamp, clocks: PhysicalClocks, *, is_history: bool = False) -> Decision:
    """Decide between the version that is here and a received one.

    :param is_history: received versions may be old ones, which their carrier keeps
    """
    if here is not None and (here.hlc, here.node) == (received.hlc, received.node):
        return Decision(Outcome.SAME)
    if received.hlc > clocks.acceptable and received.state != PURGED:
        return Decision(Outcome.HOLD)
    if here is None:
        return Decision(Outcome.TAKE)
    ran_ahead = here.is_sent and here.hlc > clocks.plausible and here.state != PURGED and not is_history
    if here.rank > received.rank and not ran_ahead:
        is_known = received.hlc in here.ancestors or (is_history and is_before_ancestors(received.hlc, here.ancestors))
        is_listed = not is_known and here.state != PURGED and not received.is_hidden
        return Decision(Outcome.KEEP, is_listed, is_missing=here.is_sent and not is_history)
    is_final = PURGED in (received.state, here.state)
    return Decision(Outcome.TAKE, not (is_final or here.is_hidden or is_descendant(received, here, clocks)))


def is_descendant(received: Stamp, here: Stamp, clocks: PhysicalClocks) -> bool:
    """Check whether a version was made with knowledge of the one that is here.

    A full list of ancestors may have lost it; a version that is not this store's to send was on the server before, and counts
    as known then.
    """
    if here.hlc in received.ancestors:
        return True
    if here.hlc > clocks.plausible:
        return lowered_clocks((*here.ancestors, here.hlc), clocks.plausible)[here.hlc] in received.ancestors
    return here.is_sent and is_before_ancestors(here.hlc, received.ancestors)


def is_before_ancestors(clock: int, ancestors: Sequence[int]) -> bool:
    """Check whether a clock is older than all that a full list of ancestors names, which may have lost it."""
    return len(ancestors) >= MAX_ANCESTORS and clock < ancestors[-1]


def is_made_from_held(received: Stamp, held: Stamp, clocks: PhysicalClocks) -> bool:
    """Check whether a version is a held one under the clock that every machine makes of it, or was made from it."""
    lowered = lowered_clocks((*held.ancestors, held.hlc), clocks.plausible)[held.hlc]
    return not {held.hlc, lowered}.isdisjoint((received.hlc, *received.ancestors))


def newest_ancestors(*clocks: int) -> tuple[int, ...]:
    return tuple(sorted(set(clocks), reverse=True)[:MAX_ANCESTORS])


def find_lineage_to_add(stamp: Stamp, clocks: Iterable[int]) -> tuple[int, ...] | None:
    """Return the ancestors of a version to make that knows of these clocks, too; None where what stands knows of them."""
    lineage = newest_ancestors(stamp.hlc, *stamp.ancestors, *clocks)
    return None if {stamp.hlc, *stamp.ancestors}.issuperset(lineage) else lineage
