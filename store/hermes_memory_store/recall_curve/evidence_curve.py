"""The curve: which share of the evidence is given at one budget after another, and the area below it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

BUDGETS = (90, 180, 500, 2_048)
"""Tokens: half a start, a start, a generous prompt, and what others publish at."""


@dataclass(frozen=True, slots=True)
class EvidenceCase:
    """A question, and the names of what answers it."""

    question: str
    evidence: frozenset[str]
    group: str = ""
    """The conversation or file it belongs to."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What was given at one budget."""

    budget: int
    share: float
    """Mean share of the evidence of a question, from 0 to 1."""
    spent: float
    """Mean tokens given."""
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class RecallCurve:
    """All budgets of one way to rank."""

    name: str
    points: tuple[CurvePoint, ...]
    cases: int

    @property
    def area(self) -> float:
        """Area below the curve over the logarithm of the budget, from 0 to 1: 1 where everything is given at every budget."""
        if len(self.points) == 1:
            return self.points[0].share
        total = 0.0
        for left, right in zip(self.points, self.points[1:], strict=False):
            total += (left.share + right.share) / 2 * math.log(right.budget / left.budget)
        return total / math.log(self.points[-1].budget / self.points[0].budget)


GiveEvidence = Callable[[EvidenceCase, int], tuple[frozenset[str], int]]
"""(case, budget) → the names of what was given, and the tokens that it took."""


def measure_curve(
    name: str, cases: Iterable[tuple[EvidenceCase, GiveEvidence]], budgets: Sequence[int] = BUDGETS
) -> RecallCurve:
    """Ask every case at every budget.

    :param cases: pairs of a case and the way to ask it
    :param budgets: tokens, ascending
    """
    asked = list(cases)
    points = []
    for budget in budgets:
        shares, tokens, times = [], [], []
        for case, give in asked:
            begun = time.perf_counter()
            names, spent = give(case, budget)
            times.append((time.perf_counter() - begun) * 1000)
            shares.append(len(names & case.evidence) / len(case.evidence))
            tokens.append(spent)
        points.append(
            CurvePoint(
                budget,
                statistics.fmean(shares) if shares else 0.0,
                statistics.fmean(tokens) if tokens else 0.0,
                statistics.median(times) if times else 0.0,
                sorted(times)[math.ceil(0.95 * len(times)) - 1] if times else 0.0,
            )
        )
    return RecallCurve(name, tuple(points), len(asked))
