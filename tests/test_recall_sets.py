"""The sets that judge recall are well-formed: whatever is measured with them rests on that."""

from __future__ import annotations

from collections import Counter

import pytest

from hermes_memory_store.notation.memory_spec import parse_notation
from tests.benchmarks.session_start import load_start_set
from tests.recall_sets import CATEGORIES, SETS, Half, RecallSet, load_developer_set, load_language_set, load_work_sets

DEVELOPERS = load_developer_set()


def refuse_repetitions(wanted: RecallSet) -> None:
    """Check that nothing stands twice and every answer is a fact of the set."""
    lines = Counter((fact.scope, fact.line) for fact in wanted.facts)
    assert [line for line, count in lines.items() if count > 1] == []
    texts = Counter(question.text.casefold() for question in wanted.questions)
    assert [text for text, count in texts.items() if count > 1] == []
    assert {question.answer for question in wanted.questions} <= set(wanted.facts)


def test_no_fact_or_question_of_developers_stands_twice() -> None:
    refuse_repetitions(DEVELOPERS)
    assert len(DEVELOPERS.facts) >= 400
    assert len(DEVELOPERS.questions) >= 160


def test_no_developer_fact_supersedes_another() -> None:
    notations = [(fact.scope, parse_notation(fact.line)) for fact in DEVELOPERS.facts]
    keys = Counter((scope, said.type, said.target) for scope, said in notations)
    assert [key for key, count in keys.items() if count > 1] == []


def test_both_halves_of_developers_have_each_category_in_each_language() -> None:
    counts = Counter((one.language, one.category, one.half) for one in DEVELOPERS.questions)
    for language in {one.language for one in DEVELOPERS.questions}:
        for category in CATEGORIES:
            choosing, kept = (counts[language, category, half] for half in (Half.CHOOSING, Half.KEPT))
            assert 0 <= choosing - kept <= 1, (language, category, choosing, kept)
            assert kept >= 2, (language, category)


@pytest.mark.parametrize(
    ("language", "facts", "choosing", "kept"),
    [
        ("chinese", 250, 50, 50),
        ("japanese", 250, 50, 50),
        ("korean", 250, 50, 50),
        ("russian", 60, 18, 17),
        ("arabic", 60, 18, 17),
    ],
)
def test_each_language_has_its_questions_in_both_halves(language: str, facts: int, choosing: int, kept: int) -> None:
    wanted = load_language_set(language)
    refuse_repetitions(wanted)
    assert len(wanted.facts) >= facts
    assert [len(wanted.half(half)) for half in Half] == [choosing, kept]


@pytest.mark.parametrize(
    ("name", "halves"),
    [
        ("shop_starts.txt", {Half.CHOOSING: 3, Half.KEPT: 3}),
        ("clinic_starts.txt", {Half.CHOOSING: 3, Half.KEPT: 3}),
        ("game_starts.txt", {Half.CHOOSING: 6}),
        ("newsroom_starts.txt", {Half.CHOOSING: 6}),
        ("charging_starts.txt", {Half.KEPT: 6}),
    ],
)
def test_every_grade_of_a_start_set_is_one_of_its_sessions(name: str, halves: dict[str, int]) -> None:
    graded = load_start_set(SETS / name)
    letters = {start.letter for start in graded.starts}
    assert {letter for fact in graded.facts for letter in fact.grades} == letters
    assert Counter(start.half for start in graded.starts) == halves
    assert {start.scope for start in graded.starts} <= {fact.scope for fact in graded.facts}
    keys = Counter(
        (fact.scope, said.type, said.target) for fact in graded.facts for said in [parse_notation(fact.notation)]
    )
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_start_set_has_four_hundred_facts_and_enough_that_must_be_known() -> None:
    graded = load_start_set(SETS / "clinic_starts.txt")
    assert len(graded.facts) >= 400
    assert len({fact.scope for fact in graded.facts if fact.scope}) >= 11
    for start in graded.starts:
        assert sum(fact.grades.get(start.letter) == 3 for fact in graded.facts) >= 6, start


def test_half_of_the_prompts_and_questions_of_each_kind_of_work_want_nothing() -> None:
    sets = load_work_sets()
    for one in sets:
        assert len(one.facts) >= 25, one.kind
        targets = [parse_notation(fact).target for fact in one.facts]
        assert len(set(targets)) == len(targets), one.kind
        known = {*targets, *(f"={number}" for number, _ in enumerate(one.messages, 1))}
        for half in Half:
            prompts = [bool(text.wanted) for text in one.prompts if text.half is half]
            assert Counter(prompts) == {True: 5, False: 5}, one.kind
            asked = Counter(bool(text.wanted) for text in one.questions if text.half is half)
            assert asked[True] == asked[False], one.kind
        assert {name for text in one.prompts + one.questions for name in text.wanted} <= known, one.kind
    questions = Counter(text.half for one in sets for text in one.questions)
    assert (len(sets), questions) == (6, {Half.CHOOSING: 80, Half.KEPT: 80})
