"""One measure for facts and turns: what each says itself, and what stands beside it says; and what of them fits a budget.

The weights were chosen by grid where they are flat: each may be halved or doubled for hardly any evidence. Nothing is fitted.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from statistics import fmean

from hermes_memory_store.context.given import GivenItem, RankReason
from hermes_memory_store.context.packing import Budget
from hermes_memory_store.find.candidates import RecallCandidate
from hermes_memory_store.projects.branch_labels import LOWERED_SCORE, MarkedFacts

BORROWED = 0.4
"""What the best turn that a fact was written from adds, of that turn's words; and the best fact written from a turn."""

MEANING = 0.6
"""What standing out by meaning is worth beside standing out by words."""

BORROWED_MEANING = 0.6
"""The same of similarity, of a fact from its turn; both are averaged by their weights."""

SAME_MEASURE = 1e-9
"""Measures that differ by less tell nothing apart."""


ALREADY_HEARD = 0.5
"""What a fact is still worth whose turns are given: the turn's sentence need not say all of it. A turn that a given fact tells
is worth nothing."""

MOST_MISFITS = 12
"""Items that did not fit, after which no other is tried, and that are told as left out."""


def score_candidates(candidates: Sequence[RecallCandidate]) -> list[RecallCandidate]:
    """Score candidates by all that is known of them, best first; those with every word of a look-up before all others."""
    words = [candidate.words for candidate in candidates]
    beside = [BORROWED * max((other.words for other in candidate.beside), default=0.0) for candidate in candidates]
    total = [own + borrowed for own, borrowed in zip(words, beside, strict=True)]
    similar = [measure_meaning(candidate) for candidate in candidates]
    meaning = [0.0] * len(candidates)
    if measured := [similarity for similarity in similar if similarity is not None]:
        average = fmean(measured)
        low, spread = find_spread(total)
        near_low, near_spread = find_spread(measured)
        words = [measure / spread for measure in words]
        beside = [measure / spread for measure in beside]
        meaning = [MEANING * ((average if near is None else near) - near_low) / near_spread for near in similar]
        total = [measure / spread - low / spread + near for measure, near in zip(total, meaning, strict=True)]
    best = max(total, default=0.0) or 1.0
    for at, candidate in enumerate(candidates):
        parts = (("words", words[at]), ("beside", beside[at]), ("meaning", meaning[at]))
        candidate.score = total[at] / best
        candidate.reasons = tuple(RankReason(name, value / best) for name, value in parts if value > 0)
        if candidate.is_exact:  # none with less than the best score of all, in the order of the search
            candidate.score = 1.0
            candidate.reasons = (RankReason("every word", 1.0), *candidate.reasons)
    return sorted(candidates, key=lambda candidate: (not candidate.is_exact, -candidate.score))


def lower_by_branch(candidates: Sequence[RecallCandidate], facts: MarkedFacts) -> list[RecallCandidate]:
    """Return candidates without the facts that are held back; a fact of an unmerged branch counts half.

    Facts with every word of a look-up stay before all others.
    """
    marks = {mark.fact.uid: mark for mark in facts.given}
    shown = [candidate for candidate in candidates if candidate.fact is None or candidate.uid in marks]
    for candidate in shown:
        candidate.marked = None if candidate.fact is None else marks[candidate.uid]
        if candidate.marked is not None and candidate.marked.is_lowered:
            reduction = candidate.score * (1 - LOWERED_SCORE)
            candidate.score -= reduction
            candidate.reasons = (*candidate.reasons, RankReason("branch", -reduction))
    return sorted(shown, key=lambda candidate: (not candidate.is_exact, -candidate.score))


def measure_meaning(candidate: RecallCandidate) -> float | None:
    """Return how near a candidate is; a fact borrows from the nearest of its turns."""
    if candidate.meaning is None or candidate.fact is None:
        return candidate.meaning
    near = max((source.meaning for source in candidate.beside if source.meaning is not None), default=None)
    return candidate.meaning if near is None else (candidate.meaning + BORROWED_MEANING * near) / (1 + BORROWED_MEANING)


def find_spread(measures: Sequence[float]) -> tuple[float, float]:
    """Return the lowest of some measures and their standard deviation, 1 where all are equal."""
    lowest, mean = min(measures), fmean(measures)
    spread = math.sqrt(fmean((measure - mean) ** 2 for measure in measures))
    return lowest, spread if spread > SAME_MEASURE else 1.0


def pack_recall(
    ranked: Sequence[RecallCandidate], room: int, to_item: Callable[[RecallCandidate], GivenItem]
) -> tuple[list[GivenItem], list[GivenItem]]:
    """Return the items that fit into `room` tokens, and the best of the others, both best first.

    One that is too long leaves its place to shorter ones after it.

    :param ranked: best first
    :param to_item: writes a line and counts its tokens, which costs more than all else: only what is looked at is written
    """
    among = frozenset(candidate.uid for candidate in ranked)
    budget = Budget(room)
    queue = [(-candidate.score, place, candidate, False) for place, candidate in enumerate(ranked)]
    heapq.heapify(queue)
    chosen: list[GivenItem] = []
    left_out: list[GivenItem] = []
    source_uids: set[str] = set()
    """Of the turns that a chosen fact tells."""
    turn_uids: set[str] = set()
    """Of the chosen turns."""
    while queue and len(left_out) < MOST_MISFITS:
        score, place, candidate, is_lowered = heapq.heappop(queue)
        is_turn = candidate.turn is not None
        sources = frozenset() if is_turn else frozenset(source.uid for source in candidate.beside) & among
        if is_turn and candidate.uid in source_uids:
            left_out.append(to_item(candidate))
        elif sources and sources <= turn_uids and not is_lowered:
            heapq.heappush(queue, (score * ALREADY_HEARD, place, candidate, True))
        elif budget.take((item := to_item(candidate)).tokens):
            chosen.append(item)
            source_uids |= sources
            if is_turn:
                turn_uids.add(candidate.uid)
        else:
            left_out.append(item)
    return chosen, left_out
