"""Rank the facts and turns that answer a question, in one list, and pack them into a budget of tokens.

One measure ranks both: what each says itself, and what stands beside it says.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import fmean

from hermes_memory_store.clock import Clock, format_iso_time
from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.given import WORDS_ONLY, Given, GivenItem, Mark, Nearest, RankReason
from hermes_memory_store.context.packing import Budget
from hermes_memory_store.database.db import Db
from hermes_memory_store.errors import QueryError
from hermes_memory_store.find.candidates import (
    MOST_OF_EACH,
    CandidateFinder,
    RecallQuestion,
    TurnSource,
)
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.find.question_gate import asks_nothing, is_touched
from hermes_memory_store.find.ranking import Candidate, FactRanking
from hermes_memory_store.find.search import MAX_LIMIT, Search
from hermes_memory_store.find.touched_facts import TouchedFact
from hermes_memory_store.find.turn_sentences import (
    FEW_TOKENS,
    find_best_sentences,
    format_day,
    format_turn_line,
    split_speaker,
)
from hermes_memory_store.hosts.host_data import find_client_host
from hermes_memory_store.hosts.host_sessions import HostSessions
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.language.asked_times import is_asking_when
from hermes_memory_store.language.tokenizer import index_terms
from hermes_memory_store.model import FactFilter, Millis, Turn, format_notation
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.projects.branch_labels import LOWERED_SCORE, MarkedFact, MarkedFacts
from hermes_memory_store.uids import format_uid

Choice = tuple[list[Candidate], list[Candidate]]  # what is given, and what is left out

KINDS = ("fact", "turn")
SHORTEST_LINE = 8
"""Tokens of hardly any line fewer: a budget holds no more lines than it has of these, and so many of each kind are looked at."""

QUESTION_CHARS = 4_000
"""Of a question that are looked at."""

BORROWED = 0.4
"""What the best turn that a fact was written from adds, of that turn's words; and the best fact written from a turn."""

MEANING, BORROWED_MEANING = 0.6, 0.6
"""What standing out by meaning is worth beside standing out by words, and what a fact's turn's meaning is beside its own."""

SAME_MEASURE = 1e-9
"""Measures that differ by less tell nothing apart."""

TURN = 0.8
"""What a turn is worth beside a fact of the same measure, which says as much in fewer tokens."""

ALREADY_TOLD = 0.5
"""What a fact is still worth whose turns are given, and a turn of which a fact is given: neither says all of the other."""

LIKE = 0.4
"""Similarity from which on what shares no word with a question touches it."""

PARTS = ("words", "beside", "meaning", "branch")
"""Names of the reasons that make up a score."""

MOST_MISFITS = 12
"""Items that did not fit, after which no other is tried, and that are told as left out."""


