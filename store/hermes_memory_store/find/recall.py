"""Rank the facts and turns that answer a question, in one list, and pack them into a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hermes_memory_store.clock import Clock
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.candidates import MOST_OF_EACH, CandidateFinder, FoundCandidates, TurnSource
from hermes_memory_store.find.packing import pack_scored
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.find.scoring import ScoredCandidate, lower_by_branch, score_candidates
from hermes_memory_store.find.search import MAX_LIMIT, Search
from hermes_memory_store.find.turn_sentences import format_turn_line
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import index_terms
from hermes_memory_store.model import FactFilter, Millis, format_notation
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.projects.branch_labels import MarkedFact, MarkedFacts
from hermes_memory_store.recall.given import WORDS_ONLY, Given, GivenItem, Mark, Nearest

KINDS = ("fact", "turn")

SHORTEST_LINE = 8
"""Tokens of hardly any line fewer: a budget holds no more lines than it has of these, and so many of each kind are looked at."""

QUESTION_CHARS = 4_000
"""Of a question that are looked at."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What answers a question, before it is cut or packed."""

    found: FoundCandidates
    scored: list[ScoredCandidate]
    """Of the kinds that were asked for, best first."""
    held: Sequence[MarkedFact]
    """Facts that are held back for their branch."""

    @property
    def total(self) -> int:
        """Facts that match and may be given."""
        return self.found.total - len(self.held)

    @property
    def held_note(self) -> str | None:
        """Says how many facts are held back, and how to see them."""
        return MarkedFacts((), self.held).held_note


class Recall:
    """Find what answers a question. It never writes, opens no connection and loads no model."""

    def __init__(
        self, search: Search, turns: TurnSource, clock: Clock, project_of: Callable[[str], str | None]
    ) -> None:
        """:param project_of: returns the project that a theme is of"""
        self._finder = CandidateFinder(search, turns, project_of)
        self._clock = clock
        self.count: Callable[[str], int] = count_tokens

    def rank(
        self,
        themes: Sequence[str | None],
        question: str,
        *,
        kinds: Collection[str] = KINDS,
        scope: str | None = None,
        session: str | None = None,
        nearest: Nearest | None = None,
        ranked_by: str | None = None,
        mark: Mark | None = None,
        limit: int = MOST_OF_EACH,
        for_agents: bool = True,
    ) -> Given:
        """Return the facts and turns that answer a question, best first, without a budget: `left_out` is empty.

        Facts with every word of a look-up come before all others, in the order of the search. The kind that is not asked for
        lends its words all the same, so that the order of the other is always one: unless the question is limited by
        filters or a session, or meant literally.

        :param themes: the reader's own first, then those that it reads beside it; None alone for all there are, by words
        :param question: a line in the search language; its filters apply to facts
        :param kinds: `fact`, `turn` or both
        :param scope: limits facts to one scope
        :param session: limits turns to the session of that name
        :param nearest: finds items by meaning; None ranks by words alone
        :param ranked_by: names the model behind `nearest`
        :param mark: labels facts with their branches; without it branches do not count
        :param limit: items at most
        :param for_agents: leave out what is suspicious, and kept for the person alone
        :raises StoreError: as `Search.find`
        """
        asked = self._ask(themes, question, kinds, limit, nearest, mark, scope, session, for_agents=for_agents)
        scored = asked.scored[:limit]
        return Given(
            tuple(map(self._make_items(question), scored)),
            ranked_by=name_ranking(nearest, ranked_by),
            note=asked.found.note,
            exact=sum(one.candidate.is_exact for one in scored),
            total=asked.total,
            more=asked.found.more,
            held_note=asked.held_note,
        )

    def give(
        self,
        themes: Sequence[str],
        question: str,
        budget: int,
        *,
        kinds: Collection[str] = KINDS,
        nearest: Nearest | None = None,
        ranked_by: str | None = None,
        mark: Mark | None = None,
    ) -> Given:
        """Return what answers a question within `budget` tokens, fence included, best first.

        A turn that a given fact tells is left out, and a fact waits whose turns are given.

        :raises StoreError: as `Search.find`
        """
        asked = self._ask(themes, question, kinds, budget // SHORTEST_LINE, nearest, mark)
        fence = self.count(f"{HEAD}\n")
        chosen, left_out = pack_scored(asked.scored, budget - fence, self._make_items(question))
        return Given(
            tuple(chosen),
            tuple(left_out),
            fence + sum(item.tokens for item in chosen) if chosen else 0,
            name_ranking(nearest, ranked_by),
            asked.found.note,
            total=asked.total,
            held_note=asked.held_note,
        )

    def _ask(
        self,
        themes: Sequence[str | None],
        question: str,
        kinds: Collection[str],
        wanted: int,
        nearest: Nearest | None,
        mark: Mark | None,
        scope: str | None = None,
        session: str | None = None,
        *,
        for_agents: bool = True,
    ) -> AskedQuestion:
        """Find and score what answers a question, of the kinds that are asked for. :param wanted: items"""
        question = question[:QUESTION_CHARS]
        found = self._finder.find(
            themes,
            question,
            kinds=KINDS if session is None and is_plain_question(question) else kinds,
            scope=scope,
            session=session,
            nearest=nearest,
            limit=min(max(wanted, MOST_OF_EACH), MAX_LIMIT),
            for_agents=for_agents,
        )
        scored, held = score_found(found, mark)
        return AskedQuestion(found, [one for one in scored if one.candidate.kind in kinds], held)

    def _make_items(self, question: str) -> Callable[[ScoredCandidate], GivenItem]:
        """Return what writes the line of a candidate and counts its tokens."""
        terms, now = frozenset(index_terms(question[:QUESTION_CHARS])), self._clock()
        return lambda scored: self._to_item(scored, terms, now)

    def _to_item(self, scored: ScoredCandidate, terms: Collection[str], now: Millis) -> GivenItem:
        one = scored.candidate
        if scored.marked is not None:
            line = scored.marked.line
        elif one.fact is not None:
            line = format_notation(one.fact.type, one.fact.target, one.fact.content)
        else:
            assert one.turn is not None
            line = format_turn_line(one.turn, terms, now, self.count)
        sources = tuple(source.uid for source in one.beside) if one.fact is not None else ()
        branch = None if scored.marked is None else scored.marked.mark
        tokens = self.count(f"{MARK}{line}\n")
        return GivenItem(line, tokens, scored.score, one.fact, one.turn, scored.reasons, sources, branch)


def score_found(found: FoundCandidates, mark: Mark | None) -> tuple[list[ScoredCandidate], Sequence[MarkedFact]]:
    """Return candidates best first, and the facts that are held back for their branch."""
    scored = score_candidates([*found.facts, *found.turns])
    if mark is None:
        return scored, ()
    marked = mark([one.fact for one in found.facts if one.fact is not None])
    return lower_by_branch(scored, marked), marked.held


def is_plain_question(question: str) -> bool:
    """Check whether a line has words alone: no filter, no phrase, nothing excluded."""
    try:
        taken = parse_query(question, now=Millis(0))
    except QueryError:
        return False  # of facts that is an error, and turns know no filters
    return bool(taken.words) and not taken.phrases and not taken.excluded and taken.filter == FactFilter()


def name_ranking(nearest: Nearest | None, ranked_by: str | None) -> str:
    """Return what ranked an answer, in words."""
    return ranked_by or WORDS_ONLY if nearest is not None else WORDS_ONLY
