"""Closing signals: tables of sentences in ten languages, half of them traps."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.language.closing_signals import has_scope_mention, is_closing_message

SETS = Path(__file__).with_name("closing_sentences")


def load_sentences(path: Path) -> list[tuple[str, str, bool]]:
    """Return the language of each sentence of a file, the sentence, and whether it closes."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    split = [line.partition(": ") for line in lines]
    return [
        (head.split()[-2], sentence.strip(), head.endswith("+"))
        for head, _, text in split
        for sentence in text.split("|")
    ]


EXPECTED = load_sentences(SETS / "first.txt")


def right(language: str | None = None) -> float:
    told = [is_closing_message(said) is expected for spoken, said, expected in EXPECTED if language in (None, spoken)]
    return sum(told) / len(told)


def test_the_table_is_large_and_half_of_it_are_traps() -> None:
    assert len(EXPECTED) >= 600
    assert 0.45 <= sum(not expected for *_, expected in EXPECTED) / len(EXPECTED) <= 0.55


def test_at_least_98_percent_of_the_table_are_told_apart() -> None:
    assert right() >= 0.98


@pytest.mark.parametrize("path", sorted(SETS.glob("*.txt")), ids=lambda path: path.stem)
def test_what_closes_and_nothing_else_is_told_in_every_set_of_sentences(path: Path) -> None:
    known = load_sentences(path)
    closing = [said for _, said, closes in known if closes]
    told = [said for _, said, _ in known if is_closing_message(said)]
    right = set(closing) & set(told)
    assert len(known) >= 100
    assert len(right) / len(told) >= 0.95
    assert len(right) / len(closing) >= 0.95


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The parser is done. The tests are green.", True),
        ("Staging is fine. Prod still breaks.", False),
        ("Done! Oh wait, the tests fail again.", False),
        ("Prod was down. Fixed now.", True),
        ("It broke again. OK, fixed and merged.", True),
        ("It's merged now. Thanks!", True),
        ("> it is merged\nis that so", False),
        ("- [ ] merged\n- [ ] deployed", False),
    ],
)
def test_the_last_word_of_a_message_counts(message: str, expected: bool) -> None:
    assert is_closing_message(message) is expected


@given(st.sampled_from([said for *_, said, closes in EXPECTED if closes]))
def test_a_question_and_a_condition_close_nothing(said: str) -> None:
    assert not is_closing_message(said.rstrip("!.") + "?")
    assert not is_closing_message(f"if {said}")


@pytest.mark.parametrize("language", ["en", "fr", "de", "es"])
def test_no_language_is_left_behind(language: str) -> None:
    assert right(language) >= 0.9


TEN_LANGUAGES = load_sentences(SETS / "ten_languages.txt")


@pytest.mark.parametrize("language", sorted({language for language, *_ in TEN_LANGUAGES}))
def test_each_of_ten_languages_closes_and_keeps_open(language: str) -> None:
    closing = [is_closing_message(text) for spoken, text, closes in TEN_LANGUAGES if spoken == language and closes]
    open_ones = [
        is_closing_message(text) for spoken, text, closes in TEN_LANGUAGES if spoken == language and not closes
    ]
    assert sum(closing) >= 0.85 * len(closing)
    assert sum(closing) >= 0.95 * (sum(closing) + sum(open_ones))


@pytest.mark.parametrize(
    "message",
    [
        "Waiting for the deployment to production. No further tasks.",
        "小王说：「已经完成了」",
        "「完了しました」と表示されます",
        "Готово. Но тесты снова падают.",
        "Feito. O build quebrou de novo.",
    ],
)
def test_what_waits_quotes_or_breaks_again_closes_nothing(message: str) -> None:
    assert not is_closing_message(message)


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
