"""Rank the facts and turns that answer a question, in one list, and pack them into a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.conversations.turns import Turns
from hermes_memory_store.model import Fact, Turn, format_notation
from hermes_memory_store.notation.token_estimate import estimate_tokens
from hermes_memory_store.quick.fact_packing import LINE_TOKENS
from hermes_memory_store.quick.fenced_text import HEAD, MARK
from hermes_memory_store.recall.given import WORDS_ONLY, Given, GivenItem, Nearest, RankReason
from hermes_memory_store.search.search import Search

KINDS = ("fact", "turn")

MOST_CANDIDATES = 80
"""Candidates of each kind that are ranked."""


class Recall:
    """Find what answers a question. It never writes, opens no connection and loads no model."""

    def __init__(self, search: Search, turns: Turns) -> None:
        self._search = search
        self._turns = turns

    def rank(
        self,
        themes: Sequence[str],
        question: str,
        *,
        kinds: Sequence[str] = KINDS,
        scope: str | None = None,
        session: str | None = None,
        nearest: Nearest | None = None,
        limit: int = MOST_CANDIDATES,
    ) -> Given:
        """Return the facts and turns that answer a question, best first, without a budget: `left_out` is empty.

        :param themes: the reader's own first, then those that it reads beside it
        :param question: a line in the search language
        :param kinds: `fact`, `turn` or both
        :param scope: limits facts to one scope
        :param session: limits turns to the session of that name
        :param nearest: finds items by meaning; None ranks by words alone
        :raises StoreError: as `Search.find`
        """
        items: list[GivenItem] = []
        if "fact" in kinds:
            found = self._search.find(
                themes[0], question, scope=scope, limit=limit, record=False, also=tuple(themes[1:])
            )
            items += [
                fact_item(fact, score) for fact, score in zip(found.facts, found.scores or [0.0] * limit, strict=False)
            ]
        if "turn" in kinds:
            hits = self._turns.search(themes[0], question, limit=limit, session=session, for_agents=True)
            items += [turn_item(hit.turn, hit.score) for hit in hits]
        return Given(tuple(sorted(items, key=lambda one: -one.score)[:limit]), ranked_by=WORDS_ONLY)

    def give(
        self,
        themes: Sequence[str],
        question: str,
        budget: int,
        *,
        kinds: Sequence[str] = KINDS,
        nearest: Nearest | None = None,
    ) -> Given:
        """Return what answers a question within `budget` tokens, fence included. :raises StoreError: as `Search.find`"""
        ranked = self.rank(themes, question, kinds=kinds, nearest=nearest)
        spent = estimate_tokens(HEAD) + LINE_TOKENS
        items: list[GivenItem] = []
        left_out: list[GivenItem] = []
        for item in ranked.items:
            fits = spent + item.tokens <= budget
            spent += item.tokens * fits
            (items if fits else left_out).append(item)
        return Given(tuple(items), tuple(left_out), spent if items else 0, ranked.ranked_by)


def fact_item(fact: Fact, score: float) -> GivenItem:
    """Return a fact as it is given."""
    line = format_notation(fact.type, fact.target, fact.content)
    return GivenItem(line, count_line_tokens(line), score, fact=fact, reasons=(RankReason("words", score),))


def turn_item(turn: Turn, score: float) -> GivenItem:
    """Return a turn as it is given."""
    line = f"{turn.role}: {' '.join(turn.content.split())}"
    return GivenItem(line, count_line_tokens(line), score, turn=turn, reasons=(RankReason("words", score),))


def count_line_tokens(line: str) -> int:
    """Return the tokens of a line in its fence."""
    return estimate_tokens(MARK + line) + LINE_TOKENS
