"""Closing signals: a table of sentences in four languages, half of them traps."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.language.closing_signals import has_scope_mention, is_closing_message
from tests.store.closing_signals import CLOSING, MORE_CLOSING, MORE_TRAPS, TRAPS, sentences

EXPECTED = [
    (*pair, expected)
    for table, expected in ((CLOSING, True), (MORE_CLOSING, True), (TRAPS, False), (MORE_TRAPS, False))
    for pair in sentences(table)
]


def right(language: str | None = None) -> float:
    told = [is_closing_message(said) is expected for spoken, said, expected in EXPECTED if language in (None, spoken)]
    return sum(told) / len(told)


def test_the_table_is_large_and_half_of_it_are_traps() -> None:
    assert len(EXPECTED) >= 600
    assert 0.45 <= sum(not expected for *_, expected in EXPECTED) / len(EXPECTED) <= 0.55


def test_at_least_95_percent_of_the_table_are_told_apart() -> None:
    assert right() >= 0.95


@pytest.mark.parametrize("language", list(CLOSING))
def test_no_language_is_left_behind(language: str) -> None:
    assert right(language) >= 0.9


@pytest.mark.parametrize("message", ["", " ", "?", "x" * 1_000_000, "`done`", 'he said "merged"', "\x00\ud800 done?"])
def test_noise_closes_nothing(message: str) -> None:
    assert not is_closing_message(message)


def test_a_closing_sentence_counts_among_others() -> None:
    assert is_closing_message("I looked at the login page again. It's merged now. What about the billing?")


def test_letters_and_their_accents_count_however_they_were_typed() -> None:
    assert is_closing_message(unicodedata.normalize("NFD", "le problème est réglé"))
    assert is_closing_message("WIR KÖNNEN DAS SCHLIESSEN")
    assert is_closing_message("wir können das schließen")
    assert has_scope_mention(unicodedata.normalize("NFD", "la sécurité avance"), "sécurité")


def test_what_went_without_problems_is_done() -> None:
    assert is_closing_message("the migration is finished without any errors")
    assert not is_closing_message("the migration is not finished without errors")


@given(st.text(), st.text())
def test_any_text_is_judged(message: str, label: str) -> None:
    assert is_closing_message(message) in (True, False)
    assert has_scope_mention(message, label) in (True, False)


def test_a_scope_named_behind_a_very_long_log_is_not_looked_for() -> None:
    assert has_scope_mention("x " * 5_000 + "auth", "auth")
    assert not has_scope_mention("x " * 5_000_000 + "auth", "auth")


@pytest.mark.parametrize(
    ("message", "label", "expected"),
    [
        ("the auth refactor is next", "auth-refactor", True),
        ("see auth_refactor", "auth-refactor", True),
        ("Auth-Refactor!", "auth-refactor", True),
        ("author refactor", "auth-refactor", False),
        ("authrefactored", "auth-refactor", False),
        ("anything", "-", False),
    ],
)
def test_a_scope_is_mentioned_by_the_words_of_its_label(message: str, label: str, expected: bool) -> None:
    assert has_scope_mention(message, label) is expected
