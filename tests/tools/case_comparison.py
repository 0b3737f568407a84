"""What changed for tests of a memory between two sides: a moment and now, or one store and another.

python -m tests.tools.case_comparison memory.db memory-tests.toml 2d|2026-03-01|other.db
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_store.journal.rewind import last_change_before, parse_past_moment
from hermes_memory_store.memory_tests.break_search import open_memory_copy
from hermes_memory_store.memory_tests.case_file import read_case_file
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import Expectation, MemoryCase
from hermes_memory_store.model import Millis
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store


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


def print_case_changes(changes: Sequence[CaseChange], side: str) -> None:
    """Print what differs between another side and now, test by test."""
    print(f"\nagainst {side}: " + (f"{len(changes)} tests" if changes else "no") + " changed")
    for one in changes:
        became = "" if one.before == one.after else f": {one.before} → {one.after}"
        print(f"  {to_printable(one.case.name)}{became}")
        for move in one.moves:
            before, after = (f"place {place}" if place else "not ranked" for place in (move.before, move.after))
            print(f"      {to_printable(move.expectation.text)}: {before} → {after}")
        for mark, lines in (("+", one.came), ("-", one.went)):
            for line in lines:
                print(f"    {mark} {to_printable(line)}")


@contextmanager
def open_past_memory(store: Store, moment: int) -> Iterator[Store]:
    """Yield the store as it stood at the end of that millisecond, with the turns that had been captured by then.

    :param moment: UTC milliseconds
    """
    with open_memory_copy(store) as copied:
        last = last_change_before(store, moment)
        if last < store.journal.last_seq():
            copied.rewind(last)
        copied.now = Millis(moment)
        yield copied.store


def main() -> None:
    """Run the tests of a file on both sides."""
    store_path, case_path, side = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    cases = read_case_file(case_path).cases
    with Store.open(store_path, read_only=True) as store:
        if Path(side).is_file():
            opened: AbstractContextManager[Store] = Store.open(Path(side), read_only=True)
        else:
            opened = open_past_memory(store, parse_past_moment(store, side))
        with opened as other:
            changes = compare_outcomes(CaseRunner(other).run_all(cases), CaseRunner(store).run_all(cases))
    print_case_changes(changes, side)


if __name__ == "__main__":
    main()
