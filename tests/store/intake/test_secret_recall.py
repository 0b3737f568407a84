"""Secrets in vendors' forms and in prose are masked whole, and what looks like one is left: by lists of invented texts."""

from __future__ import annotations

import pytest

from tests.tools.secret_measure import (
    is_left_alone,
    is_masked_exactly,
    is_masked_whole,
    read_references,
    read_secret_texts,
)


@pytest.mark.parametrize(
    ("name", "count", "share"),
    [("secret_forms.txt", 150, 0.94), ("secret_prose.txt", 80, 0.95)],
    ids=["forms", "prose"],
)
@pytest.mark.parametrize("held_out", [False, True], ids=["looked at", "held out"])
def test_secrets_are_masked_whole(name: str, count: int, share: float, held_out: bool) -> None:
    texts = [one for one in read_secret_texts(name) if one.held_out is held_out]
    assert len(texts) >= count
    missed = [one.line for one in texts if not is_masked_whole(one)]
    assert len(missed) <= (1 - share) * len(texts), missed


@pytest.mark.parametrize(("held_out", "count"), [(False, 400), (True, 20)], ids=["looked at", "held out"])
def test_of_a_setting_the_value_alone_is_masked(held_out: bool, count: int) -> None:
    texts = [one for one in read_secret_texts("secret_settings.txt") if one.held_out is held_out]
    assert len(texts) >= count
    wrong = [one.line for one in texts if not is_masked_exactly(one)]
    assert len(wrong) <= 0.03 * len(texts), wrong


@pytest.mark.parametrize("held_out", [False, True], ids=["looked at", "held out"])
def test_what_only_looks_like_a_secret_is_left(held_out: bool) -> None:
    texts = [one for one in read_secret_texts("secret_lookalikes.txt") if one.held_out is held_out]
    assert len(texts) >= 150
    wrong = [one.line for one in texts if not is_left_alone(one)]
    assert len(wrong) <= 0.005 * len(texts), wrong


def test_references_and_placeholders_are_left_under_any_target() -> None:
    wrong = [(one.target, one.line) for one in read_references() if not is_left_alone(one)]
    assert wrong == []
