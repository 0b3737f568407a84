"""MEMORY_SPEC notation and the text it may hold."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_memory_store import errors, safe_text
from hermes_memory_store.model import FactType, Notation
from hermes_memory_store.notation import abbreviations, memory_spec, token_estimate

SAFE = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn", "Co", "Cf", "Zl", "Zp"))).map(
    lambda said: " ".join(said.split())
)


@pytest.mark.parametrize("symbol", [kind.value for kind in FactType])
def test_every_type_is_read_back_as_it_was_written(symbol: str) -> None:
    assert str(memory_spec.parse_notation(f"{symbol}[db.id]: UUID mndtry")) == f"{symbol}[db.id]: UUID mndtry"


def test_white_space_is_folded_and_nothing_else_is_changed() -> None:
    said = memory_spec.parse_notation("  C [ db.id ]:\tUUID\n  mndtry  ")
    assert said == Notation(FactType.CONSTRAINT, "db.id", "UUID mndtry")


@pytest.mark.parametrize(
    "line",
    ["", "D", "D[x]", "D[x] y", "X[x]: y", "D[]: y", "D[ ]: y", "D[x]:", "D[x]:   ", "D[a]b]: y", "d[x]: y",
     "D[" + "t" * 129 + "]: y"],
)  # fmt: skip
def test_what_is_no_notation_is_refused(line: str) -> None:
    with pytest.raises(errors.NotationError):
        memory_spec.parse_notation(line)


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x00", "U+0000"), ("\x1b", "U+001B"), ("\u202e", "RIGHT-TO-LEFT OVERRIDE"), ("\u2066", "LEFT-TO-RIGHT ISOLATE"),
        ("\ud800", "surrogate"), ("\u200b", "ZERO WIDTH SPACE"), ("\U000e0041", "TAG LATIN"), ("\x7f", "U+007F"),
        ("\u3164", "HANGUL FILLER"), ("\uffff", "U+FFFF"), ("\ue000", "U+E000"),
    ],
)  # fmt: skip
def test_hidden_characters_are_refused_by_name(character: str, name: str) -> None:
    with pytest.raises(errors.UnsafeText, match=name.replace("+", r"\+")):
        memory_spec.parse_notation(f"D[x]: before{character}after")


def test_ten_megabytes_are_refused_without_being_read() -> None:
    with pytest.raises(errors.ContentTooLong, match="10000006"):
        memory_spec.parse_notation("D[x]: " + "a" * 10_000_000)


@given(st.text())
@example("D[x]: \ud800")
def test_any_text_is_read_or_refused_with_an_error_of_ours(line: str) -> None:
    try:
        said = memory_spec.parse_notation(line)
    except errors.StoreError as error:
        assert error.message
    else:
        assert memory_spec.parse_notation(str(said)) == said


@given(SAFE.filter(bool), st.integers(10, 60))
def test_splitting_loses_nothing(content: str, limit: int) -> None:
    try:
        whole = memory_spec.parse_notation(f"V[notes]: {content}", limit=10**6)
    except errors.StoreError:
        return
    parts = memory_spec.split_notation(whole, limit)
    assert all(len(part.content) <= limit for part in parts)
    assert "".join(part.content for part in parts).replace(" ", "") == whole.content.replace(" ", "")


@given(st.integers(100, 128), st.integers(10, 300))
def test_every_part_of_a_split_can_be_read_again(length: int, words: int) -> None:
    try:
        parts = memory_spec.split_notation(f"V[{'t' * length}]: {'word ' * words}", 40)
    except errors.NotationError as error:
        assert "numbered parts" in error.message
    else:
        assert [memory_spec.parse_notation(str(part)) for part in parts] == parts


@pytest.mark.parametrize("newer", ["\U0001fae8", "\U0001fae9", "\U0001f6dc"])
def test_emoji_newer_than_this_python_are_kept(newer: str) -> None:
    assert memory_spec.parse_notation(f"D[x]: {newer} shaking").content == f"{newer} shaking"


def test_one_variation_selector_is_kept_and_a_row_of_them_is_refused() -> None:
    assert memory_spec.parse_notation("D[x]: \u26a0\ufe0f mind \u845b\U000e0100").content.endswith("\U000e0100")
    with pytest.raises(errors.UnsafeText, match="variation selectors"):
        memory_spec.parse_notation("D[x]: \U0001f600\U000e0138\U000e0145\U000e015c")
    assert "\U000e0138" not in safe_text.to_printable("\U0001f600\U000e0138\U000e0145")


@given(st.text())
def test_printable_text_holds_nothing_a_terminal_would_obey(said: str) -> None:
    assert not any(
        safe_text.is_unsafe_character(character) or character in safe_text.BREAKS
        for character in safe_text.to_printable(said)
    )


@pytest.mark.parametrize(("short", "long"), [("auth", "authentication"), ("cfg", "config"), ("nvr", "never")])
def test_abbreviations_work_both_ways(short: str, long: str) -> None:
    assert long in abbreviations.abbreviation_variants(short)
    assert short in abbreviations.abbreviation_variants(long)
    assert abbreviations.fold_abbreviations(f"{long} X") == abbreviations.fold_abbreviations(f"{short} x.")


def test_the_estimate_counts_an_empty_text_as_nothing() -> None:
    assert token_estimate.estimate_tokens("") == 0
