"""Closing signals: a table of sentences in four languages, half of them traps."""

from __future__ import annotations

import pytest

from hermes_memory_store.signals import closes, mentions
from tests.store.closing_signals import CLOSING, TRAPS, sentences

EXPECTED = [(*pair, True) for pair in sentences(CLOSING)] + [(*pair, False) for pair in sentences(TRAPS)]


def right(language: str | None = None) -> float:
    told = [closes(said) is expected for spoken, said, expected in EXPECTED if language in (None, spoken)]
    return sum(told) / len(told)


def test_the_table_is_large_and_half_of_it_are_traps() -> None:
    assert len(EXPECTED) >= 240
    assert 0.45 <= sum(not expected for *_, expected in EXPECTED) / len(EXPECTED) <= 0.55


def test_at_least_95_percent_of_the_table_are_told_apart() -> None:
    assert right() >= 0.95


@pytest.mark.parametrize("language", list(CLOSING))
def test_no_language_is_left_behind(language: str) -> None:
    assert right(language) >= 0.9


@pytest.mark.parametrize("message", ["", " ", "?", "x" * 1_000_000, "`done`", 'he said "merged"', "\x00\ud800 done?"])
def test_noise_closes_nothing(message: str) -> None:
    assert not closes(message)


def test_a_closing_sentence_counts_among_others() -> None:
    assert closes("I looked at the login page again. It's merged now. What about the billing?")


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
    assert mentions(message, label) is expected
