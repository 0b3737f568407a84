"""One measure for facts and turns: what each says itself, and what stands beside it says.

Chosen by grid on the first five conversations of the public set LoCoMo, where it is flat: each of these may be halved or
doubled for less than .01 of the evidence at 180 tokens. Nothing is fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from hermes_memory_store.find.candidates import RecallCandidate
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.projects.branch_labels import LOWERED_SCORE, MarkedFact, MarkedFacts
from hermes_memory_store.recall.given import RankReason

BORROWED = 0.4
"""What the best turn that a fact was written from adds, of that turn's words; and the best fact written from a turn."""

MEANING = 0.6
"""What standing out by meaning is worth beside standing out by words."""

BORROWED_MEANING = 0.6
"""The same of similarity, of a fact from its turn; both are averaged by their weights."""

SAME_MEASURE = 1e-9
"""Measures that differ by less tell nothing apart."""


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate with its score, from 0 to 1 for the best."""

    candidate: RecallCandidate
    score: float
    reasons: tuple[RankReason, ...]
    marked: MarkedFact | None = None
    """The fact with the label of its branch, where branches count."""


def score_candidates(candidates: Sequence[RecallCandidate]) -> list[ScoredCandidate]:
    """Score candidates by all that is known of them, best first; those with every word of a look-up before all others."""
    words = [one.words for one in candidates]
    beside = [BORROWED * max((other.words for other in one.beside), default=0.0) for one in candidates]
    total = [own + other for own, other in zip(words, beside, strict=True)]
    similar = [measure_meaning(one) for one in candidates]
    known = [one for one in similar if one is not None]
    if known:
        average = fmean(known)
        low, spread = find_spread(total)
        near_low, near_spread = find_spread(known)
        words = [one / spread for one in words]
        beside = [one / spread for one in beside]
        meaning = [MEANING * ((average if one is None else one) - near_low) / near_spread for one in similar]
        total = [one / spread - low / spread + other for one, other in zip(total, meaning, strict=True)]
    else:
        meaning = [0.0] * len(candidates)
    best = max((one for one in total), default=0.0) or 1.0
    scored = [
        ScoredCandidate(
            candidate,
            total[at] / best,
            tuple(
                RankReason(name, value / best)
                for name, value in (("words", words[at]), ("beside", beside[at]), ("meaning", meaning[at]))
                if value > 0
            ),
        )
        for at, candidate in enumerate(candidates)
    ]
    return [
        *put_exact_first([one for one in scored if one.candidate.is_exact]),
        *sorted((one for one in scored if not one.candidate.is_exact), key=lambda one: -one.score),
    ]


def put_exact_first(exact: list[ScoredCandidate]) -> list[ScoredCandidate]:
    """Return the facts with every word in the order of the search, none with less than the best score of all."""
    return [ScoredCandidate(one.candidate, 1.0, (RankReason("every word", 1.0), *one.reasons)) for one in exact]


def lower_by_branch(scored: Sequence[ScoredCandidate], marked: MarkedFacts) -> list[ScoredCandidate]:
    """Return candidates without the facts that are held back; a fact of an unmerged branch counts half.

    Facts with every word of a look-up stay before all others.
    """
    given = {one.fact.uid: one for one in marked.given}
    kept: list[ScoredCandidate] = []
    for one in scored:
        mark = given.get(one.candidate.uid)
        if one.candidate.fact is None:
            kept.append(one)
        elif mark is not None and mark.is_lowered:
            taken = one.score * (1 - LOWERED_SCORE)
            reasons = (*one.reasons, RankReason("branch", -taken))
            kept.append(ScoredCandidate(one.candidate, one.score - taken, reasons, mark))
        elif mark is not None:
            kept.append(ScoredCandidate(one.candidate, one.score, one.reasons, mark))
    return sorted(kept, key=lambda one: (not one.candidate.is_exact, -one.score))


def measure_meaning(one: RecallCandidate) -> float | None:
    """Return how near a candidate is; a fact borrows from the nearest of its turns."""
    if one.meaning is None or one.fact is None:
        return one.meaning
    near = max((other.meaning for other in one.beside if other.meaning is not None), default=None)
    return one.meaning if near is None else (one.meaning + BORROWED_MEANING * near) / (1 + BORROWED_MEANING)


def find_spread(measures: Sequence[float]) -> tuple[float, float]:
    """Return the lowest of some measures and their standard deviation, 1 where all are equal."""
    lowest, mean = min(measures), fmean(measures)
    spread = math.sqrt(fmean((one - mean) ** 2 for one in measures))
    return lowest, spread if spread > SAME_MEASURE else 1.0
