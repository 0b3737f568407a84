"""Tests of a memory, run on a store."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from hermes_memory_store.context.given import Nearest
from hermes_memory_store.memory_tests.case_file import parse_cases
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.model import Origin, Way
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock


def run(store: Store, text: str) -> CaseOutcome:
    (case,) = parse_cases("[[test]]\n" + text)
    return CaseRunner(store).run(case)


@pytest.fixture
def memory(store: Store) -> Store:
    store.facts.write("default", "D[db.engine]: PostgreSQL 16", scope="schema")
    store.facts.write("default", "V[db.port]: 5432", scope="schema")
    store.facts.write("default", "D[auth.login]: session cookies", scope="login")
    store.turns.add("default", "user", "The pelican lives on the roof of the harbour office.")
    return store


@pytest.mark.parametrize(
    "expected",
    ["D[db.engine]", "[db.engine]", "*[db.engine]", "D[db.engine]: PostgreSQL 16", "postgresql  16"],
)  # fmt: skip
def test_a_question_passes_when_what_must_be_given_is(memory: Store, expected: str) -> None:
    outcome = run(memory, f"ask = 'which database engine'\ngiven = ['{expected}']")
    assert (outcome.status, outcome.failures) == (CaseStatus.PASSED, ())
    assert outcome.find_rank(outcome.case.given[0]) == 1
    assert run(memory, f"ask = 'which database engine'\nnever = ['{expected}']").status is CaseStatus.FAILED


def test_a_fact_is_expected_by_its_uid_or_eight_digits_of_it(memory: Store) -> None:
    fact = memory.search.find("default", "engine").facts[0]
    for digits in (fact.uid, fact.uid[-8:], fact.uid[:13]):
        assert run(memory, f"ask = 'engine'\ngiven = ['{digits}']").status is CaseStatus.PASSED
    gone = "0" * 24 + "deadbeef"
    outcome = run(memory, f"ask = 'engine'\ngiven = ['{gone}']")
    assert outcome.failures == (f"not given: {gone} (nothing in the memory matches it)",)


def test_eight_digits_may_be_words(memory: Store) -> None:
    memory.facts.write("default", "V[release.day]: 20260301")
    assert run(memory, "ask = 'release day'\ngiven = ['20260301']").status is CaseStatus.PASSED


def test_what_was_said_can_be_expected(memory: Store) -> None:
    assert (
        run(memory, "ask = 'where does the pelican live'\ngiven = ['roof of the harbour']").status is CaseStatus.PASSED
    )


def test_a_failure_says_what_became_of_the_fact(memory: Store, clock: HandClock) -> None:
    engine = memory.search.find("default", "engine").facts[0].uid
    outcome = run(memory, "ask = 'zebra stripes'\ngiven = ['D[db.engine]']")
    assert outcome.failures == (
        "not given: D[db.engine] (it stands in the memory, theme default, but no word or rule brings it here)",
    )
    memory.facts.cool(engine)
    outcome = run(memory, "start = {}\ngiven = ['D[db.engine]']")
    assert "it is cold: pin or warm it" in outcome.failures[0]
    clock.forward(1000)
    newer = memory.facts.write("default", "D[db.engine]: MariaDB 11", scope="schema").fact
    outcome = run(memory, "ask = 'PostgreSQL'\ngiven = ['D[db.engine]: PostgreSQL 16']")
    assert outcome.failures == (f"not given: D[db.engine]: PostgreSQL 16 (it is superseded by {newer.uid})",)


def test_what_does_not_fit_is_said_with_its_rank(memory: Store) -> None:
    for number in range(6):
        memory.facts.write(
            "default", f"V[db.pool.{number}]: the database engine keeps connections warm, number {number}"
        )
    outcome = run(memory, "ask = 'database engine'\ntokens = 40\ngiven = ['[db.engine]', '[db.pool.0]', '[db.pool.5]']")
    assert outcome.status is CaseStatus.FAILED
    assert outcome.given is not None
    assert outcome.given.tokens <= 40
    assert any("left out: it takes" in failure for failure in outcome.failures)


def test_a_start_is_tested_as_a_question_is(memory: Store) -> None:
    memory.facts.cool(memory.search.find("default", "cookies").facts[0].uid)
    assert (
        run(memory, "start = { scope = 'schema' }\ngiven = ['D[db.engine]']\nnever = ['[auth.login]']").failures == ()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start = { scope = 'schem' }", "no scope named 'schem'; did you mean 'schema'?"),
        ("start = { project = 'shop' }", "no project is called 'shop'"),
        ("ask = 'engine'\ntheme = 'gone'", "no theme named 'gone'"),
        ("ask = 'type:nonsense engine'", "nonsense"),
    ],
)
def test_what_is_gone_is_an_error_of_that_test(memory: Store, text: str, said: str) -> None:
    outcome = run(memory, text + "\ngiven = ['x']")
    assert outcome.status is CaseStatus.ERROR
    assert said in outcome.failures[0]


def test_a_project_is_asked_by_its_own_theme(memory: Store, tmp_path: Path) -> None:
    memory.place_themes.adopt()
    (tmp_path / "shop").mkdir()
    origin = memory.projects.locate(Origin(Way.LIBRARY), tmp_path / "shop")
    assert origin.project == "shop"
    memory.facts.write(memory.place_themes.theme_of_project("shop"), "D[cart.tax]: gross prices", origin=origin)
    outcome = run(memory, "start = { project = 'shop' }\ngiven = ['D[cart.tax]: gross prices']")
    assert outcome.failures == ()


class NearestToEverything:
    """Finds nothing, and notes what was asked."""

    ranked_by = "words and a model"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def prepare(self, questions: Iterable[str]) -> None:
        self.prepared = list(questions)

    def __call__(self, question: str) -> Nearest | None:
        self.asked.append(question)
        return lambda kind, theme, limit, keys: []


def test_what_is_nearest_by_meaning_takes_part(memory: Store) -> None:
    near = NearestToEverything()
    (case,) = parse_cases("[[test]]\nask = 'engine'\ngiven = ['D[db.engine]']")
    (outcome,) = CaseRunner(memory, make_nearest=near).run_all([case])
    assert outcome.status is CaseStatus.PASSED
    assert outcome.given is not None
    assert near.prepared == ["engine"]
    assert (near.asked, outcome.given.ranked_by) == (["engine"], "words and a model")
