"""The facts and turns that may answer a question, each with how well it fits by words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from hermes_memory_store.find.ranking import TurnRanking, text_terms
from hermes_memory_store.find.search import Search
from hermes_memory_store.model import Fact, FactSearchResult, Tier, Turn, Uid
from hermes_memory_store.recall.given import Nearest
from hermes_memory_themes.theme_identity import DEFAULT

MOST_BY_WORDS = 80
"""Facts of each theme that are looked at for their words where no turn answers."""

MOST_OF_EACH = 50
"""Facts and turns that are looked at where there are both, which help each other: 80 give .735 of the evidence of the first five
conversations of LoCoMo at 180 tokens, 50 give .731 in three quarters of the time."""

MOST_BY_MEANING = 60
"""Those that are looked at for their meaning, however few words they share."""

SAME_SOURCE = 0.75
"""A turn counts as one that a fact was written from with so many of the words that the most alike of its turns shares."""

LEAST_SHARED = 0.1
"""Part of a fact's words that such a turn has at least, where the fact names several."""


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

    @property
    def kind(self) -> str:
        """`fact` or `turn`."""
        return "turn" if self.fact is None else "fact"

    @property
    def uid(self) -> Uid:
        """The uid of the fact or turn."""
        item = self.fact or self.turn
        assert item is not None
        return item.uid


@dataclass(frozen=True, slots=True)
class FoundCandidates:
    """Candidates, and what a search says of them."""

    facts: list[RecallCandidate]
    turns: list[RecallCandidate]
    total: int = 0
    """Facts that match."""
    more: bool = False
    """Whether there are more than these."""
    note: str | None = None


class CandidateFinder:
    """Find candidates: by words in a bounded part of each index, by meaning as far as vectors are there."""

    def __init__(self, search: Search, turns: TurnSource, project_of: Callable[[str], str | None]) -> None:
        """:param project_of: returns the project that a theme is of"""
        self._search = search
        self._turns = turns
        self._project_of = project_of

    def find(
        self,
        themes: Sequence[str | None],
        question: str,
        *,
        kinds: Collection[str],
        scope: str | None,
        session: str | None,
        nearest: Nearest | None,
        limit: int,
        for_agents: bool,
    ) -> FoundCandidates:
        """Find the candidates of both kinds, best first by words. The parameters are those of `Recall.rank`.

        :param limit: of each kind and theme, 1 to 1,000
        """
        found, facts, turns = FactSearchResult([], 0), [], []
        if "turn" in kinds:
            turns = self._find_turns(themes, question, session, nearest, limit, for_agents=for_agents)
        if "fact" in kinds:
            most = limit if turns else max(limit, MOST_BY_WORDS)
            found = self._find_by_words(themes, question, scope, most, for_agents=for_agents)
            facts = [
                RecallCandidate(fact.id, fact=fact, words=score, is_exact=place < found.exact)
                for place, (fact, score) in enumerate(
                    zip(found.facts, found.scores or [0.0] * len(found.facts), strict=True)
                )
            ]
            if nearest is not None:
                facts += self._find_facts_by_meaning(themes, question, scope, nearest, facts, for_agents=for_agents)
        link_sources(facts, turns)
        return FoundCandidates(facts, turns, max(found.total, len(facts)), found.more, found.note)

    def _find_by_words(
        self, themes: Sequence[str | None], question: str, scope: str | None, limit: int, *, for_agents: bool
    ) -> FactSearchResult:
        also = tuple(theme for theme in themes[1:] if theme)
        found = self._search.find(themes[0], question, scope=scope, limit=limit, record=False, also=also, ranked=limit)
        return without_quarantined(found) if for_agents else found

    def _find_facts_by_meaning(
        self,
        themes: Sequence[str | None],
        question: str,
        scope: str | None,
        nearest: Nearest,
        known: list[RecallCandidate],
        *,
        for_agents: bool,
    ) -> list[RecallCandidate]:
        """Tell the known ones how near they are, and return the nearest others that pass the line's filters."""
        by_key = {one.key: one for one in known}
        near = {
            key: similarity
            for theme in themes
            if theme is not None
            for key, similarity in nearest("fact", theme, MOST_BY_MEANING, list(by_key))
        }
        for key in near.keys() & by_key.keys():
            by_key[key].meaning = near[key]
        others, also = [key for key in near if key not in by_key], tuple(theme for theme in themes[1:] if theme)
        passing = self._search.filter_keys(themes[0], question, others, scope=scope, also=also)
        return [
            RecallCandidate(key, fact=fact, meaning=near[key])
            for key, fact in passing.items()
            if not (for_agents and fact.tier is Tier.QUARANTINED)
        ]

    def _find_turns(
        self,
        themes: Sequence[str | None],
        question: str,
        session: str | None,
        nearest: Nearest | None,
        limit: int,
        *,
        for_agents: bool,
    ) -> list[RecallCandidate]:
        project = None if themes[0] is None else self._project_of(themes[0])
        turns: list[RecallCandidate] = []
        for theme in themes if session is None else themes[:1]:
            ranking = self._turns.rank(theme, question, most=limit, session=session, for_agents=for_agents)
            found = {key: RecallCandidate(key, turn=ranking.turns[key], words=score) for key, score in ranking.scored}
            if nearest is not None and theme is not None:
                near = dict(nearest("turn", theme, MOST_BY_MEANING, list(found)))
                others = self._turns.by_keys(
                    theme, [key for key in near if key not in found], session=session, for_agents=for_agents
                )
                found |= {key: RecallCandidate(key, turn=turn) for key, turn in others.items()}
                for key in near.keys() & found.keys():
                    found[key].meaning = near[key]
            is_foreign = theme == DEFAULT and theme != themes[0]
            turns += [one for one in found.values() if not is_foreign or is_said_in(one.turn, project)]
        return turns


def is_said_in(turn: Turn | None, project: str | None) -> bool:
    """Check whether a turn was said in a project, or in no known place."""
    return turn is not None and turn.origin.project in (None, project)


def without_quarantined(found: FactSearchResult) -> FactSearchResult:
    """Return what an agent may see of a search: quarantined facts are never shown, whatever tier is requested."""
    kept = [at for at, fact in enumerate(found.facts) if fact.tier is not Tier.QUARANTINED]
    if len(kept) == len(found.facts):
        return found
    scores = [found.scores[at] for at in kept] if found.scores else []
    exact = sum(at < found.exact for at in kept)
    return FactSearchResult([found.facts[at] for at in kept], len(kept), found.more, scores, exact, found.note)


def link_sources(facts: Iterable[RecallCandidate], turns: Iterable[RecallCandidate]) -> None:
    """Link each fact with those of the candidate turns that it was written from.

    A fact names the turns just before it was written. Of several, those count that share most of its words.
    """
    by_uid = {one.uid: one for one in turns}
    for one in facts:
        assert one.fact is not None
        named = one.fact.origin.turns
        known = [by_uid[uid] for uid in named if uid in by_uid]
        for source in known if len(named) == 1 else find_likely_sources(one.fact, known):
            one.beside.append(source)
            source.beside.append(one)


def find_likely_sources(fact: Fact, turns: Sequence[RecallCandidate]) -> list[RecallCandidate]:
    """Return those of several turns that a fact was most likely written from."""
    if not turns:
        return []
    words = {*text_terms(fact.content), *text_terms(fact.target)}
    shared = {one.key: len(words & {*text_terms(one.turn.content)}) for one in turns if one.turn is not None}
    least = max(SAME_SOURCE * max(shared.values()), LEAST_SHARED * len(words), 1)
    return [one for one in turns if shared[one.key] >= least]
