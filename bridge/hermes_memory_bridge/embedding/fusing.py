"""Two rankings made into one: reciprocal ranks, the one by words counting more.

What is found both ways comes first. Ranks are compared and never scores, since a similarity and a weight of words measure
different things.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

SMOOTHED = 5
"""Added to every place. The 60 of the literature is for lists of thousands: there the first and the tenth are worth the same."""

BY_MEANING = 0.6
"""What a place by meaning is worth beside one by words: on questions about conversations words alone find more."""


def fused(by_words: Sequence[Key], by_meaning: Sequence[Key]) -> list[tuple[Key, float]]:
    """Each with a score from 0 to 1, best first; 1 for what is first in every ranking there is."""
    scores: dict[Key, float] = {}
    for ranking, weight in ((by_words, 1.0), (by_meaning, BY_MEANING)):
        for place, key in enumerate(ranking):
            scores[key] = scores.get(key, 0.0) + weight * (SMOOTHED + 1) / (SMOOTHED + 1 + place)
    whole = 1.0 + BY_MEANING if by_meaning else 1.0
    return sorted(((key, score / whole) for key, score in scores.items()), key=lambda one: -one[1])


def in_turn(rankings: Sequence[Sequence[Key]]) -> list[Key]:
    """Several rankings of different things as one: all the firsts, then all the seconds."""
    return [key for row in zip_longest(*rankings) for key in row if key is not None]
