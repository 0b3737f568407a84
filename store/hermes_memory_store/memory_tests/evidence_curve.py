"""The curve: how much of what answers is given at one budget after another, and the area below it.

What counts is the words of the answer. Whoever counts evidence as told as soon as a part of it is given prefers the sentence that
repeats the question to the one that answers it.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

from hermes_memory_store.context.given import GivenItem
from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.find.turn_sentences import split_speaker
from hermes_memory_store.language.stop_words import stop_terms
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase

BUDGETS = (90, 180, 500, 2_048)
"""Tokens: half a start, a start, a generous prompt, and what others publish at."""


@dataclass(frozen=True, slots=True)
class AnswerShares:
    """How much of what answers is given, each from 0 to 1."""

    answer_words: float = 0.0
    """Of the content words of the answer that the question does not have; `told` where there are none."""
    all_words: float = 0.0
    """1 where all of those are given."""
    evidence: float = 0.0
    """Of the evidence, a turn as far as its text is given."""
    told: float = 0.0
    """Of the evidence, a turn whole as soon as any part of it is given: that may be what repeats the question."""


ShareAt = Callable[[int], tuple[AnswerShares, int]]
"""Budget → how much of what answers a question is given, and the tokens that it took."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What was given at one budget: means over all questions."""

    budget: int
    shares: AnswerShares
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
        """Area below the answer's words over the logarithm of the budget: 1 where all are given at every budget."""
        if len(self.points) == 1:
            return self.points[0].shares.answer_words
        total = sum(
            (left.shares.answer_words + right.shares.answer_words) / 2 * math.log(right.budget / left.budget)
            for left, right in zip(self.points, self.points[1:], strict=False)
        )
        return total / math.log(self.points[-1].budget / self.points[0].budget)


def measure_curve(name: str, questions: Sequence[ShareAt], budgets: Iterable[int] = BUDGETS) -> RecallCurve:
    """Ask every question at every budget. :param budgets: tokens, ascending"""
    return RecallCurve(name, tuple(measure_point(questions, budget) for budget in budgets), len(questions))


def measure_point(questions: Iterable[ShareAt], budget: int) -> CurvePoint:
    answers = []
    for share_at in questions:
        start = time.perf_counter()
        answers.append((*share_at(budget), (time.perf_counter() - start) * 1000))
    answers = answers or [(AnswerShares(), 0, 0.0)]
    shares, tokens, times = zip(*answers, strict=True)
    means = (statistics.fmean(getattr(share, field.name) for share in shares) for field in fields(AnswerShares))
    p95 = sorted(times)[math.ceil(0.95 * len(times)) - 1]
    return CurvePoint(budget, AnswerShares(*means), statistics.fmean(tokens), statistics.median(times), p95)


def measure_shares(
    items: Iterable[GivenItem], question: str, answer: str, evidence: Callable[[GivenItem], Iterable[str]], most: int
) -> AnswerShares:
    """Return how much of an answer some items give. :param evidence: names what an item is evidence of, of `most` things"""
    wanted = {*text_terms(answer)}.difference(text_terms(question), stop_terms())
    given: set[str] = set()
    parts: dict[str, float] = {}
    for item in items:
        given.update(text_terms(item.line))
        part = 1.0
        if item.turn is not None:
            said = " ".join(split_speaker(item.turn)[1].split())
            part = min(1.0, len(item.line.partition(": ")[2]) / len(said))
        parts |= {name: max(part, parts.get(name, 0.0)) for name in evidence(item)}
    told = len(parts) / most
    words = len(wanted & given) / len(wanted) if wanted else told
    return AnswerShares(words, float(words == 1), sum(parts.values()) / most, told)


def to_questions(runner: CaseRunner, cases: Iterable[MemoryCase]) -> list[ShareAt]:
    """Return the tests that expect something; one whose scope or project is gone gives nothing."""
    return [to_question(runner, case) for case in cases if case.given]


def to_question(runner: CaseRunner, case: MemoryCase) -> ShareAt:
    """Return one test; its evidence are the texts of what must be given, its answer what those name."""
    texts = {expectation.text for expectation in case.given}
    facts = [next(iter(runner.find_facts(expectation)), None) for expectation in case.given]
    answer = " ".join(
        expectation.text if fact is None else fact.content for expectation, fact in zip(case.given, facts, strict=True)
    )

    def share_at(budget: int) -> tuple[AnswerShares, int]:
        outcome = runner.run(replace(case, tokens=budget))
        if outcome.status is CaseStatus.ERROR or outcome.given is None:
            return AnswerShares(), 0

        def find_met(item: GivenItem) -> set[str]:
            return {expectation.text for expectation in case.given if expectation.is_met_by(item)}

        items = outcome.given.items
        return measure_shares(items, case.ask or "", answer, find_met, len(texts)), outcome.given.tokens

    return share_at
