"""Questions that nobody would ask: each test has an outcome, whatever it asks."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.memory_tests.break_search import find_breaking_change
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase, parse_expectation
from hermes_memory_store.store import Store
from tests.examples import example_count

ODD = [
    "a",
    "?",
    "🐙🦑",
    '"',
    "((((",
    "AND OR NOT NEAR(",
    "column:value -x *",
    "服务器在哪个城市？ where сервер كلمة",
    "type:nonsense",
    "scope:gone",
    "\u202e\u0000 hidden",
    "x" * 1_000_000,
    "word " * 20_000,
]


def make_case(ask: str) -> MemoryCase:
    return MemoryCase("odd", ask=ask, given=(parse_expectation("D[auth.method]"),))


@pytest.mark.parametrize("ask", ODD, ids=range(len(ODD)))
def test_an_odd_question_has_an_outcome(store: Store, ask: str) -> None:
    store.facts.write("default", "D[auth.method]: session cookies")
    outcome = CaseRunner(store).run(make_case(ask))
    assert outcome.status in CaseStatus
    assert bool(outcome.failures) == (outcome.status is not CaseStatus.PASSED)


@settings(max_examples=example_count(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=30))
def test_any_question_and_any_words_have_an_outcome(store: Store, ask: str, words: str) -> None:
    case = MemoryCase("odd", ask=f"a {ask}", given=(parse_expectation(f"a {words}"),))
    assert CaseRunner(store).run(case).status in CaseStatus


def test_a_store_without_a_change_has_nothing_that_broke_a_test(store: Store) -> None:
    with pytest.raises(ArgumentError, match="passed at none of"):
        find_breaking_change(store, make_case("auth"))
