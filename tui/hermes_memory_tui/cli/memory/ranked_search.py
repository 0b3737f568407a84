"""Facts and turns that answer a line on the command line: as every tool ranks them, with the vectors that are there."""

from __future__ import annotations

from hermes_memory_store.find.ranked_listing import RankedListing, find_by_words, list_ranked_facts
from hermes_memory_store.find.recall import is_plain_question
from hermes_memory_store.model import Turn
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.local_meaning import find_by_meaning


def search_facts(
    store: Store, theme: str | None, line: str, *, scope: str | None, limit: int, also: tuple[str, ...]
) -> RankedListing:
    """Return the facts that a search line finds, and note them as shown.

    :param theme: None for all themes, which words alone rank
    :raises StoreError: as `Search.find`
    """
    by_words = find_by_words(store.search, theme, line, scope=scope, also=also, limit=limit)
    suffice = theme is None or by_words.exact >= limit or not is_plain_question(line)
    with find_by_meaning(store, by_words=suffice) as make_nearest:
        facts = list_ranked_facts(
            store.search,
            store.recall,
            theme,
            line,
            by_words=by_words,
            scope=scope,
            also=also,
            limit=limit,
            nearest=None if make_nearest is None else make_nearest(line),
            ranked_by=None if make_nearest is None else make_nearest.ranked_by,
        )
    store.search.note("search", theme, facts.facts, session=None, why=line)
    return facts


def search_turns(
    store: Store, theme: str, query: str, *, session: str | None, limit: int
) -> tuple[list[tuple[Turn, float | None]], str]:
    """Return the captured messages that answer a question, each with its score, and what ranked them."""
    with find_by_meaning(store, by_words=not is_plain_question(query)) as make_nearest:
        matches = store.recall.rank(
            [theme],
            query,
            kinds=("turn",),
            session=session,
            nearest=None if make_nearest is None else make_nearest(query),
            ranked_by=None if make_nearest is None else make_nearest.ranked_by,
            limit=limit,
            for_agents=False,
        )
    return [(item.turn, round(item.score, 4)) for item in matches.items if item.turn is not None], matches.ranked_by
