"""Facts and turns that answer a line on the command line: as every tool ranks them, with the vectors that are there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_memory_store.model import Turn
from hermes_memory_store.recall.given import Nearest
from hermes_memory_store.recall.ranked_listing import RankedListing, list_ranked_facts
from hermes_memory_store.recall.recall import is_plain_question
from hermes_memory_store.search.vector_file import vector_file_path
from hermes_memory_store.store import Store


def search_facts(
    store: Store, theme: str | None, line: str, *, scope: str | None, limit: int, also: tuple[str, ...]
) -> RankedListing:
    """Return the facts that a search line finds, and note them as shown.

    :param theme: None for all themes, which words alone rank
    :raises StoreError: as `Search.find`
    """
    enough = store.search.find(theme, line, scope=scope, limit=limit, record=False, also=also).exact >= limit
    with find_by_vectors(store, None if enough else theme, line) as (nearest, ranked_by):
        found = list_ranked_facts(
            store.search,
            store.recall,
            theme,
            line,
            scope=scope,
            also=also,
            limit=limit,
            nearest=nearest,
            ranked_by=ranked_by,
        )
    store.search.note("search", theme, found.facts, session=None, why=line)
    return found


def search_turns(
    store: Store, theme: str, query: str, *, session: str | None, limit: int
) -> tuple[list[tuple[Turn, float | None]], str]:
    """Return the captured messages that answer a question, each with its score, and what ranked them."""
    with find_by_vectors(store, theme, query) as (nearest, ranked_by):
        found = store.recall.rank(
            [theme],
            query,
            kinds=("turn",),
            session=session,
            nearest=nearest,
            ranked_by=ranked_by,
            limit=limit,
            for_agents=False,
        )
    return [(item.turn, round(item.score, 4)) for item in found.items if item.turn is not None], found.ranked_by


@contextmanager
def find_by_vectors(store: Store, theme: str | None, question: str) -> Iterator[tuple[Nearest | None, str | None]]:
    """Yield what finds by meaning, and its name; nothing where the store has no vectors or the line is meant literally."""
    if theme is None or not vector_file_path(store.path).exists() or not is_plain_question(question):
        yield None, None
        return
    from hermes_memory_bridge.embedding.local_nearest import (
        open_local_nearest,  # here, not above: it imports asyncio, and most stores have no vectors
    )

    near = open_local_nearest(store)
    if near is None:
        yield None, None
        return
    with near:
        yield near(question), near.ranked_by
