"""Features of a text for the scorer: signals, pairs of signals, words and pieces of words, as places in three tables."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from hermes_memory_store.intake.scoring.signal_words import SIGNAL_PATTERNS
from hermes_memory_store.intake.scoring.signals import find_signals, load_signal_patterns, replace_addresses

SIGNAL_PLACES = 1 << 13
WORD_PLACES = 1 << 15
PIECE_PLACES = 1 << 15
"""Sizes of the tables: few enough for 75 KB of weights, many enough that the words of the corpora seldom meet."""

NEAR_WORDS = 10
"""Words within which one signal and another after it make a pair: about a sentence."""

LONGEST = 1_200
"""Characters that are scored: thrice the longest fact, so that joined facts of a session fit."""

PIECE_LENGTHS = (3, 4, 5)

TARGET_PART = re.compile(r"[^\W\d_]{2,}")


class TextFeatures(NamedTuple):
    """Places in the tables of signals, words and pieces, each once; and the names of the signals."""

    signals: frozenset[int]
    words: frozenset[int]
    pieces: frozenset[int]
    names: frozenset[str]


def find_features(target: str, text: str) -> TextFeatures:
    """Return the features of a folded text under a target."""
    shown = replace_addresses(text[:LONGEST])
    signals, words = find_signals(shown)
    names = {signal.name for signal in signals}
    signal_names, patterns = load_signal_patterns()
    names.update(signal_names[number] for number in patterns.find_matching(text[:LONGEST]))
    pairs = set(names)
    for place, first in enumerate(signals):
        for second in signals[place + 1 :]:
            if second.word - first.word > NEAR_WORDS:
                break
            if second.name != first.name:
                pairs.add(f"{first.name}>{second.name}")
    of_patterns = [name for name in names if name in SIGNAL_PATTERNS]
    pairs.update(f"{name}&{other}" for name in of_patterns for other in names if name != other)
    return TextFeatures(
        frozenset(to_signal_place(name) for name in pairs),
        frozenset(to_word_places(target, words)),
        frozenset(to_piece_places(words)),
        frozenset(names),
    )


@lru_cache(maxsize=8192)
def to_signal_place(name: str) -> int:
    """Return the place of a signal or pair."""
    return crc32(name.encode()) % SIGNAL_PLACES


def to_word_places(target: str, words: list[str]) -> set[int]:
    """Return the places of words, of pairs of words, and of the parts of the target."""
    said = ["0" if word.isdigit() else word for word in words]
    found = {crc32(word.encode()) % WORD_PLACES for word in said}
    found.update(crc32(f"{one} {two}".encode()) % WORD_PLACES for one, two in pairwise(said))
    found.update(crc32(f"[{part}".encode()) % WORD_PLACES for part in TARGET_PART.findall(target.casefold()))
    return found


def to_piece_places(words: list[str]) -> set[int]:
    """Return the places of the pieces of words, which know a word's family and its misspellings."""
    found: set[int] = set()
    for word in words:
        found |= to_word_pieces(word)
    return found


@lru_cache(maxsize=4096)
def to_word_pieces(word: str) -> frozenset[int]:
    """Return the places of the pieces of one word."""
    data = f"<{word[:24]}>".encode()
    return frozenset(
        crc32(data[start : start + length]) % PIECE_PLACES
        for length in PIECE_LENGTHS
        for start in range(len(data) - length + 1)
    )