class Recall:
    """Find what answers a question. It never writes, opens no connection and loads no model."""

    def __init__(
        self,
        db: Db,
        search: Search,
        turns: TurnSource,
        clock: Clock,
        project_of: Callable[[str], str | None],
        find_touched: Callable[[str, str], Sequence[TouchedFact]],
    ) -> None:
        """:param project_of: returns the project that a theme is of
        :param find_touched: as `find_touched_facts`, of a theme
        """
        self._db = db
        self._search = search
        self._turns = turns
        self._finder = CandidateFinder(search, turns, project_of)
        self._find_touched = find_touched
        self._clock = clock

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
        :param question: a line in the search language; its filters apply to facts, `host:` to turns, too
        :param scope: limits facts to one scope
        :param session: limits turns to the session of that name
        :param ranked_by: names the model behind `nearest`
        :param mark: labels facts with their branches; without it branches do not count
        :param for_agents: leave out what is suspicious, and kept for the person alone
        :raises StoreError: as `Search.find`
        """
        request = RecallQuestion(themes, question, kinds, nearest, limit, scope, session, for_agents)
        with self._db.snapshot():
            chosen, _, facts, marks = self._ask(request, mark, lambda ranked: (ranked[:limit], []))
            items = self._to_items(chosen, self._make_writer(question))
        return Given(
            items,
            ranked_by=name_ranking(nearest, ranked_by),
            note=facts.note,
            exact=sum(candidate.is_exact for candidate in chosen),
            total=facts.total - len(marks.held),
            more=facts.more,
            held_note=marks.held_note,
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
        explains: bool = False,
    ) -> Given:
        """Return what answers a question within `budget` tokens, fence included, best first.

        A fact whose turns are given waits behind others, and so does a turn of which a fact is given.
        Where nothing touches the question, nothing is given: all is left out.

        :param explains: say what is left out
        :raises StoreError: as `Search.find`
        """
        request = RecallQuestion(themes, question, kinds, nearest, budget // SHORTEST_LINE)
        write_line, fence = self._make_writer(question), count_tokens(f"{HEAD}\n")

        def choose(ranked: list[Candidate]) -> Choice:
            if self._is_touched(themes, question, ranked):
                return pack_recall(ranked, budget - fence, write_line)
            return [], ranked[:MOST_MISFITS] if explains else []

        with self._db.snapshot():
            chosen, left_out, facts, marks = self._ask(request, mark, choose)
            items = self._to_items(chosen, write_line)
            misfits = self._to_items(left_out if explains else [], write_line)
        return Given(
            items,
            misfits,
            fence + sum(item.tokens for item in items) if items else 0,
            name_ranking(nearest, ranked_by),
            facts.note,
            total=facts.total - len(marks.held) if items else 0,
            held_note=marks.held_note,
        )

    def _ask(
        self, request: RecallQuestion, mark: Mark | None, choose: Callable[[list[Candidate]], Choice]
    ) -> tuple[list[Candidate], list[Candidate], FactRanking, MarkedFacts]:
        """Find, score and choose what answers a question; also return all facts, and what is marked or held back."""
        line = request.line[:QUESTION_CHARS]
        sought = KINDS if request.session is None and is_plain_question(line) else request.kinds
        most = min(max(request.limit, MOST_OF_EACH), MAX_LIMIT)
        asked = replace(request, line=line, kinds=sought, limit=most)
        altered: set[int] = set()
        while True:
            facts, turns = self._finder.find(asked, altered)
            ranked, marks = score_candidates([*facts.candidates, *turns]), MarkedFacts(())
            if mark is not None:
                marks = mark(self._search.load([fact.id for fact in facts.candidates]))
                ranked = lower_by_branch(ranked, marks)
            chosen, left_out = choose([item for item in ranked if ("turn" if item.turn else "fact") in request.kinds])
            # To compare facts with the journal costs more than to rank them: with something altered, all are.
            shown = [item.id for item in (*chosen, *left_out) if item.turn is None]
            shown += [marked.fact.id for marked in marks.held]
            if not (request.for_agents and self._db.find_altered(shown)):
                return chosen, left_out, facts, marks
            altered |= self._db.find_altered([fact.id for fact in facts.candidates])

    def _is_touched(self, themes: Sequence[str], question: str, ranked: Sequence[Candidate]) -> bool:
        """Check whether any of these touches a question; what asks nothing is touched by the facts that a hook gives with it."""
        if any(item.is_exact or (item.meaning or 0.0) >= LIKE for item in ranked):
            return True
        facts = [(item.target, item.content) for item in ranked if item.turn is None]
        turns = [("", item.turn.content) for item in ranked if item.turn is not None]
        if asks_nothing(question):
            by_fact = bool(facts) and any(self._find_touched(theme, question) for theme in themes)
            return by_fact or (bool(turns) and is_touched(question, turns))
        return is_touched(question, [*facts, *turns]) if is_plain_question(question) else bool(ranked)

    def _make_writer(self, question: str) -> Callable[[Candidate], int]:
        """Return what writes the line of a candidate and counts its tokens."""
        terms = frozenset(index_terms(question[:QUESTION_CHARS]))
        is_when = is_asking_when(question[:QUESTION_CHARS])
        now = None if is_when else self._clock()

        def write_line(item: Candidate) -> int:
            if item.turn is not None:
                item.line = format_turn_line(item.turn, terms, now, count_tokens)
            else:
                item.line = item.marked.line if item.marked else format_notation(item.type, item.target, item.content)
                item.line += f" ({format_day(Millis(item.created_at))})" if is_when else ""
            item.tokens = count_tokens(f"{MARK}{item.line}\n")
            return item.tokens

        return write_line

    def _to_items(self, candidates: Sequence[Candidate], write: Callable[[Candidate], int]) -> tuple[GivenItem, ...]:
        """Write those lines that are not written, and make facts and turns of these candidates alone."""
        unmarked = {item.id: item for item in candidates if item.turn is None and item.marked is None}
        for marked in map(MarkedFact, self._search.load([*unmarked])):
            unmarked[marked.fact.id].marked = marked
        turns, items = iter(self._turns.load(candidates)), list[GivenItem]()
        for item in candidates:
            tokens, turn = item.tokens or write(item), None if item.turn is None else next(turns)
            fact, mark = (item.marked.fact, item.marked.mark) if item.marked else (None, None)
            reasons = [RankReason("every word", 1.0)] if item.is_exact else []
            reasons += [RankReason(*reason) for reason in zip(PARTS, item.parts, strict=False) if reason[1]]
            sources = tuple(format_uid(source.turn.uid) for source in item.beside if source.turn is not None)
            items.append(GivenItem(item.line, tokens, item.score, fact, turn, tuple(reasons), sources, mark))
        return tuple(items)


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A session of an agent host in which something was found."""

    theme: str
    session: str
    host: str
    project: str | None
    at: Millis
    sentence: str
    resume: str | None
    """The command that goes on with it in its host."""

    def to_data(self) -> dict[str, str]:
        """Return it as JSON, without what is not known."""
        project = None if self.project is None else to_given_name(self.project)
        members = {"session_id": to_given_name(self.session), "host": self.host, "project": project}
        members |= {"at": format_iso_time(self.at), "sentence": self.sentence, "resume": self.resume}
        return {name: value for name, value in members.items() if value is not None}


