"""The scorer: a logistic regression over the features of a text, in pure Python, with weights shipped as data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path

from hermes_memory_store.intake.scoring.text_features import (
    PIECE_PLACES,
    SIGNAL_PLACES,
    WORD_PLACES,
    TextFeatures,
    to_signal_place,
)

WEIGHTS = Path(__file__).with_name("weights.bin")
"""A line of JSON, then one signed byte a place: signals, words, pieces."""


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """The weights, and what they were made with."""

    signals: memoryview
    words: memoryview
    pieces: memoryview
    scales: tuple[float, float, float]
    """What one step of a byte is worth in each table."""
    bias: float
    threshold: float
    """From which score on a fact waits."""
    quoted_threshold: float
    """The same for what a tool or a page said and the person did not."""
    training_set: str
    """SHA-256 of the texts the weights were made with."""


@cache
def load_weights() -> ScoreWeights:
    """Return the weights, read at the first score.

    :raises OSError: the package is not whole
    """
    head, _, body = WEIGHTS.read_bytes().partition(b"\n")
    made = json.loads(head)
    table = memoryview(body).cast("b")
    words, pieces = SIGNAL_PLACES, SIGNAL_PLACES + WORD_PLACES
    return ScoreWeights(
        table[:words],
        table[words:pieces],
        table[pieces : pieces + PIECE_PLACES],
        tuple(made["scales"]),
        made["bias"],
        made["threshold"],
        made["quoted_threshold"],
        made["training_set"],
    )


def compute_score(features: TextFeatures, weights: ScoreWeights) -> float:
    """Return the score of a text: log odds that it is an attack, as far as the corpora go."""
    signals, words, pieces = weights.scales
    return (
        weights.bias
        + signals * sum_places(weights.signals, features.signals)
        + words * sum_places(weights.words, features.words) / sqrt(len(features.words) or 1)
        + pieces * sum_places(weights.pieces, features.pieces) / sqrt(len(features.pieces) or 1)
    )


def sum_places(table: memoryview, places: Iterable[int]) -> int:
    """Return the sum of a table's weights at these places."""
    return sum([table[place] for place in places])


def find_strongest_signals(features: TextFeatures, weights: ScoreWeights) -> list[str]:
    """Return the signals of a text that speak for an attack, strongest first: each with its pairs."""
    names = sorted(features.names)
    worth = {
        name: weights.signals[to_signal_place(name)]
        + sum(weights.signals[place] for place in to_pair_places(name, names) & features.signals)
        for name in names
    }
    return [name for name in sorted(names, key=lambda one: -worth[one]) if worth[name] > 0]


def to_pair_places(name: str, others: Iterable[str]) -> set[int]:
    """Return the places of the pairs that begin with a signal."""
    return {to_signal_place(f"{name}{mark}{other}") for other in others for mark in ">&"}
