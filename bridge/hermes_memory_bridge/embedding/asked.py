"""A question that has a vector, as the recall tools see it: what is near it, and by whose judgement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Millis
from hermes_memory_store.query import parse_query
from hermes_memory_store.store import Store

WORDS_ONLY = "words only"
"""What an answer says that no model had a part in."""

Finder = Callable[[Store, str, str, int, Collection[int]], list[tuple[int, float]]]
"""(store, `fact` or `turn`, theme, limit, ids) → (id, cosine similarity) of the nearest, best first, none below the floor; and
of these ids, however far they are."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose meaning is known."""

    model: str
    nearest: Finder
    vector: Sequence[float] = ()
    """Of length one; empty where only this store may be asked."""
    floor: float = 0.0
    """Least similarity that counts."""

    @property
    def ranked_by(self) -> str:
        """Which ways found an answer, in words."""
        return f"words and {self.model}"


def meant(query: str) -> str | None:
    """The words of a search line whose meaning can be looked up.

    None when it holds no free words, or asks for a phrase or the absence of a word: then exactly that is meant.
    """
    try:
        taken = parse_query(query, now=Millis(0))
    except StoreError:
        return None
    if taken.phrases or taken.excluded or not taken.words:
        return None
    return " ".join(taken.words)
