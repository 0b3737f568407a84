"""Team fallback: facts and turns of themes that only the team database holds, not this machine's store.

It is queried for nothing that this store holds itself: a synced theme is complete here. Recall gets the results as
in-memory stores, and whether there was an answer, in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hermes_memory_bridge.embedding.query_vector import QueryVector
from hermes_memory_store.store import Store

Kind = Literal["fact", "turn"]

ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class RemoteMatches:
    """Matching facts or turns of one theme as a store, and which of them are semantically near."""

    store: Store
    query_vector: QueryVector | None


@dataclass(frozen=True, slots=True)
class TeamFallback:
    """The team database's part of a result."""

    answer_state: str
    """Whether it answered, as a phrase for the result."""
    themes: Mapping[str, RemoteMatches] = field(default_factory=dict)
    themes_requested: tuple[str, ...] = ()
    """Requested themes, whether it answered or not."""

    def close(self) -> None:
        for theme in self.themes.values():
            theme.store.db.close()

    @property
    def has_answered(self) -> bool:
        return self.answer_state == ANSWERED
