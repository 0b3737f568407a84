"""Hybrid recall: the facts and turns relevant to a query, by words and, if the query has a vector, by meaning.

All word rankings are the store's own; semantic neighbours must pass the same limits: the theme, the filters of the
line, the session, and what may be shown at all. Without vectors the same functions return the same shape.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from hermes_memory_bridge.embedding.query_vector import WORDS_ONLY, QueryVector
from hermes_memory_bridge.recall.branch_ranking import rank_by_branch, rank_search_by_branch
from hermes_memory_bridge.recall.fusion import fuse_scores, interleave_rankings, score_by_rank
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import visible_results
from hermes_memory_store.errors import NotFound
from hermes_memory_store.model import Fact, FactSearchResult, Session, Turn, Uid
from hermes_memory_store.projects.branch_labels import MarkedFact, MarkedFacts
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import DEFAULT

Told = TypeVar("Told", Fact, Turn)

MOST_WORD_ONLY_FACTS = 20
"""Facts of each theme that are looked at where words alone rank them: as many as can be asked for."""

MOST_WORD_MATCHES = 80
"""Facts or turns that are fused at most for their words: as many as a search ranks."""

MORE_FOR_BRANCHES = 20
"""Facts that are looked at besides, where some are ranked lower or held back."""

MOST_NEAREST = 60
"""Those that are fused for their meaning, however few words they share."""


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A relevant fact with its score from 0 to 1."""

    fact: Fact
    score: float
    marked: MarkedFact
    """The fact with the mark of its branch."""


@dataclass(frozen=True, slots=True)
class RecalledFacts:
    """Relevant facts, best first."""

    facts: list[RecalledFact]
    held_note: str | None = None
    """Says how many are held back, and how to see them."""


@dataclass(frozen=True, slots=True)
class RecalledTurn:
    """A relevant turn with its score from 0 to 1."""

    turn: Turn
    score: float


def recall_facts(
    connection: Connection,
    themes: Sequence[str],
    query: str,
    limit: int,
    *,
    session: Session | None,
    kinds: str = "both",
    record: bool = True,
) -> RecalledFacts:
    """Return the relevant facts of these themes, best first, and record them as shown to the session.

    What the connection reads of other themes is found with its own theme's.

    :param kinds: `user` for those about the user, `memory` for all others, `both`
    :param record: False when the caller itself records what it shows of these
    :raises StoreError: as `Search.find`
    """
    known: dict[Uid, Fact] = {}
    rankings: list[list[Uid]] = []
    by_words: dict[Uid, float] = {}
    near: dict[Uid, float] = {}
    for theme in themes:
        for one in find_fact_candidates_with_team(connection, theme, query, limit, kinds):
            known |= one.known
            rankings.append(list(one.by_words))
            by_words |= one.by_words
            near |= one.near
    scored = fuse_scores(by_words, near) if near else score_by_rank(interleave_rankings(rankings))
    ranking = rank_by_branch(connection.store, [(known[uid], score) for uid, score in scored], limit, line=query)
    for theme in themes if record else ():
        beside = [one for one in connection.readable_themes() if theme == connection.theme and one not in themes]
        handed = [one.fact for one, _ in ranking.ranked if one.fact.theme in (theme, *beside)]
        if connection.team_fallback is not None:  # what is not in this store is not on its record
            handed = list(connection.store.facts.by_uids(fact.uid for fact in handed).values())
            if connection.store.names.theme_or_none(theme) is None:
                continue
        connection.store.search.note("recall", theme, handed, session=session, why=query)
    return RecalledFacts(
        [RecalledFact(one.fact, score, one) for one, score in ranking.ranked], ranking.marked.held_note
    )


@dataclass(frozen=True, slots=True)
class RankedSearch:
    """What a line finds, and the rankings used, in words."""

    found: FactSearchResult
    ranked_by: str


@dataclass(frozen=True, slots=True)
class HybridSearchResult:
    """The results of a search, best first, and the rankings used, in words."""

    found: FactSearchResult
    ranked_by: str
    marked: MarkedFacts
    """The same facts with the marks of their branches, and those that are held back."""


def search_facts(connection: Connection, line: str, limit: int, *, scope: str | None = None) -> HybridSearchResult:
    """Return the facts of the connection's theme that match a line, by words and by local vectors.

    Facts with every word of a lookup come first, ranked by words; if they fill the limit, vectors are not used.

    :param scope: restricts the search to one scope
    :raises StoreError: as `Search.find`
    """
    taken = find_by_words_and_vectors(connection, line, limit, scope=scope)
    ranking = rank_search_by_branch(connection.store, taken.found, limit, line)
    if ranking.held or any(
        one.is_lowered for one, _ in ranking.ranked
    ):  # then others may be better than the last of these
        taken = find_by_words_and_vectors(connection, line, limit + MORE_FOR_BRANCHES, scope=scope)
        ranking = rank_search_by_branch(connection.store, taken.found, limit, line)
    marked, found = ranking.marked, taken.found
    facts = [one.fact for one in marked.given]
    total = max(found.total - len(marked.held), len(facts))
    given = FactSearchResult(
        facts, total, found.more or total > len(facts), exact=min(found.exact, limit), note=found.note
    )
    return HybridSearchResult(given, taken.ranked_by, marked)


