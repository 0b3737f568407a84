"""Fusion of two measures into one ranking: word relevance and semantic similarity.

The two have no common unit. Each is standardized over all candidates, so that whichever measure separates the
candidates decides, and a model that rates everything alike decides little. Every candidate gets both measures
where possible: what was found by its words is compared semantically too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

MEANING_WEIGHT = 0.8
"""What standing out by meaning is worth beside standing out by words."""

RANK_SMOOTHING = 5
"""Added to every place, where places are all there is."""

SAME_MEASURE = 1e-9
"""Measures that differ by less tell nothing apart."""


def fuse_scores(by_words: Mapping[Key, float], by_meaning: Mapping[Key, float]) -> list[tuple[Key, float]]:
    """Return each candidate with a score from 0 to 1, best first; 1 for first by both measures, 0 for last by both.

    :param by_words: candidates missing here share no word with the query
    :param by_meaning: candidates missing here have no vector yet and are treated as average
    """
    keys = list(dict.fromkeys([*by_words, *by_meaning]))
    words = [by_words.get(key, 0.0) for key in keys]
    like_most = fmean(by_meaning.values()) if by_meaning else 0.0
    meanings = [by_meaning.get(key, like_most) for key in keys]
    words, meanings = standardize_scores(words), [MEANING_WEIGHT * one for one in standardize_scores(meanings)]
    whole = max(words, default=0.0) + max(meanings, default=0.0)
    scores = [(one + other) / whole if whole else 1.0 for one, other in zip(words, meanings, strict=True)]
    return sorted(zip(keys, scores, strict=True), key=lambda one: -one[1])


def standardize_scores(measures: Sequence[float]) -> list[float]:
    """Return each measure's distance above the lowest, in standard deviations of all; zero where all are equal."""
    if len(measures) < 2:
        return [0.0] * len(measures)
    lowest, mean = min(measures), fmean(measures)
    spread = math.sqrt(fmean((one - mean) ** 2 for one in measures))
    return [(one - lowest) / spread if spread > SAME_MEASURE else 0.0 for one in measures]


def score_by_rank(ranking: Sequence[Key]) -> list[tuple[Key, float]]:
    """Score a ranking from 1 downwards, where nothing but the order is known."""
    return [(key, (RANK_SMOOTHING + 1) / (RANK_SMOOTHING + 1 + place)) for place, key in enumerate(ranking)]


def interleave_rankings(rankings: Sequence[Sequence[Key]]) -> list[Key]:
    """Interleave rankings of different things: all first entries, then all second ones."""
    return [key for row in zip_longest(*rankings) for key in row if key is not None]
