"""The curve: which share of what must be given is given at one budget after another, and the area below it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase

BUDGETS = (90, 180, 500, 2_048)
"""Tokens: half a start, a start, a generous prompt, and what others publish at."""

ShareAt = Callable[[int], tuple[float, int]]
"""Budget → the share of a question's evidence that is given, from 0 to 1, and the tokens that it took."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What was given at one budget: means over all questions."""

    budget: int
    share: float
    spent: float
    """Tokens."""
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
        pairs = zip(self.points, self.points[1:], strict=False)
        total = sum((left.share + right.share) / 2 * math.log(right.budget / left.budget) for left, right in pairs)
        return total / math.log(self.points[-1].budget / self.points[0].budget)


def measure_curve(name: str, questions: Sequence[ShareAt], budgets: Iterable[int] = BUDGETS) -> RecallCurve:
    """Ask every question at every budget. :param budgets: tokens, ascending"""
    return RecallCurve(name, tuple(measure_point(questions, budget) for budget in budgets), len(questions))


def measure_point(questions: Iterable[ShareAt], budget: int) -> CurvePoint:
    answers = []
    for share_at in questions:
        start = time.perf_counter()
        answers.append((*share_at(budget), (time.perf_counter() - start) * 1000))
    answers = answers or [(0.0, 0, 0.0)]
    shares, tokens, times = zip(*answers, strict=True)
    p95 = sorted(times)[math.ceil(0.95 * len(times)) - 1]
    return CurvePoint(budget, statistics.fmean(shares), statistics.fmean(tokens), statistics.median(times), p95)


def to_questions(runner: CaseRunner, cases: Iterable[MemoryCase]) -> list[ShareAt]:
    """Return the tests that expect something; one whose scope or project is gone gives nothing."""
    return [to_question(runner, case) for case in cases if case.given]


def to_question(runner: CaseRunner, case: MemoryCase) -> ShareAt:
    """Return one test; its evidence are the texts of what must be given."""
    texts = {expectation.text for expectation in case.given}

    def share_at(budget: int) -> tuple[float, int]:
        outcome = runner.run(replace(case, tokens=budget))
        if outcome.status is CaseStatus.ERROR or outcome.given is None:
            return 0.0, 0
        items = outcome.given.items
        met = {expectation.text for expectation in case.given if any(map(expectation.is_met_by, items))}
        return len(met) / len(texts), outcome.given.tokens

    return share_at
