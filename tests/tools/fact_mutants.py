"""Change the facts that tests rest on, one at a time, and see which tests would notice.

Each mutant is made in a transaction on a copy and taken back. One that changes nothing of what any test is given, such as
cooling a fact that a question still finds, has no effect that a test could notice, and is counted apart.

    python -m tests.tools.fact_mutants memory.db memory-tests.toml
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hermes_memory_store.context.given import MakeNearest
from hermes_memory_store.errors import StoreError
from hermes_memory_store.fact_types import OPEN_TYPES
from hermes_memory_store.memory_tests.break_search import open_memory_copy
from hermes_memory_store.memory_tests.case_file import read_case_file
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import Expectation, ExpectedBy, MemoryCase
from hermes_memory_store.model import Fact, FactType, Notation, Uid
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import DEFAULT
from tests.tools.case_comparison import given_lines

OTHER_CONTENT = "otherwise since"
"""What a newer fact says: no word that a test could look for."""

OTHER_NAME = "elsewhere"
"""What a renamed thing is called."""


class MutantKind(StrEnum):
    """What is done to a fact."""

    DROP = "drop"
    """It is archived: kept, and not given."""
    SUPERSEDE = "supersede"
    """A newer fact stands in its place; where a test names the target alone, and so allows a newer one, `~[target]` does."""
    COOL = "cool"
    RENAME = "rename"
    """Its target is another, and so are words of it that a test looks for."""


@dataclass(frozen=True, slots=True)
class FactMutant:
    """A change of one fact, and who would notice."""

    fact: Fact
    kind: MutantKind
    noticed_by: tuple[str, ...] = ()
    """Names of the tests that no longer pass."""
    missed_by: tuple[str, ...] = ()
    """Names of tests that rest on the fact, are given something else now, and pass all the same."""
    problem: str | None = None
    """Why it could not be made."""

    @property
    def has_effect(self) -> bool:
        """Whether any test that rests on the fact is given something else."""
        return bool(self.noticed_by or self.missed_by)


class TakenBack(Exception):
    """Ends a mutant: what it changed is rolled back."""


def run_mutants(
    store: Store,
    cases: Sequence[MemoryCase],
    *,
    theme: str = DEFAULT,
    make_nearest: MakeNearest | None = None,
) -> list[FactMutant]:
    """Make every mutant of the facts that passing tests rest on.

    :param theme: make_nearest: as for `CaseRunner`
    """
    with open_memory_copy(store) as copied:
        runner = CaseRunner(copied.store, theme, make_nearest)
        resting: dict[Uid, tuple[Fact, list[CaseOutcome]]] = {}
        for outcome in runner.run_all(cases):
            if outcome.status is CaseStatus.PASSED:
                for fact in supporting_facts(outcome):
                    resting.setdefault(fact.uid, (fact, []))[1].append(outcome)
        found: list[FactMutant] = []
        for fact, outcomes in resting.values():
            found += mutate_fact(copied.store, runner, fact, outcomes)
        return found


def supporting_facts(outcome: CaseOutcome) -> list[Fact]:
    """Return the facts that a test rests on: those which are given as it wants."""
    items = () if outcome.given is None else outcome.given.items
    return [item.fact for item in items if item.fact and any(one.is_met_by(item) for one in outcome.case.given)]


def mutate_fact(store: Store, runner: CaseRunner, fact: Fact, outcomes: Sequence[CaseOutcome]) -> Iterator[FactMutant]:
    """Yield the mutants of one fact. :param outcomes: of the tests that rest on it, as it stands"""
    wanted = [one for outcome in outcomes for one in outcome.case.given if one.is_about(fact)]
    for kind in MutantKind:
        noticed: list[str] = []
        missed: list[str] = []
        problem = None
        try:
            with store.db.write_transaction():  # rolled back by what ends it
                apply_mutation(store, fact, kind, wanted)
                for before in outcomes:
                    after = runner.run(before.case)
                    if after.status is not CaseStatus.PASSED:
                        noticed.append(before.case.name)
                    elif set(given_lines(after)) != set(given_lines(before)):
                        missed.append(before.case.name)
                raise TakenBack
        except TakenBack:
            pass
        except StoreError as error:
            problem = error.message
        yield FactMutant(fact, kind, tuple(noticed), tuple(missed), problem)


def apply_mutation(store: Store, fact: Fact, kind: MutantKind, wanted: Sequence[Expectation]) -> None:
    """Change a fact within a running transaction. :param wanted: what tests look for and it meets"""
    match kind:
        case MutantKind.DROP:
            store.facts.archive(fact.uid)
        case MutantKind.COOL:
            store.facts.cool(fact.uid)
        case MutantKind.SUPERSEDE:
            is_by_target = any(one.by is ExpectedBy.TARGET for one in wanted) and fact.type in OPEN_TYPES
            heir = FactType.OBSOLETE if is_by_target else fact.type
            store.facts.write(fact.theme, Notation(heir, fact.target, OTHER_CONTENT), scope=fact.scope, confirmed=True)
        case MutantKind.RENAME:
            store.facts.archive(fact.uid)
            line = Notation(fact.type, f"{OTHER_NAME}.{fact.target}"[:128], rename_words(fact.content, wanted))
            store.facts.write(fact.theme, line, scope=fact.scope, split=True, confirmed=True)


def rename_words(content: str, wanted: Sequence[Expectation]) -> str:
    """Return the content without the words that tests look for."""
    for one in wanted:
        if one.by is ExpectedBy.WORDS:
            content = re.sub(re.escape(one.text.strip()), OTHER_NAME, content, flags=re.IGNORECASE)
    return content


def share_noticed(mutants: Sequence[FactMutant]) -> float:
    """Return the share of mutants with an effect that a test noticed; 1 when there is none."""
    effective = [one for one in mutants if one.has_effect]
    return sum(bool(one.noticed_by) for one in effective) / len(effective) if effective else 1.0


def describe_mutant(mutant: FactMutant) -> str:
    """Return in words which tests would notice a mutant."""
    if mutant.problem is not None:
        return f"could not be made: {mutant.problem}"
    if not mutant.has_effect:
        return "has no effect: what is given stays the same"
    parts = [f"noticed by {', '.join(mutant.noticed_by)}"] if mutant.noticed_by else []
    parts += [f"missed by {', '.join(mutant.missed_by)}"] if mutant.missed_by else []
    return "; ".join(parts)


def main() -> int:
    """Print who would notice each mutant; return 1 when one with an effect is missed by all."""
    store_path, case_path = map(Path, sys.argv[1:])
    with Store.open(store_path, read_only=True) as store:
        mutants = run_mutants(store, read_case_file(case_path).cases)
    for mutant in mutants:
        print(f"{mutant.kind.value:<9}  {mutant.fact.notation}\n           {describe_mutant(mutant)}")
    effective = sum(mutant.has_effect for mutant in mutants)
    print(f"{len(mutants)} mutants: {effective} with an effect, {share_noticed(mutants):.0%} of them noticed")
    return int(any(mutant.missed_by and not mutant.noticed_by for mutant in mutants))


if __name__ == "__main__":
    sys.exit(main())