def find_by_words_and_vectors(
    connection: Connection, line: str, limit: int, *, scope: str | None = None
) -> RankedSearch:
    """Return the facts that match a line, whatever branch they are from."""
    store, theme, also = connection.store, connection.theme, connection.readable_themes()
    found = visible_results(store.search.find(theme, line, scope=scope, limit=limit, record=False, also=also))
    if connection.query_vector is None or found.exact >= limit:
        return RankedSearch(found, WORDS_ONLY)
    either = find_fact_candidates(store, connection.query_vector, theme, line, limit, "both", scope=scope, also=also)
    first = {fact.uid: fact for fact in found.facts[: found.exact]}
    others = [uid for uid, _ in fuse_scores(either.by_words, either.near) if uid not in first] if either.near else []
    ranked = [*first.values(), *(either.known[uid] for uid in others)] if others else found.facts
    total = max(found.total, len(either.known))
    more = found.more or found.total > len(either.by_words)
    return RankedSearch(
        FactSearchResult(ranked[:limit], total, more, exact=found.exact, note=found.note),
        connection.query_vector.ranked_by,
    )


def is_exact_lookup(connection: Connection, line: str, limit: int, *, scope: str | None = None) -> bool:
    """Check for a lookup with enough facts that have every word of it.

    :raises StoreError: as `Search.find`
    """
    also = connection.readable_themes()
    found = connection.store.search.find(connection.theme, line, scope=scope, limit=limit, record=False, also=also)
    return visible_results(found).exact >= limit


@dataclass(frozen=True, slots=True)
class ThemeCandidates(Generic[Told]):
    """Candidates of one theme of one store."""

    known: dict[Uid, Told]
    by_words: dict[Uid, float]
    """How well words fit, best first; 1 for the best fact."""
    near: dict[Uid, float]
    """How near in meaning, as cosine similarity."""

    def exclude(self, out: Collection[str]) -> ThemeCandidates[Told]:
        """Return the candidates without these."""
        return ThemeCandidates(
            {uid: one for uid, one in self.known.items() if uid not in out},
            {uid: fit for uid, fit in self.by_words.items() if uid not in out},
            {uid: near for uid, near in self.near.items() if uid not in out},
        )


def find_fact_candidates_with_team(
    connection: Connection, theme: str, query: str, limit: int, kinds: str
) -> list[ThemeCandidates[Fact]]:
    """Find candidates in this store, and those that only the team database has.

    A fact in this store stands as it is here.
    """
    there = connection.team_fallback.themes.get(theme) if connection.team_fallback is not None else None
    also = connection.readable_themes() if theme == connection.theme else ()
    if there is None:
        return [find_fact_candidates(connection.store, connection.query_vector, theme, query, limit, kinds, also=also)]
    if connection.store.names.theme_or_none(theme) is None and not also:
        return [find_fact_candidates(there.store, there.query_vector, theme, query, limit, kinds)]
    found = []
    with suppress(NotFound):  # what the line names may be known to the other alone
        missing = find_fact_candidates(there.store, there.query_vector, theme, query, limit, kinds)
        held = connection.store.facts
        found = [missing.exclude({*held.by_uids(missing.known), *held.find_purged(missing.known)})]
    try:
        here = find_fact_candidates(connection.store, connection.query_vector, theme, query, limit, kinds, also=also)
        return [here, *found]
    except NotFound:
        if not found:
            raise
        return found


