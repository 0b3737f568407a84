"""The facts and turns that may answer a question, each with how well it fits by words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hermes_memory_store.context.given import Nearest
from hermes_memory_store.database.written_facts import describe_doubt
from hermes_memory_store.find.query_syntax import split_host_filter
from hermes_memory_store.find.ranking import TurnRanking, text_terms
from hermes_memory_store.find.search import RANKED, Search
from hermes_memory_store.hosts.host_data import is_client_of
from hermes_memory_store.model import Fact, FactSearchResult, Tier, Turn, Uid
from hermes_memory_store.projects.branch_labels import MarkedFact
from hermes_memory_themes.theme_identity import DEFAULT

MOST_OF_EACH = 35
"""Facts and turns that are looked at where there are both, which help each other: more find more, in as much more time."""

MOST_BY_MEANING = 60
"""Those that are looked at for their meaning, however few words they share."""


class TurnSource(Protocol):
    """Finds captured turns, as `Turns` does."""

    def rank(self, theme: str | None, query: str, *, most: int, session: str | None, for_agents: bool) -> TurnRanking:
        """Return the turns that share words with a query."""

    def by_keys(self, theme: str, keys: Sequence[int], *, session: str | None, for_agents: bool) -> dict[int, Turn]:
        """Return those of these turns that belong to a theme, by key."""


@dataclass(slots=True, eq=False)
class RecallCandidate:
    """A fact or turn that may answer."""

    key: int
    fact: Fact | None = None
    turn: Turn | None = None
    words: float = 0.0
    """How well its own words fit: see `rank_question`; above 0."""
    meaning: float | None = None
    """Cosine similarity; None without a vector."""
    is_exact: bool = False
    """Whether it has every word of a look-up: such facts come first, in this order."""
    beside: list[RecallCandidate] = field(default_factory=list)
    """Of a fact the candidate turns that it was written from, of a turn the candidate facts written from it."""
    score: float = 0.0
    """From 0 to 1 for the best: see `score_candidates`."""
    parts: tuple[float, ...] = ()
    """What makes up the score: see `recall.PARTS`."""
    marked: MarkedFact | None = None
    """The fact with the label of its branch, where branches count."""

    @property
    def kind(self) -> str:
        return "turn" if self.fact is None else "fact"

    @property
    def uid(self) -> Uid:
        item = self.fact or self.turn
        assert item is not None
        return item.uid


@dataclass(frozen=True, slots=True)
class RecallQuestion:
    """What is asked of a memory; the fields are parameters of `Recall.rank`."""

    themes: Sequence[str | None]
    line: str
    kinds: Collection[str]
    nearest: Nearest | None
    limit: int
    """Of each kind and theme, 1 to 1,000."""
    scope: str | None = None
    session: str | None = None
    for_agents: bool = True


@dataclass(frozen=True, slots=True)
class RecallCandidates:
    """Candidates, and what a search says of them."""

    facts: list[RecallCandidate]
    turns: list[RecallCandidate]
    total: int
    """Facts that match."""
    more: bool
    """Whether there are more than these."""
    note: str | None


class CandidateFinder:
    """Find candidates: by words in a bounded part of each index, by meaning as far as vectors are there."""

    def __init__(self, search: Search, turns: TurnSource, project_of: Callable[[str], str | None]) -> None:
        """:param project_of: returns the project that a theme is of"""
        self._search = search
        self._turns = turns
        self._project_of = project_of

    def find(self, question: RecallQuestion) -> RecallCandidates:
        """Find the candidates of both kinds, best first by words."""
        turns = self._find_turns(question) if "turn" in question.kinds else []
        result, facts, total, altered = FactSearchResult([], 0), [], 0, set[int]()
        if "fact" in question.kinds:
            theme, *others = question.themes
            scope, also = question.scope, tuple(filter(None, others))
            most = question.limit if turns else max(question.limit, RANKED)
            result = self._search.find(
                theme, question.line, scope=scope, limit=most, record=False, also=also, ranked=most
            )
            scores = result.scores or [0.0] * len(result.facts)
            altered = self._search.find_altered([fact.id for fact in result.facts]) if question.for_agents else set()
            facts = [
                RecallCandidate(fact.id, fact=fact, words=score, is_exact=place < result.exact)
                for place, (fact, score) in enumerate(zip(result.facts, scores, strict=True))
                if not (question.for_agents and fact.tier is Tier.QUARANTINED) and fact.id not in altered
            ]
            total = result.total if len(facts) == len(result.facts) else len(facts)
            near = measure_meaning(question, facts)
            if near:
                passing = self._search.filter_keys(theme, question.line, list(near), scope=scope, also=also)
                altered |= self._search.find_altered(list(passing)) if question.for_agents else set()
                facts += [
                    RecallCandidate(key, fact=fact, meaning=near[key])
                    for key, fact in passing.items()
                    if not (question.for_agents and fact.tier is Tier.QUARANTINED) and key not in altered
                ]
        link_sources(facts, turns)
        note = "; ".join(filter(None, (result.note, describe_doubt(len(altered))))) or None
        return RecallCandidates(facts, turns, max(total, len(facts)), result.more, note)

    def _find_turns(self, question: RecallQuestion) -> list[RecallCandidate]:
        themes, session, for_agents = question.themes, question.session, question.for_agents
        clients, _ = split_host_filter(question.line)
        turns: list[RecallCandidate] = []
        for theme in themes if session is None else themes[:1]:
            ranking = self._turns.rank(
                theme, question.line, most=question.limit, session=session, for_agents=for_agents
            )
            candidates = {
                key: RecallCandidate(key, turn=ranking.turns[key], words=score) for key, score in ranking.scored
            }
            if question.nearest is not None and theme is not None:
                near = dict(question.nearest("turn", theme, MOST_BY_MEANING, list(candidates)))
                other_keys = [key for key in near if key not in candidates]
                by_meaning = self._turns.by_keys(theme, other_keys, session=session, for_agents=for_agents)
                candidates |= {
                    key: RecallCandidate(key, turn=turn)
                    for key, turn in by_meaning.items()
                    if not clients or is_client_of(turn.origin.client or "", clients)
                }
                for key in near.keys() & candidates.keys():
                    candidates[key].meaning = near[key]
            is_foreign = theme == DEFAULT and theme != themes[0]  # then only what was said here, or in no known place
            project = self._project_of(themes[0]) if is_foreign and themes[0] is not None else None
            turns += [
                candidate
                for candidate in candidates.values()
                if not is_foreign or (candidate.turn and candidate.turn.origin.project in (None, project))
            ]
        return turns


def measure_meaning(question: RecallQuestion, facts: Sequence[RecallCandidate]) -> dict[int, float]:
    """Note of these facts how near they are, and return the similarity of the nearest others by key."""
    if question.nearest is None:
        return {}
    by_key = {candidate.key: candidate for candidate in facts}
    near = {
        key: similarity
        for theme in question.themes
        if theme is not None
        for key, similarity in question.nearest("fact", theme, MOST_BY_MEANING, list(by_key))
    }
    for key in near.keys() & by_key.keys():
        by_key[key].meaning = near.pop(key)
    return near


def link_sources(facts: Iterable[RecallCandidate], turns: Iterable[RecallCandidate]) -> None:
    """Link each fact with those of the candidate turns that it was written from.

    A fact names the turns just before it was written. Of several, those count that share most of its words.
    """
    by_uid = {turn.uid: turn for turn in turns}
    for candidate in facts:
        assert candidate.fact is not None
        names = candidate.fact.origin.turns
        sources = [by_uid[uid] for uid in names if uid in by_uid]
        for source in sources if len(names) == 1 else find_likely_sources(candidate.fact, sources):
            candidate.beside.append(source)
            source.beside.append(candidate)


def find_likely_sources(fact: Fact, turns: Sequence[RecallCandidate]) -> list[RecallCandidate]:
    """Return those of several turns that share most of a fact's words."""
    words = {*text_terms(fact.content), *text_terms(fact.target)}
    shared = {turn.key: len(words & {*text_terms(turn.turn.content)}) for turn in turns if turn.turn is not None}
    most = max(shared.values(), default=0)
    return [turn for turn in turns if shared[turn.key] == most > 0]
