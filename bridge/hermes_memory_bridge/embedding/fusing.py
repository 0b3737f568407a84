"""Two measures made into one ranking: how well words fit, and how near the meaning is.

A weight of words and a similarity have no common unit. Each is measured by how far it stands out among all that was found, so
that whichever tells the candidates apart decides, and a model that calls everything alike decides little. Every candidate has
both where it can: what was found by its words is compared by meaning too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

BY_MEANING = 0.8
"""What standing out by meaning is worth beside standing out by words."""

SMOOTHED = 5
"""Added to every place, where places are all there is."""

SAME = 1e-9
"""Measures that differ by less tell nothing apart."""


def fused(by_words: Mapping[Key, float], by_meaning: Mapping[Key, float]) -> list[tuple[Key, float]]:
    """Each with a score from 0 to 1, best first; 1 for what is first by words and by meaning, 0 for what is last by both.

    :param by_words: what is not among these shares no word with the question
    :param by_meaning: what is not among these has no vector yet: it is taken to be like most
    """
    keys = list(dict.fromkeys([*by_words, *by_meaning]))
    words = [by_words.get(key, 0.0) for key in keys]
    like_most = fmean(by_meaning.values()) if by_meaning else 0.0
    meanings = [by_meaning.get(key, like_most) for key in keys]
    words, meanings = raised(words), [BY_MEANING * one for one in raised(meanings)]
    whole = max(words, default=0.0) + max(meanings, default=0.0)
    scores = [(one + other) / whole if whole else 1.0 for one, other in zip(words, meanings, strict=True)]
    return sorted(zip(keys, scores, strict=True), key=lambda one: -one[1])


def raised(measures: Sequence[float]) -> list[float]:
    """How far each stands above the lowest, in standard deviations of them all; nothing where all are the same."""
    if len(measures) < 2:
        return [0.0] * len(measures)
    lowest, mean = min(measures), fmean(measures)
    spread = math.sqrt(fmean((one - mean) ** 2 for one in measures))
    return [(one - lowest) / spread if spread > SAME else 0.0 for one in measures]


def by_place(ranking: Sequence[Key]) -> list[tuple[Key, float]]:
    """A ranking with a score from 1 downwards, where nothing else is known."""
    return [(key, (SMOOTHED + 1) / (SMOOTHED + 1 + place)) for place, key in enumerate(ranking)]


def in_turn(rankings: Sequence[Sequence[Key]]) -> list[Key]:
    """Several rankings of different things as one: all the firsts, then all the seconds."""
    return [key for row in zip_longest(*rankings) for key in row if key is not None]
