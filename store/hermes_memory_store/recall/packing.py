"""Pack ranked items into a budget of tokens: what was told already waits or is left out."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.recall.given import GivenItem

ALREADY_HEARD = 0.5
"""What a fact is still worth whose turns are given: the turn's sentence need not say all of it. A turn that a given fact tells
is worth nothing. With 1 instead, .727 of the evidence of LoCoMo's first five conversations is given at 180 tokens, with .5 .748,
with 0 .751."""


@dataclass(frozen=True, slots=True)
class PackItem:
    """An item, and which others tell the same."""

    item: GivenItem
    sources: frozenset[str] = frozenset()
    """Of a fact: uids of the turns it was written from, as far as they are ranked."""


def pack_items(ranked: Sequence[PackItem], room: int) -> tuple[list[GivenItem], list[GivenItem]]:
    """Return the items that fit into `room` tokens, and the others, both best first.

    One that is too long leaves its place to shorter ones after it.

    :param ranked: best first
    """
    waiting = [(-one.item.score, place, one, False) for place, one in enumerate(ranked)]
    heapq.heapify(waiting)
    chosen: list[GivenItem] = []
    left_out: list[GivenItem] = []
    told: set[str] = set()
    given: set[str] = set()
    while waiting:
        score, place, one, is_lowered = heapq.heappop(waiting)
        uid = one.item.uid
        if one.item.turn is not None and uid in told:
            left_out.append(one.item)
        elif one.sources and one.sources <= given and not is_lowered:
            heapq.heappush(waiting, (score * ALREADY_HEARD, place, one, True))
        elif one.item.tokens > room:
            left_out.append(one.item)
        else:
            room -= one.item.tokens
            chosen.append(one.item)
            (given if one.item.turn is not None else told).update({uid} if one.item.turn is not None else one.sources)
    return chosen, left_out
