"""Pack ranked items into a budget of tokens: what was told already waits or is left out."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from hermes_memory_store.find.scoring import ScoredCandidate
from hermes_memory_store.recall.given import GivenItem

ALREADY_HEARD = 0.5
"""What a fact is still worth whose turns are given: the turn's sentence need not say all of it. A turn that a given fact tells
is worth nothing. With 1 instead, .727 of the evidence of LoCoMo's first five conversations is given at 180 tokens, with .5 .748,
with 0 .751."""


MOST_MISFITS = 12
"""Items that did not fit, after which no other is tried, and that are told as left out."""


def pack_scored(
    ranked: Sequence[ScoredCandidate], room: int, to_item: Callable[[ScoredCandidate], GivenItem]
) -> tuple[list[GivenItem], list[GivenItem]]:
    """Return the items that fit into `room` tokens, and the best of the others, both best first.

    One that is too long leaves its place to shorter ones after it.

    :param ranked: best first
    :param to_item: writes a line and counts its tokens, which costs more than all else: only what is looked at is written
    """
    among = frozenset(one.candidate.uid for one in ranked)
    waiting = [(-one.score, place, one, False) for place, one in enumerate(ranked)]
    heapq.heapify(waiting)
    chosen: list[GivenItem] = []
    left_out: list[GivenItem] = []
    told: set[str] = set()
    given: set[str] = set()
    while waiting and len(left_out) < MOST_MISFITS:
        score, place, one, is_lowered = heapq.heappop(waiting)
        candidate = one.candidate
        sources = (
            frozenset(other.uid for other in candidate.beside) & among if candidate.fact is not None else frozenset()
        )
        if candidate.turn is not None and candidate.uid in told:
            left_out.append(to_item(one))
        elif sources and sources <= given and not is_lowered:
            heapq.heappush(waiting, (score * ALREADY_HEARD, place, one, True))
        elif (item := to_item(one)).tokens > room:
            left_out.append(item)
        else:
            room -= item.tokens
            chosen.append(item)
            if candidate.turn is not None:
                given.add(candidate.uid)
            told |= sources
    return chosen, left_out
