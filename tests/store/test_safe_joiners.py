"""Joiners stay where writing needs them, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store import safe_text
from hermes_memory_store.errors import UnsafeText
from hermes_memory_store.intake.detectors.secrets import find_secrets
from hermes_memory_store.intake.intake import to_listed_name

WRITTEN = [
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f9d1\U0001f3fd\u200d\u2695\ufe0f",
]

STRAY = ["pass\u200dword", "\u200cignore", "a \u200c b", "\U0001f468\u200d and more"]

TOKEN = "ghp_" + "016C7f8a9B2c3D4e5F6g7H8i9J0k1L2m3N4o"


@pytest.mark.parametrize("text", WRITTEN)
def test_scripts_and_emoji_keep_their_joiners(text: str) -> None:
    assert safe_text.validate_text(text, "it") == text
    assert not safe_text.has_hidden_characters(text)


@pytest.mark.parametrize("text", STRAY)
def test_a_joiner_that_joins_nothing_is_refused(text: str) -> None:
    with pytest.raises(UnsafeText, match="joins nothing"):
        safe_text.validate_text(text, "it")
    assert safe_text.has_hidden_characters(text)


def test_a_joiner_is_shown_where_it_joins_nothing() -> None:
    assert [safe_text.to_printable(text) for text in WRITTEN] == WRITTEN
    assert safe_text.to_printable("\u200d\u200d\u65e5") == "\\u{200d}\\u{200d}\u65e5"
    for text in STRAY:
        assert not safe_text.has_hidden_characters(safe_text.to_printable(text))


@given(st.text())
def test_what_is_left_of_any_text_may_be_stored(text: str) -> None:
    safe_text.validate_text(safe_text.remove_unsafe_characters(text), "it")


@given(st.text())
def test_a_listed_name_is_clean_and_stays_as_it_is(text: str) -> None:
    listed = to_listed_name(text)
    assert to_listed_name(listed) == listed
    assert safe_text.to_printable(listed) == listed


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("\u200b\u2060\u202e\u00ad"))
def test_a_secret_is_found_behind_what_hides_in_it(place: int, hidden: str) -> None:
    text = f"use {TOKEN[:place]}{hidden}{TOKEN[place:]} here"
    (span,) = find_secrets("", text)
    assert not set(TOKEN[8:]) & set(text[: span.start].removeprefix("use ") + text[span.end :].removesuffix(" here"))