def find_fact_candidates(
    store: Store,
    query_vector: QueryVector | None,
    theme: str,
    query: str,
    limit: int,
    kinds: str,
    *,
    scope: str | None = None,
    also: tuple[str, ...] = (),
) -> ThemeCandidates[Fact]:
    """Find the fact candidates of one theme of one store.

    :param scope: restricts them to one scope
    :param also: themes that are read beside it, as seen from it
    """
    taken = MOST_WORD_ONLY_FACTS if query_vector is None else MOST_WORD_MATCHES
    found = visible_results(
        store.search.find(theme, query, scope=scope, limit=max(taken, limit), record=False, also=also)
    )
    fitting = found.scores or [0.0] * len(found.facts)
    # Weights of words depend on the theme they stand in, so each theme is measured by its best.
    best = max(fitting, default=0.0) or 1.0
    fit = {fact.id: one / best for fact, one in zip(found.facts, fitting, strict=True) if is_wanted_kind(fact, kinds)}
    facts = {fact.id: fact for fact in found.facts if fact.id in fit}
    hits: dict[int, float] = {}
    if query_vector is not None:
        for name in (theme, *also):
            hits |= dict(query_vector.nearest(store, "fact", name, MOST_NEAREST, list(fit)))
        passing = store.search.filter_keys(
            theme, query, [key for key in hits if key not in fit], scope=scope, also=also
        )
        allowed = visible_results(FactSearchResult(list(passing.values()), len(passing))).facts
        facts |= {fact.id: fact for fact in allowed if is_wanted_kind(fact, kinds)}
    return ThemeCandidates(
        {fact.uid: fact for fact in facts.values()},
        {facts[key].uid: one for key, one in fit.items()},
        {facts[key].uid: one for key, one in hits.items() if key in facts},
    )


def recall_turns(
    connection: Connection, themes: Sequence[str], query: str, limit: int, *, within: str | None = None
) -> list[RecalledTurn]:
    """Return the relevant turns of these themes, best first.

    :param within: only those of the session of that name
    """
    known: dict[Uid, Turn] = {}
    by_words: dict[Uid, float] = {}
    near: dict[Uid, float] = {}
    for theme in themes:
        found = find_turn_candidates_with_team(connection, theme, query, limit, within)
        if theme == connection.theme and within is None:
            found += find_turn_candidates_beside(connection, query, limit)
        for one in found:
            known |= one.known
            by_words |= one.by_words
            near |= one.near
    if not near:  # then a score says how many of the words are there
        best = sorted(by_words.items(), key=lambda one: (-one[1], -known[one[0]].at))
        return [RecalledTurn(known[uid], score) for uid, score in best[:limit]]
    return [RecalledTurn(known[uid], score) for uid, score in fuse_scores(by_words, near)[:limit]]


def find_turn_candidates_with_team(
    connection: Connection, theme: str, query: str, limit: int, within: str | None
) -> list[ThemeCandidates[Turn]]:
    """Find candidates in this store, and those the team database alone has; what was erased here stays erased."""
    here = find_turn_candidates(connection.store, connection.query_vector, theme, query, limit, within)
    there = connection.team_fallback.themes.get(theme) if connection.team_fallback is not None else None
    if there is None:
        return [here]
    missing = find_turn_candidates(there.store, there.query_vector, theme, query, limit, within)
    return [here, missing.exclude(connection.store.turns.find_known(theme, missing.known))]


def find_turn_candidates_beside(connection: Connection, query: str, limit: int) -> list[ThemeCandidates[Turn]]:
    """Find the turn candidates of other themes that the connection reads: those said in its project or in no known place."""
    project, found = connection.store.place_themes.project_of(connection.theme), []
    for theme in connection.readable_themes():
        here = find_turn_candidates(connection.store, connection.query_vector, theme, query, limit, None)
        elsewhere = [uid for uid, one in here.known.items() if one.origin.project not in (None, project)]
        found.append(here.exclude(elsewhere) if theme == DEFAULT else here)
    return found


def find_turn_candidates(
    store: Store, asked: QueryVector | None, theme: str, query: str, limit: int, within: str | None
) -> ThemeCandidates[Turn]:
    """Find the turn candidates of one theme of one store."""
    taken = MOST_WORD_ONLY_FACTS if asked is None else MOST_WORD_MATCHES
    hits = store.turns.search(theme, query, limit=max(taken, limit), session=within, for_agents=True)
    known = {hit.id: hit.turn for hit in hits}
    close: dict[int, float] = {}
    if asked is not None:
        close = dict(asked.nearest(store, "turn", theme, MOST_NEAREST, list(known)))
        missing = [key for key in close if key not in known]
        known |= store.turns.by_keys(theme, missing, session=within, for_agents=True)
    return ThemeCandidates(
        {turn.uid: turn for turn in known.values()},
        {hit.turn.uid: hit.score for hit in hits},
        {known[key].uid: one for key, one in close.items() if key in known},
    )


def format_ranking_methods(connection: Connection) -> str:
    """Describe the rankings used for a result, in words."""
    return WORDS_ONLY if connection.query_vector is None else connection.query_vector.ranked_by


def is_user_fact(fact: Fact) -> bool:
    """Check whether a fact belongs into USER.md: its target is `user`, or begins with `user.`."""
    return fact.target == "user" or fact.target.startswith("user.")


def is_wanted_kind(fact: Fact, kinds: str) -> bool:
    """Check whether a fact is of the requested kinds."""
    return kinds == "both" or is_user_fact(fact) == (kinds == "user")
