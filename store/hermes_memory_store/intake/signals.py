"""Find signals in a folded text: who is addressed, who claims authority, what is ordered, for when, in secret or not."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store.intake.patterns import DataFile, NamedPatterns, SparedPatterns

SIGNALS = DataFile(
    Path(__file__).with_name("signals.txt"), meanings=2, words=0, unspaced=2, patterns=2, negations=0, addresses=2
)

ADDRESSES = NamedPatterns(SIGNALS, "addresses")

SIGNAL_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")

NEGATED_WORDS = 3
"""Words after a negation that it turns: `never write tokens`."""

LONGEST_WORD = 24

ADDRESS_WORDS = frozenset(("mailaddr", "webaddr", "knownaddr"))


class Signal(NamedTuple):
    word: int
    name: str


@cache
def load_signal_words() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], tuple[int, ...]]:
    """Return the signals of whole words, those of beginnings of words, and the lengths of these beginnings."""
    whole: dict[str, tuple[str, ...]] = {}
    begin: dict[str, tuple[str, ...]] = {}
    for name, *words in SIGNALS.sections["words"]:
        for word in words:
            table, key = (begin, word[:-1]) if word.endswith("*") else (whole, word)
            table[key] = (*table.get(key, ()), name)
    return whole, begin, tuple(sorted({len(key) for key in begin}))


@cache
def load_signal_patterns() -> tuple[list[str], SparedPatterns]:
    patterns = SIGNALS.pairs("patterns")
    return [*patterns], SparedPatterns([*patterns.values()], "signals")


@cache
def load_unspaced_signals() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, pattern in SIGNALS.pairs("unspaced").items())


@lru_cache(maxsize=4096)
def find_word_signals(word: str) -> tuple[str, ...]:
    whole, begin, lengths = load_signal_words()
    names = list(whole.get(word, ()))
    for length in lengths:
        if length > len(word):
            break
        names += begin.get(word[:length], ())
    return tuple(dict.fromkeys(names))


def replace_addresses(text: str) -> str:
    """Replace addresses, hosts and numbers of a folded text by their kind: the scorer knows no good or bad address."""
    text = ADDRESSES.mail.sub(" mailaddr ", text) if "@" in text else text
    if "://" in text or "." in text or "git@" in text:
        text = ADDRESSES.url.sub(lambda match: f" {to_address_kind(match[1] or match[2] or match[3] or '')} ", text)
        text = ADDRESSES.host.sub(" webaddr ", text)
    return text


def to_address_kind(host: str) -> str:
    """Return `nearaddr` for this machine and private networks, `knownaddr` for public package indexes, else `webaddr`."""
    if ADDRESSES.near.search(host):
        return "nearaddr"
    return "knownaddr" if ADDRESSES.public.search(host) else "webaddr"


def find_signals(text: str) -> tuple[list[Signal], list[str]]:
    """Return the signals of a folded text whose addresses are replaced, in order, and its words; `no-…` after a negation."""
    words = SIGNAL_WORD.findall(text)
    signals: list[Signal] = []
    negations = SIGNALS.words["negations", "negation"]
    negated_until = -1
    for place, word in enumerate(words):
        if word in negations:
            negated_until = place + NEGATED_WORDS
        for name in find_word_signals(word) if len(word) <= LONGEST_WORD else ():
            signals.append(Signal(place, f"no-{name}" if place <= negated_until else name))
        if word in ADDRESS_WORDS:
            signals.append(Signal(place, word))
    if not text.isascii():
        signals += [
            Signal(match.start(), name) for name, pattern in load_unspaced_signals() for match in pattern.finditer(text)
        ]
        signals.sort()
    return signals, words
