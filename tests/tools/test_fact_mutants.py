"""Mutants of facts: who would notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.memory_tests.case_file import parse_cases
from hermes_memory_store.store import Store
from tests.tools.fact_mutants import FactMutant, MutantKind, run_mutants, share_noticed

THEME = "default"


def mutants(store: Store, *tests: str) -> dict[tuple[str, str], FactMutant]:
    cases = parse_cases("\n".join(f"[[test]]\n{text}" for text in tests))
    return {(one.fact.target, one.kind.value): one for one in run_mutants(store, cases)}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as store:
        store.facts.write(THEME, "D[auth.method]: session cookies", scope="login")
        store.facts.write(THEME, "C[billing.vat]: 19 % on every invoice", scope="billing")
        store.facts.write(THEME, "V[db.port]: 5432", scope="schema")
        yield store


@pytest.mark.parametrize("expected", ["D[auth.method]", "[auth.method]", "D[auth.method]: session cookies", "cookies"])
def test_a_test_notices_what_is_done_to_its_fact(memory: Store, expected: str) -> None:
    found = mutants(memory, f"ask = 'auth method'\nname = 'sign in'\ngiven = ['{expected}']")
    assert {kind for _, kind in found} == {kind.value for kind in MutantKind}
    for kind in (MutantKind.DROP, MutantKind.SUPERSEDE, MutantKind.RENAME):
        one = found["auth.method", kind.value]
        assert (one.noticed_by, one.missed_by, one.problem) == (("sign in",), (), None), one
    assert share_noticed(list(found.values())) == 1


def test_a_question_still_finds_what_was_cooled_and_a_start_does_not(memory: Store) -> None:
    asked = mutants(memory, "ask = 'auth method'\ngiven = ['D[auth.method]']")
    assert not asked["auth.method", "cool"].has_effect
    started = mutants(memory, "start = {}\ngiven = ['D[auth.method]']\ntokens = 500")
    assert started["auth.method", "cool"].noticed_by


def test_a_test_that_something_else_satisfies_too_misses_the_mutant(memory: Store) -> None:
    memory.facts.write(THEME, "V[auth.note]: the method uses cookies", scope="login")
    found = mutants(memory, "ask = 'auth method'\nname = 'weak'\ngiven = ['cookies']")
    assert found["auth.method", "drop"].missed_by == ("weak",)
    assert share_noticed(list(found.values())) < 1


def test_only_facts_that_a_passing_test_rests_on_are_changed(memory: Store) -> None:
    found = mutants(
        memory,
        "ask = 'auth method'\ngiven = ['D[auth.method]']\nnever = ['5432']",
        "ask = 'which port'\ngiven = ['D[nothing.here]']",
    )
    assert {target for target, _ in found} == {"auth.method"}


def test_the_store_stays_as_it_is_and_no_file_of_a_workspace_is_erased(memory: Store, tmp_path: Path) -> None:
    rules = tmp_path / "work" / "rules.md"
    memory.rules_files.write(rules, "cursor", THEME, "C[billing.vat]: 19 %")
    before = memory.path.read_bytes()
    mutants(memory, "start = {}\ngiven = ['C[billing.vat]']\ntokens = 500")
    assert memory.path.read_bytes() == before
    assert rules.exists()
