"""Find signals in a folded text: who is addressed, who claims authority, what is ordered, for when, in secret or not."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from hermes_memory_store.intake.required_words import SparedPatterns
from hermes_memory_store.intake.scoring.signal_words import SIGNAL_PATTERNS, SIGNAL_WORDS, UNSPACED_SIGNALS

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d+")

NEGATION = frozenset(
    """
    never not no don't dont cannot can't won't nobody ne pas jamais nicht nie niemals kein keine nunca non mai nao niet не
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

NEGATED_WORDS = 3
"""Words after a negation that it turns: `never write tokens`."""

URL = re.compile(
    r"(?:https?|ftp|ssh|git|s3|gs|redis|postgresql|mongodb)(?:\+\w+)?://(\[?[\w.:@-]+\]?)[^\s\"'`<>)]*"
    r"|\b(?:git@)([\w.-]+):[\w./-]+|\b(\d{1,3}(?:\.\d{1,3}){3})(?:[:/]\d+)*\b"
)
MAIL = re.compile(r"[\w.+<>-]+@[\w-]+(?:\.[\w-]+)+")
HOST = re.compile(
    r"\b(?!\w+\.(?:md|py|txt|json|toml|ya?ml|sh|js|ts|csv|zip|pdf|cfg|ini|sql|html|css|lock|env|tf|log|png|mk|rs|go)\b)"
    r"[a-z0-9-]{2,}(?:\.[a-z0-9-]{2,})*\.(?:com|net|org|io|dev|co|app|cloud|xyz|top|site|biz|shop|online|club|cc|sh|run|ai|info|eu|de"
    r"|fr|it|es|uk|ru|cn|jp|kr|nl|pl|tools|live|pro|ws|at|me|tech|store|link|space|rs|work|example|test|club|ly)\b(?:/[^\s\"'`<>)]*)?"
)

NEAR = re.compile(
    r"^(?:[\w.-]+@)?\[?(localhost|127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|0\.0\.0\.0|::1)|(internal|local|svc|lan)(:\d+)?$"
)
KNOWN = re.compile(
    r"(^|\.)(pypi\.org|npmjs\.org|npmjs\.com|crates\.io|rubygems\.org|docker\.io|proxy\.golang\.org|debian\.org|ubuntu\.com)$"
)


class Signal(NamedTuple):
    """A signal, and the word it begins at."""

    word: int
    name: str


@cache
def load_signal_words() -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]], tuple[int, ...]]:
    """Return the signals of whole words, those of beginnings of words, and the lengths of these beginnings."""
    whole: dict[str, tuple[str, ...]] = {}
    begin: dict[str, tuple[str, ...]] = {}
    for name, words in SIGNAL_WORDS.items():
        for word in words.split():
            table, key = (begin, word[:-1]) if word.endswith("*") else (whole, word)
            table[key] = (*table.get(key, ()), name)
    return whole, begin, tuple(sorted({len(key) for key in begin}))


@cache
def load_signal_patterns() -> tuple[list[str], SparedPatterns]:
    """Return the names of the signals that patterns find, and these patterns."""
    return [*SIGNAL_PATTERNS], SparedPatterns([*SIGNAL_PATTERNS.values()], "signals")


@cache
def load_unspaced_signals() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the patterns of scripts without spaces, compiled at first use."""
    return tuple((name, re.compile(pattern)) for name, pattern in UNSPACED_SIGNALS.items())


@lru_cache(maxsize=4096)
def find_word_signals(word: str) -> tuple[str, ...]:
    """Return the signals that one word carries."""
    whole, begin, lengths = load_signal_words()
    found = list(whole.get(word, ()))
    for length in lengths:
        if length > len(word):
            break
        found += begin.get(word[:length], ())
    return tuple(dict.fromkeys(found))


def replace_addresses(text: str) -> str:
    """Replace addresses, hosts and numbers of a folded text by their kind: the scorer knows no good or bad address."""
    text = MAIL.sub(" mailaddr ", text) if "@" in text else text
    if "://" in text or "." in text or "git@" in text:
        text = URL.sub(lambda match: f" {to_address_kind(match[1] or match[2] or match[3] or '')} ", text)
        text = HOST.sub(" webaddr ", text)
    return text


def to_address_kind(host: str) -> str:
    """Return `nearaddr` for this machine and private networks, `knownaddr` for public package indexes, else `webaddr`."""
    if NEAR.search(host):
        return "nearaddr"
    return "knownaddr" if KNOWN.search(host) else "webaddr"


def find_signals(text: str) -> tuple[list[Signal], list[str]]:
    """Return the signals of a folded text whose addresses are replaced, in order, and its words.

    Signals of words after a negation are named `no-…`.
    """
    words = WORD.findall(text)
    found: list[Signal] = []
    negated_until = -1
    for place, word in enumerate(words):
        if word in NEGATION:
            negated_until = place + NEGATED_WORDS
        for name in find_word_signals(word) if len(word) <= 24 else ():
            found.append(Signal(place, f"no-{name}" if place <= negated_until else name))
        if word in ADDRESS_WORDS:
            found.append(Signal(place, word))
    if not text.isascii():
        found += [Signal(match.start(), name) for name, one in load_unspaced_signals() for match in one.finditer(text)]
        found.sort()
    return found, words


ADDRESS_WORDS = frozenset(("mailaddr", "webaddr", "knownaddr"))
