"""What changed for tests between two sides: a moment and now, words and a model, an export and a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseStatus
from hermes_memory_store.memory_tests.memory_case import Expectation, MemoryCase


@dataclass(frozen=True, slots=True)
class RankMove:
    """One expectation whose place changed."""

    expectation: Expectation
    before: int | None
    """Place among the candidates, from 1; None when it was none."""
    after: int | None


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A test that differs between the two sides."""

    case: MemoryCase
    before: CaseStatus
    after: CaseStatus
    moves: tuple[RankMove, ...]
    came: tuple[str, ...]
    """Lines that are given now, and were not."""
    went: tuple[str, ...]


def compare_outcomes(before: Sequence[CaseOutcome], after: Sequence[CaseOutcome]) -> list[CaseChange]:
    """Return the tests whose result, ranks or given lines differ, in their order. Both sides ran the same tests."""
    changes = [compare_case(then, now) for then, now in zip(before, after, strict=True)]
    return [one for one in changes if one.before != one.after or one.moves or one.came or one.went]


def compare_case(before: CaseOutcome, after: CaseOutcome) -> CaseChange:
    """Return what differs between two runs of one test."""
    then, now = ranks_by_expectation(before), ranks_by_expectation(after)
    moves = (RankMove(one, then.get(one), now.get(one)) for one in (*after.case.given, *after.case.never))
    lines_then, lines_now = given_lines(before), given_lines(after)
    return CaseChange(
        after.case,
        before.status,
        after.status,
        tuple(move for move in moves if move.before != move.after),
        tuple(line for line in lines_now if line not in lines_then),
        tuple(line for line in lines_then if line not in lines_now),
    )


def ranks_by_expectation(outcome: CaseOutcome) -> dict[Expectation, int | None]:
    """Return the place of each expectation."""
    return {one: outcome.find_rank(one) for one in (*outcome.case.given, *outcome.case.never)}


def given_lines(outcome: CaseOutcome) -> list[str]:
    """Return the lines that were given, best first."""
    return [] if outcome.given is None else [item.line for item in outcome.given.items]
