"""The facts and turns that may answer a question, each with how well it fits by words and by meaning."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hermes_memory_store.context.given import Nearest
from hermes_memory_store.database.written_facts import describe_doubt, parse_words
from hermes_memory_store.find.query_syntax import split_host_filter
from hermes_memory_store.find.ranking import Candidate, FactRanking, text_terms
from hermes_memory_store.find.search import RANKED, Search
from hermes_memory_store.hosts.host_data import is_client_of
from hermes_memory_store.model import Tier, Turn
from hermes_memory_themes.theme_identity import DEFAULT

MOST_OF_EACH = 35
"""Facts and turns that are looked at where there are both, which help each other: more find more, in as much more time."""

MOST_BY_MEANING = 60
"""Those that are looked at for their meaning, however few words they share."""


class TurnSource(Protocol):
    """Finds captured turns, as `Turns` does."""

    def rank(
        self, theme: str | None, query: str, *, most: int, session: str | None, for_agents: bool
    ) -> tuple[list[Candidate], float]:
        """Return the turns that share words with a query, best first, and how much of it the best has."""

    def by_keys(self, theme: str, keys: Sequence[int], *, session: str | None, for_agents: bool) -> list[Candidate]:
        """Return those of these turns that belong to a theme."""

    def load(self, candidates: Iterable[Candidate]) -> list[Turn]:
        """Return the turns among some candidates, in their order."""


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


class CandidateFinder:
    """Find candidates: by words in a bounded part of each index, by meaning as far as vectors are there."""

    def __init__(self, search: Search, turns: TurnSource, project_of: Callable[[str], str | None]) -> None:
        """:param project_of: returns the project that a theme is of"""
        self._search = search
        self._turns = turns
        self._project_of = project_of

    def find(self, question: RecallQuestion, altered: Collection[int]) -> tuple[FactRanking, list[Candidate]]:
        """Find the candidates of both kinds, best first by words. :param altered: facts that are left out"""
        turns = self._find_turns(question) if "turn" in question.kinds else []
        result, facts = FactRanking([], 0), list[Candidate]()

        def is_given(fact: Candidate) -> bool:
            return fact.id not in altered and not (question.for_agents and fact.tier == Tier.QUARANTINED)

        if "fact" in question.kinds:
            theme, *others = question.themes
            scope, also = question.scope, tuple(filter(None, others))
            most = question.limit if turns else max(question.limit, RANKED)
            result = self._search.rank(theme, question.line, most, scope, also, most)
            for fact in result.candidates[: result.exact]:
                fact.is_exact = True
            facts = [*filter(is_given, result.candidates)]
            if len(facts) < len(result.candidates):
                result = result._replace(total=len(facts))
            if near := measure_meaning(question, facts):
                passing = self._search.filter_keys(theme, question.line, list(near), scope=scope, also=also)
                for fact in filter(is_given, passing):
                    fact.meaning = near[fact.id]
                    facts.append(fact)
        link_sources(facts, turns)
        note = "; ".join(filter(None, (result.note, describe_doubt(len(altered))))) or None
        return result._replace(candidates=facts, total=max(result.total, len(facts)), note=note), turns

    def _find_turns(self, question: RecallQuestion) -> list[Candidate]:
        themes, session, for_agents = question.themes, question.session, question.for_agents
        clients, _ = split_host_filter(question.line)
        turns: list[Candidate] = []
        for theme in themes if session is None else themes[:1]:
            candidates, _ = self._turns.rank(
                theme, question.line, most=question.limit, session=session, for_agents=for_agents
            )
            if question.nearest is not None and theme is not None:
                ranked = [candidate.id for candidate in candidates]
                near = dict(question.nearest("turn", theme, MOST_BY_MEANING, ranked))
                other_keys = [key for key in near if key not in ranked]
                others = self._turns.by_keys(theme, other_keys, session=session, for_agents=for_agents)
                loaded = zip(others, self._turns.load(others), strict=True)
                candidates += [
                    candidate
                    for candidate, turn in loaded
                    if not clients or is_client_of(turn.origin.client or "", clients)
                ]
                for candidate in candidates:
                    candidate.meaning = near.get(candidate.id)
            if theme == DEFAULT and theme != themes[0]:  # then only what was said here, or in no known place
                project = self._project_of(themes[0]) if themes[0] is not None else None
                loaded = zip(candidates, self._turns.load(candidates), strict=True)
                candidates = [candidate for candidate, turn in loaded if turn.origin.project in (None, project)]
            turns += candidates
        return turns


def measure_meaning(question: RecallQuestion, facts: Sequence[Candidate]) -> dict[int, float]:
    """Note of these facts how near they are, and return the similarity of the nearest others by key."""
    if question.nearest is None:
        return {}
    keys = [fact.id for fact in facts]
    near = {
        key: similarity
        for theme in question.themes
        if theme is not None
        for key, similarity in question.nearest("fact", theme, MOST_BY_MEANING, keys)
    }
    for fact in facts:
        fact.meaning = near.pop(fact.id, None)
    return near


def link_sources(facts: Iterable[Candidate], turns: Iterable[Candidate]) -> None:
    """Link each fact with those of the candidate turns that it was written from.

    A fact names the turns just before it was written. Of several, those count that share most of its words.
    """
    by_uid = {candidate.turn.uid.hex(): candidate for candidate in turns if candidate.turn is not None}
    for fact in facts:
        names = parse_words(fact.origin_detail).get("turns", ())
        sources = [by_uid[digits] for name in names if (digits := str(name).replace("-", "")) in by_uid]
        for source in sources if len(names) == 1 else find_likely_sources(fact, sources):
            fact.beside += (source,)
            source.beside += (fact,)


def find_likely_sources(fact: Candidate, turns: Sequence[Candidate]) -> list[Candidate]:
    """Return those of several turns that share most of a fact's words."""
    words = {*text_terms(fact.content), *text_terms(fact.target)}
    shared = {turn.id: len(words & {*text_terms(turn.turn.content)}) for turn in turns if turn.turn is not None}
    most = max(shared.values(), default=0)
    return [turn for turn in turns if shared[turn.id] == most > 0]
