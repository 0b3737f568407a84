"""Every fact that a search line finds, for a person who scrolls: first as recall ranks them, then all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, FactSearchResult

if TYPE_CHECKING:
    from hermes_memory_store.context.given import Nearest
    from hermes_memory_store.find.recall import Recall
    from hermes_memory_store.find.search import Search


@dataclass(frozen=True, slots=True)
class RankedListing:
    """Facts, best first, and what ranked them."""

    facts: list[Fact]
    total: int
    """How many match; a lower bound where `more` is true."""
    more: bool = False
    ranked_by: str = ""
    """Empty where nothing did."""
    note: str | None = None
    """That an index is damaged."""


def list_ranked_facts(
    search: Search,
    recall: Recall,
    theme: str | None,
    line: str,
    *,
    by_words: FactSearchResult | None = None,
    scope: str | None = None,
    also: tuple[str, ...] = (),
    limit: int,
    nearest: Nearest | None = None,
    ranked_by: str | None = None,
) -> RankedListing:
    """Return the facts that a search line finds, as a person sees them; nothing is recorded as read.

    :param theme: whose memory; None for all
    :param by_words: what the search finds for the same line and limit, where the caller has asked it already
    :param also: themes that are read beside it
    :param limit: 1 to 1,000 facts
    :raises StoreError: as `Search.find`
    """
    # Here, not above: a list in another order ranks nothing.
    from hermes_memory_store.context.given import WORDS_ONLY
    from hermes_memory_store.find.candidates import MOST_OF_EACH

    result = by_words
    if result is None:
        result = search.find(theme, line, scope=scope, limit=limit, record=False, also=also)
    if not search.has_words(line):
        return RankedListing(result.facts, result.total, result.more, WORDS_ONLY)
    ranked = recall.rank(
        [theme, *also],
        line,
        kinds=("fact",),
        scope=scope,
        nearest=nearest if theme is not None else None,
        ranked_by=ranked_by,
        limit=min(limit, MOST_OF_EACH),
        for_agents=False,
    )
    facts = [item.fact for item in ranked.items if item.fact is not None]
    uids = {fact.uid for fact in facts}
    exact = [fact for fact in result.facts[: result.exact] if fact.uid not in uids]
    rest = [fact for fact in result.facts[result.exact :] if fact.uid not in uids]
    facts = [*facts[: ranked.exact], *exact, *facts[ranked.exact :], *rest][:limit]
    total = max(result.total, ranked.total, len(facts))
    return RankedListing(facts, total, result.more, ranked.ranked_by, result.note or ranked.note)