def list_session_hits(host_sessions: HostSessions, turns: Iterable[Turn | None], question: str) -> list[SessionHit]:
    """Return the sessions of hosts in which these turns were said, each by its first. :param turns: best first"""
    terms = frozenset(index_terms(question[:QUESTION_CHARS]))
    hits: dict[tuple[str, str], SessionHit] = {}
    for turn in turns:
        host = None if turn is None else find_client_host(turn.origin.client or "")
        if turn is None or turn.session is None or host is None or (turn.theme, turn.session) in hits:
            continue
        sentence = find_best_sentences(split_speaker(turn)[1], terms, count_tokens, FEW_TOKENS)
        resume = host_sessions.find_resume_command(turn)
        place = (turn.theme, turn.session)
        hits[place] = SessionHit(*place, host, turn.origin.project, turn.at, sentence, resume)
    return [*hits.values()]


@lru_cache(maxsize=64)
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


def score_candidates(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Score candidates by all that is known of them, best first; those with every word of a look-up before all others."""
    words = [candidate.score for candidate in candidates]
    beside = [
        BORROWED * max([other.score for other in candidate.beside]) if candidate.beside else 0.0
        for candidate in candidates
    ]
    total = [own + borrowed for own, borrowed in zip(words, beside, strict=True)]
    similar = [find_similarity(candidate) for candidate in candidates]
    meaning = [0.0] * len(candidates)
    if measured := [similarity for similarity in similar if similarity is not None]:
        average = fmean(measured)
        low, spread = find_spread(total)
        near_low, near_spread = find_spread(measured)
        words = [measure / spread for measure in words]
        beside = [measure / spread for measure in beside]
        meaning = [MEANING * ((average if near is None else near) - near_low) / near_spread for near in similar]
        total = [measure / spread - low / spread + near for measure, near in zip(total, meaning, strict=True)]
    shares = [1.0 if candidate.turn is None else TURN for candidate in candidates]
    best = max([measure * share for measure, share in zip(total, shares, strict=True)], default=0.0) or 1.0
    for item, measure, share, own, lent, near in zip(candidates, total, shares, words, beside, meaning, strict=True):
        item.parts = own * share / best, lent * share / best, near * share / best
        # None with every word of a look-up scores less than the best of all: they stand in the order of the search.
        item.score = 1.0 if item.is_exact else measure * share / best
    return sorted(candidates, key=lambda candidate: (not candidate.is_exact, -candidate.score))


def lower_by_branch(candidates: Sequence[Candidate], facts: MarkedFacts) -> list[Candidate]:
    """Return candidates without the facts that are held back; a fact of an unmerged branch counts half.

    Facts with every word of a look-up stay before all others.
    """
    marks = {mark.fact.id: mark for mark in facts.given}
    shown = [candidate for candidate in candidates if candidate.turn is not None or candidate.id in marks]
    for candidate in shown:
        candidate.marked = marks[candidate.id] if candidate.turn is None else None
        if candidate.marked is not None and candidate.marked.is_lowered:
            reduction = candidate.score * (1 - LOWERED_SCORE)
            candidate.score -= reduction
            candidate.parts = (*candidate.parts, -reduction)
    return sorted(shown, key=lambda candidate: (not candidate.is_exact, -candidate.score))


def find_similarity(candidate: Candidate) -> float | None:
    """Return how near a candidate is; a fact borrows from the nearest of its turns."""
    if candidate.meaning is None or candidate.turn is not None:
        return candidate.meaning
    near = max((source.meaning for source in candidate.beside if source.meaning is not None), default=None)
    return candidate.meaning if near is None else (candidate.meaning + BORROWED_MEANING * near) / (1 + BORROWED_MEANING)


def find_spread(measures: Sequence[float]) -> tuple[float, float]:
    """Return the lowest of some measures and their standard deviation, 1 where all are equal."""
    lowest, mean = min(measures), fmean(measures)
    spread = math.sqrt(fmean((measure - mean) ** 2 for measure in measures))
    return lowest, spread if spread > SAME_MEASURE else 1.0


def pack_recall(ranked: Sequence[Candidate], room: int, write_line: Callable[[Candidate], int]) -> Choice:
    """Return the candidates that fit into `room` tokens, and the best of the others, both best first.

    One that is too long leaves its place to shorter ones after it.

    :param ranked: best first
    :param write_line: writes a line and counts its tokens, which costs more than all else: only what is looked at is written
    """
    among = frozenset(ranked)
    budget = Budget(room)
    queue = [(-candidate.score, place, candidate, False) for place, candidate in enumerate(ranked)]
    heapq.heapify(queue)
    chosen, left_out = list[Candidate](), list[Candidate]()
    source_turns: set[Candidate] = set()
    """Those that a chosen fact tells."""
    chosen_turns: set[Candidate] = set()
    while queue and len(left_out) < MOST_MISFITS:
        score, place, candidate, is_lowered = heapq.heappop(queue)
        is_turn = candidate.turn is not None
        sources = among.intersection(() if is_turn else candidate.beside)
        is_told = candidate in source_turns if is_turn else bool(sources) and sources <= chosen_turns
        if is_told and not is_lowered:
            heapq.heappush(queue, (score * ALREADY_TOLD, place, candidate, True))
        elif budget.take(write_line(candidate)):
            chosen.append(candidate)
            source_turns |= sources
            if is_turn:
                chosen_turns.add(candidate)
        else:
            left_out.append(candidate)
    return chosen, left_out
