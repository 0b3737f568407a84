"""The scorer: a logistic regression over the features of a text, in pure Python, with weights shipped as data.

Features are signals, pairs of signals, words and pieces of words, as places in three tables. The weights are made by
`python -m tests.tools.train_scorer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.signals import find_signals, load_signal_patterns, replace_addresses

WEIGHTS = Path(__file__).with_name("weights.bin")
"""A line of JSON, then one signed byte a place: signals, words, pieces."""

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


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    signals: memoryview
    words: memoryview
    pieces: memoryview
    scales: tuple[float, float, float]
    """What one step of a byte is worth in each table."""
    bias: float
    threshold: float
    quoted_threshold: float
    """The same for what a tool or a page said and the person did not."""
    training_set: str
    """SHA-256 of the texts the weights were made with."""


def find_features(target: str, text: str) -> TextFeatures:
    shown = replace_addresses(text[:LONGEST])
    signals, words = find_signals(shown)
    names = {signal.name for signal in signals}
    signal_names, patterns = load_signal_patterns()
    names.update(signal_names[place] for place, _ in patterns.find_matches(text[:LONGEST]))
    pairs = set(names)
    for place, first in enumerate(signals):
        for second in signals[place + 1 :]:
            if second.word - first.word > NEAR_WORDS:
                break
            if second.name != first.name:
                pairs.add(f"{first.name}>{second.name}")
    of_patterns = [name for name in names if name in signal_names]
    pairs.update(f"{name}&{other}" for name in of_patterns for other in names if name != other)
    parts = [f"[{part}" for part in TARGET_PART.findall(target.casefold())]
    pieces = frozenset().union(*map(to_word_pieces, words))
    words = ["0" if word.isdigit() else word for word in words]
    return TextFeatures(
        frozenset(map(to_signal_place, pairs)),
        frozenset(crc32(text.encode()) % WORD_PLACES for text in {*words, *map(" ".join, pairwise(words)), *parts}),
        pieces,
        frozenset(names),
    )


@lru_cache(maxsize=8192)
def to_signal_place(name: str) -> int:
    return crc32(name.encode()) % SIGNAL_PLACES


@lru_cache(maxsize=4096)
def to_word_pieces(word: str) -> frozenset[int]:
    """Return the places of the pieces of a word, which know its family and its misspellings."""
    data = f"<{word[:24]}>".encode()
    return frozenset(
        crc32(data[start : start + length]) % PIECE_PLACES
        for length in PIECE_LENGTHS
        for start in range(len(data) - length + 1)
    )


@cache
def load_weights() -> ScoreWeights:
    """Return the weights, read at the first score. :raises OSError: the package is not whole"""
    head, _, body = WEIGHTS.read_bytes().partition(b"\n")
    header = json.loads(head)
    table = memoryview(body).cast("b")
    words, pieces = SIGNAL_PLACES, SIGNAL_PLACES + WORD_PLACES
    return ScoreWeights(
        table[:words],
        table[words:pieces],
        table[pieces : pieces + PIECE_PLACES],
        tuple(header["scales"]),
        header["bias"],
        header["threshold"],
        header["quoted_threshold"],
        header["training_set"],
    )


def compute_score(features: TextFeatures, weights: ScoreWeights) -> float:
    signals, words, pieces = weights.scales
    return (
        weights.bias
        + signals * sum_places(weights.signals, features.signals)
        + words * sum_places(weights.words, features.words) / sqrt(len(features.words) or 1)
        + pieces * sum_places(weights.pieces, features.pieces) / sqrt(len(features.pieces) or 1)
    )


def sum_places(table: memoryview, places: Iterable[int]) -> int:
    return sum([table[place] for place in places])


def find_strongest_signals(features: TextFeatures, weights: ScoreWeights) -> list[str]:
    """Return the signals of a text that speak for an attack, strongest first: each with its pairs."""
    names = sorted(features.names)
    worth = {}
    for name in names:
        pairs = {to_signal_place(f"{name}{mark}{other}") for other in names for mark in ">&"} & features.signals
        worth[name] = weights.signals[to_signal_place(name)] + sum_places(weights.signals, pairs)
    return [name for name in sorted(names, key=lambda name: -worth[name]) if worth[name] > 0]
