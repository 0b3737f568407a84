"""One's own tests of a memory as a curve: which of what must be given is given, at one budget after another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase
from hermes_memory_store.recall_curve.evidence_curve import EvidenceCase, GiveEvidence


def to_evidence_cases(runner: CaseRunner, cases: Iterable[MemoryCase]) -> list[tuple[EvidenceCase, GiveEvidence]]:
    """Return the tests that expect something, each with the way to ask it. Tests whose scope or project is gone give nothing."""
    return [to_evidence_case(runner, case) for case in cases if case.given]


def to_evidence_case(runner: CaseRunner, case: MemoryCase) -> tuple[EvidenceCase, GiveEvidence]:
    """Return one test; its evidence are the texts of what must be given."""

    def give(_asked: EvidenceCase, budget: int) -> tuple[frozenset[str], int]:
        outcome = runner.run(replace(case, tokens=budget))
        if outcome.status is CaseStatus.ERROR or outcome.given is None:
            return frozenset(), 0
        items = outcome.given.items
        met = frozenset(one.text for one in case.given if any(one.is_met_by(item) for item in items))
        return met, outcome.given.tokens

    return EvidenceCase(case.name, frozenset(one.text for one in case.given)), give
