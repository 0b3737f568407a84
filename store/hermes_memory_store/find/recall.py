"""Rank the facts and turns that answer a question, in one list, and pack them into a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from hermes_memory_store.clock import Clock
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given import WORDS_ONLY, Given, GivenItem, Mark, Nearest
from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.candidates import (
    MOST_OF_EACH,
    CandidateFinder,
    RecallCandidate,
    RecallCandidates,
    TurnSource,
)
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.find.scoring import lower_by_branch, pack_recall, score_candidates
from hermes_memory_store.find.search import MAX_LIMIT, Search
from hermes_memory_store.find.turn_sentences import format_turn_line
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import index_terms
from hermes_memory_store.model import FactFilter, Millis, format_notation
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.projects.branch_labels import MarkedFacts

KINDS = ("fact", "turn")

SHORTEST_LINE = 8
"""Tokens of hardly any line fewer: a budget holds no more lines than it has of these, and so many of each kind are looked at."""

QUESTION_CHARS = 4_000
"""Of a question that are looked at."""


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """What answers a question, before it is cut or packed."""

    candidates: RecallCandidates
    ranked: list[RecallCandidate]
    """Of the kinds that were asked for, best first."""
    marks: MarkedFacts
    """With the facts that are held back for their branch."""

    @property
    def total(self) -> int:
        """Facts that match and may be given."""
        return self.candidates.total - len(self.marks.held)


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
        answer = self._ask(themes, question, kinds, limit, nearest, mark, scope, session, for_agents=for_agents)
        ranked = answer.ranked[:limit]
        return Given(
            tuple(map(self._make_items(question), ranked)),
            ranked_by=name_ranking(nearest, ranked_by),
            note=answer.candidates.note,
            exact=sum(candidate.is_exact for candidate in ranked),
            total=answer.total,
            more=answer.candidates.more,
            held_note=answer.marks.held_note,
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
        answer = self._ask(themes, question, kinds, budget // SHORTEST_LINE, nearest, mark)
        fence = self.count(f"{HEAD}\n")
        chosen, left_out = pack_recall(answer.ranked, budget - fence, self._make_items(question))
        return Given(
            tuple(chosen),
            tuple(left_out),
            fence + sum(item.tokens for item in chosen) if chosen else 0,
            name_ranking(nearest, ranked_by),
            answer.candidates.note,
            total=answer.total,
            held_note=answer.marks.held_note,
        )

    def _ask(
        self,
        themes: Sequence[str | None],
        question: str,
        kinds: Collection[str],
        limit: int,
        nearest: Nearest | None,
        mark: Mark | None,
        scope: str | None = None,
        session: str | None = None,
        *,
        for_agents: bool = True,
    ) -> RankedCandidates:
        """Find and score what answers a question, of the kinds that are asked for. :param limit: items"""
        question = question[:QUESTION_CHARS]
        candidates = self._finder.find(
            themes,
            question,
            kinds=KINDS if session is None and is_plain_question(question) else kinds,
            scope=scope,
            session=session,
            nearest=nearest,
            limit=min(max(limit, MOST_OF_EACH), MAX_LIMIT),
            for_agents=for_agents,
        )
        ranked, marks = score_candidates([*candidates.facts, *candidates.turns]), MarkedFacts((), ())
        if mark is not None:
            marks = mark([candidate.fact for candidate in candidates.facts if candidate.fact is not None])
            ranked = lower_by_branch(ranked, marks)
        return RankedCandidates(candidates, [candidate for candidate in ranked if candidate.kind in kinds], marks)

    def _make_items(self, question: str) -> Callable[[RecallCandidate], GivenItem]:
        """Return what writes the line of a candidate and counts its tokens."""
        terms, now = frozenset(index_terms(question[:QUESTION_CHARS])), self._clock()

        def to_item(candidate: RecallCandidate) -> GivenItem:
            fact, turn, marked = candidate.fact, candidate.turn, candidate.marked
            if fact is None:
                assert turn is not None
                line = format_turn_line(turn, terms, now, self.count)
            else:
                line = format_notation(fact.type, fact.target, fact.content) if marked is None else marked.line
            sources = tuple(source.uid for source in candidate.beside) if fact is not None else ()
            tokens = self.count(f"{MARK}{line}\n")
            mark = None if marked is None else marked.mark
            return GivenItem(line, tokens, candidate.score, fact, turn, candidate.reasons, sources, mark)

        return to_item


def is_plain_question(question: str) -> bool:
    """Check whether a line has words alone: no filter, no phrase, nothing excluded."""
    try:
        query = parse_query(question, now=Millis(0))
    except QueryError:
        return False  # of facts that is an error, and turns know no filters
    return bool(query.words) and not query.phrases and not query.excluded and query.filter == FactFilter()


def name_ranking(nearest: Nearest | None, ranked_by: str | None) -> str:
    """Return what ranked an answer, in words."""
    return ranked_by or WORDS_ONLY if nearest is not None else WORDS_ONLY
