"""What spares the content checks work: no shortcut may lose a finding, and no text may take long because of its form."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store.intake.detectors.orders import load_order_patterns
from hermes_memory_store.intake.detectors.secrets import find_secrets, may_hold_secret
from hermes_memory_store.intake.patterns import REQUIRED_WORDS, SparedPatterns, WordIndex, load_required_words
from hermes_memory_store.intake.scorer import load_signal_patterns, replace_addresses
from hermes_memory_store.intake.text_folding import find_readings
from hermes_memory_store.safe_text import load_pattern
from tests.bridge.trust.test_trust import SECRETS
from tests.content_corpus.corpus import load_attacks
from tests.examples import example_count
from tests.store.intake.suspicions import find_rule_suspicion, find_scored_suspicion
from tests.tools.read_required_words import PATTERNS, find_required_words, format_required_words

ATTACK_FACTS = [(target, content) for sample in load_attacks() for target, content in sample.facts]

FIRST, SECOND = 4_000, 16_000
"""Lengths of the texts whose times are compared: four times the length takes four times as long, or sixteen."""


def test_one_look_leaves_no_secret_out() -> None:
    for target, content, _ in SECRETS:
        assert may_hold_secret(f"{target} {content}"), content


@given(st.text(max_size=60), st.text(max_size=20))
@settings(max_examples=example_count(300), deadline=None)
def test_where_there_may_be_no_secret_none_is_found(content: str, target: str) -> None:
    if not may_hold_secret(f"{target} {content}"):
        assert find_secrets(target, content) == find_secrets("", target) == []


def find_places(patterns: SparedPatterns, text: str) -> list[int]:
    return [place for place, _ in patterns.find_matches(text)]


def find_by_trying_all(group: str, text: str) -> list[int]:
    return [place for place, pattern in enumerate(PATTERNS[group]) if load_pattern(pattern).search(text)]


def test_no_pattern_that_matches_is_spared() -> None:
    orders, signals = load_order_patterns()[1], load_signal_patterns()[1]
    matches = 0
    for _, content in ATTACK_FACTS[::3]:
        for reading in find_readings(content):
            text = replace_addresses(reading)
            assert find_places(orders, text) == find_by_trying_all("orders", text), text
            assert find_places(signals, reading) == find_by_trying_all("signals", reading), reading
            matches += len(find_by_trying_all("orders", text))
    assert matches > 100


REQUIRED = sorted({word for sets in load_required_words().values() for one in sets for words in one for word in words})


@given(st.lists(st.sampled_from([*REQUIRED, *load_signal_patterns()[0], *" .:/@_-1"]), max_size=12).map(" ".join))
@settings(max_examples=example_count(200), deadline=None)
def test_no_pattern_is_spared_in_a_text_of_required_words(text: str) -> None:
    assert find_places(load_order_patterns()[1], text) == find_by_trying_all("orders", text)
    assert find_places(load_signal_patterns()[1], text) == find_by_trying_all("signals", text)


@given(st.text(alphabet="abc", max_size=30), st.sets(st.text(alphabet="abc", min_size=1, max_size=6)))
@settings(max_examples=example_count(300), deadline=None)
def test_an_index_of_words_finds_those_that_a_text_contains(text: str, words: set[str]) -> None:
    assert WordIndex(words).find(text) == {word for word in words if word in text}


def test_the_required_words_are_those_of_the_patterns() -> None:
    assert REQUIRED_WORDS.read_text(encoding="utf-8") == format_required_words(), (
        "run python -m tests.tools.read_required_words"
    )


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\b(send|post)\b.{0,9}\bkeys?\b", (("key",), ("post", "send"))),
        (r"(a|send)", ()),
        (r"(?:send)?", ()),
        (r"(send){2}", (("send",),)),
        (r"(?!not)[ab]+", ()),
    ],
)
def test_required_words_are_read_from_the_pattern(pattern: str, words: tuple[tuple[str, ...], ...]) -> None:
    found = find_required_words(pattern)
    assert {frozenset(one) for one in found} == {frozenset(one) for one in words}


@pytest.mark.parametrize(
    "piece",
    [
        "password is ",
        "password=",
        "pw: x ",
        "a@b:",
        "https://u:p@",
        "token ",
        "das passwort lautet ",
        "aB3$",
        "key=value;",
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        lambda text: find_secrets("note", text),
        lambda text: find_rule_suspicion("note", text),
        lambda text: find_scored_suspicion("note", text),
    ],
    ids=["secrets", "rules", "score"],
)
def test_a_check_takes_time_in_proportion_to_the_text(piece: str, check: Callable[[str], object]) -> None:
    def shortest(length: int) -> float:
        text, times = (piece * length)[:length], []
        for _ in range(3):
            begun = time.process_time()
            check(text)
            times.append(time.process_time() - begun)
        return min(times)

    shortest(FIRST)
    # A hundredth of a second is no measure: what is done that fast may grow as it likes.
    assert shortest(SECOND) < max(9 * shortest(FIRST), 0.01)
