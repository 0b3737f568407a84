"""The vector of a query as the recall tools see it: its neighbours, and which model they come from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hermes_memory_store.errors import StoreError
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store

WORDS_ONLY = "words only"
"""What an answer says that no model had a part in."""

Finder = Callable[[Store, str, str, int, Collection[int]], list[tuple[int, float]]]
"""(store, `fact` or `turn`, theme, limit, ids) → (id, cosine similarity) of the nearest, best first, none below the floor; and
of these ids, however far they are."""


@dataclass(frozen=True, slots=True)
class QueryVector:
    model: str
    nearest: Finder
    vector: Sequence[float] = ()
    """Of length one; empty where only this store may be asked."""
    floor: float = 0.0
    """Least similarity that counts."""

    @property
    def ranked_by(self) -> str:
        return f"words and {self.model}"


def find_embeddable_words(query: str) -> str | None:
    """Return the words of a search line to embed.

    None when it has no free words, contains a phrase or excludes a word: such a line is meant literally.
    """
    try:
        taken = parse_query(query, now=Millis(0))
    except StoreError:
        return None
    if taken.phrases or taken.excluded or not taken.words:
        return None
    return " ".join(taken.words)
