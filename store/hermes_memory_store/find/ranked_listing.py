"""Every fact that a search line finds, for a person who scrolls: first those with every word, as recall ranks them, then others.

Each further word narrows the first part. Stop words count in a line of nothing else; the last word may be unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.model import Fact, FactSearchResult

if TYPE_CHECKING:
    from hermes_memory_store.context.given import Nearest
    from hermes_memory_store.find.query_terms import QueryTerms
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
    partial: int = 0
    """How many of them, the last, have only some of the words or what comes close to them."""

    @property
    def partial_note(self) -> str:
        """What is said above those: empty where there are none."""
        from hermes_memory_store.context.given import WORDS_ONLY

        if not self.partial:
            return ""
        none = "no fact has every word; " if self.partial == self.total else ""
        near = "" if self.ranked_by == WORDS_ONLY else ", or are near in meaning"
        return f"{none}{self.partial:,} {'matches' if self.partial == 1 else 'match'} some of the words{near}"


def find_by_words(
    search: Search,
    theme: str | None,
    line: str,
    *,
    scope: str | None = None,
    also: tuple[str, ...] = (),
    limit: int,
) -> FactSearchResult:
    """Return what the search finds; of a question all that it ranks, so that those with every word are among them."""
    from hermes_memory_store.find.search import RANKED

    terms = search.find_terms(line)
    most = limit if terms is None or not terms.question else max(limit, RANKED)
    return search.find(theme, line, scope=scope, limit=most, record=False, also=also)


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
    :param by_words: what `find_by_words` returns for the same line and limit, where the caller has asked it already
    :param also: themes that are read beside it
    :param limit: 1 to 1,000 facts
    :raises StoreError: as `Search.find`
    """
    # Here, not above: a list in another order ranks nothing.
    from hermes_memory_store.context.given import WORDS_ONLY
    from hermes_memory_store.find.candidates import MOST_OF_EACH

    result = by_words or find_by_words(search, theme, line, scope=scope, also=also, limit=limit)
    terms = search.find_terms(line)
    if terms is None:
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
    whole, some = [*facts[: ranked.exact], *exact], [*facts[ranked.exact :], *rest]
    if terms.question:
        whole, some = split_by_words(terms, some)
    total = max(result.total, ranked.total, len(whole) + len(some))
    partial = total - len(whole) if some else 0
    return RankedListing(
        [*whole, *some][:limit], total, result.more, ranked.ranked_by, result.note or ranked.note, partial
    )


def split_by_words(look: QueryTerms, facts: Iterable[Fact]) -> tuple[list[Fact], list[Fact]]:
    """Return the facts with every word of a question, of which the last may go on, and the others."""
    from hermes_memory_store.find.ranking import TermMatches, text_terms

    fits, last, begun = TermMatches(look.words), len(look.words) - 1, look.words[-1].text
    whole: list[Fact] = []
    some: list[Fact] = []
    for fact in facts:
        terms = (*text_terms(fact.target), *text_terms(fact.content))
        missing = set(range(last + 1)).difference(at for at, _ in fits.of(terms))
        has_all = not missing or (missing == {last} and any(term.startswith(begun) for term in terms))
        (whole if has_all else some).append(fact)
    return whole, some
