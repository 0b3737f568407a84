"""What spares the content checks work: no shortcut may lose a finding, and no text may take long because of its form."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_store import safe_text
from hermes_memory_store.intake.detectors.orders import find_sentence_orders, load_order_patterns
from hermes_memory_store.intake.detectors.score import FEWEST_SIGNALS
from hermes_memory_store.intake.detectors.secrets import (
    CONTEXT,
    OTHER_SCRIPT,
    find_secrets,
    may_hold_secret,
    to_lower_case,
    translate_words,
)
from hermes_memory_store.intake.patterns import REQUIRED_WORDS, SparedPatterns, WordIndex, load_required_words
from hermes_memory_store.intake.scorer import (
    is_general,
    load_signal_patterns,
    load_weights,
    replace_addresses,
    score_text,
)
from hermes_memory_store.intake.secret_table import load_gated_patterns
from hermes_memory_store.intake.text_folding import HEXADECIMAL, OCTETS, find_readings
from hermes_memory_store.safe_text import load_pattern
from tests.bridge.trust.test_trust import SECRETS
from tests.content_corpus.corpus import load_attacks
from tests.examples import example_count
from tests.store.intake.suspicions import find_rule_suspicion, find_scored_suspicion
from tests.tools.read_required_words import PATTERNS, find_required_words, format_required_words
from tests.tools.secret_measure import read_secret_texts

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


@given(
    st.text(alphabet="abcd", max_size=30), st.text(alphabet="abcd"), st.sets(st.text("abcd", min_size=1, max_size=6))
)
@settings(max_examples=example_count(300), deadline=None)
def test_a_part_of_a_text_has_the_words_that_are_in_it(part: str, rest: str, words: set[str]) -> None:
    index = WordIndex(words)
    index.prepare(part + rest)
    for text in (part, rest, rest + part):
        assert index.find(text) == {word for word in words if word in text}


NEAR_HIDDEN = st.text(alphabet="aK-–’“é€✓😀\u200b\u200d\ufe0f\u202e\U000e0041\U000e0101密码ключłş")


@given(NEAR_HIDDEN)
@settings(max_examples=example_count(300), deadline=None)
def test_a_text_that_is_spared_has_nothing_hidden_and_nothing_to_translate(text: str) -> None:
    if not safe_text.may_hide(text):
        assert not safe_text.find_hidden_places(text)
    if OTHER_SCRIPT.search(text) is None:
        assert translate_words(text) == (text, [*range(len(text))])


GATED = [row for rows in load_gated_patterns().values() for row in rows]

SECRET_TEXTS = [
    *(content for _, content, _ in SECRETS),
    *(one.text for name in ("secret_settings.txt", "secret_prose.txt") for one in read_secret_texts(name)),
]


@pytest.mark.parametrize("change", [str, str.upper, str.title, lambda text: text.replace("s", "ſ").replace("i", "İ")])
def test_no_pattern_of_a_secret_that_matches_is_spared(change: Callable[[str], str]) -> None:
    for text in map(change, SECRET_TEXTS):
        lower = to_lower_case(text)
        for row in GATED:
            if any(all(word not in lower for word in words) for words in row.required):
                assert re.search(row.pattern, text) is None, (row.pattern, text)
        if all(word not in lower for word in load_required_words()["cues"][0][0]):
            assert CONTEXT.compound_cue.search(text) is None, text


@given(st.text(alphabet="0aF :g", max_size=80))
@settings(max_examples=example_count(300), deadline=None)
def test_what_may_be_hexadecimal_has_its_octets(text: str) -> None:
    assert HEXADECIMAL.search(text) is None or OCTETS.search(text)


def test_a_message_has_the_same_verdict_where_its_score_is_spared() -> None:
    found = 0
    for _, content in ATTACK_FACTS:
        score, features = score_text(content, FEWEST_SIGNALS)
        if score >= load_weights().thresholds["turn"] and is_general(features):
            assert score_text(content, FEWEST_SIGNALS, is_message=True) == (score, features)
            found += 1
    assert found > 50


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
        pytest.param("send" + " " * 100_000, id="spaces"),
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        lambda text: find_secrets("note", text),
        lambda text: find_rule_suspicion("note", text),
        lambda text: find_scored_suspicion("note", text),
        find_sentence_orders,
    ],
    ids=["secrets", "rules", "score", "sentences"],
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
