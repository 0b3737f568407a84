"""Recall: the facts and turns that answer a question, by words and, where the question has a vector, by meaning.

Every word ranking is the store's own; what is near in meaning must pass the same walls: the theme, the filters of the line,
the session, and what may be told at all. Without vectors the same functions answer in the same shape.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from hermes_memory_bridge.answers import told
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.embedding.asked import WORDS_ONLY, Asked
from hermes_memory_bridge.embedding.fusing import by_place, fused, in_turn
from hermes_memory_store.errors import NotFound
from hermes_memory_store.model import Fact, Found, Session, Turn, Uid
from hermes_memory_store.store import Store

Told = TypeVar("Told", Fact, Turn)

FEW = 20
"""Facts of each theme that are looked at where words alone rank them: as many as can be asked for."""

FITTING = 80
"""Facts or turns that are fused at most for their words: as many as a search ranks."""

NEAREST = 60
"""Those that are fused for their meaning, however few words they share."""


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that answers, and how well: from 0 to 1."""

    fact: Fact
    score: float


@dataclass(frozen=True, slots=True)
class RecalledTurn:
    """A turn that answers, and how well: from 0 to 1."""

    turn: Turn
    score: float


def facts(
    connection: Connection,
    themes: Sequence[str],
    query: str,
    limit: int,
    *,
    session: Session | None,
    kinds: str = "both",
    record: bool = True,
) -> list[RecalledFact]:
    """The facts of these themes that answer, best first; noted as told to the session.

    :param kinds: `user` for those about the user, `memory` for all others, `both`
    :param record: not when the caller notes what it hands out of these
    :raises StoreError: as `Search.find`
    """
    known: dict[Uid, Fact] = {}
    rankings: list[list[Uid]] = []
    by_words: dict[Uid, float] = {}
    near: dict[Uid, float] = {}
    for theme in themes:
        for one in looked_up_everywhere(connection, theme, query, limit, kinds):
            known |= one.known
            rankings.append(list(one.by_words))
            by_words |= one.by_words
            near |= one.near
    ranked = (fused(by_words, near) if near else by_place(in_turn(rankings)))[:limit]
    for theme in themes if record else ():
        handed = [known[uid] for uid, _ in ranked if known[uid].theme == theme]
        if connection.elsewhere is not None:  # what is not in this store is not on its record
            handed = list(connection.store.facts.named(fact.uid for fact in handed).values())
            if connection.store.names.theme_or_none(theme) is None:
                continue
        connection.store.search.note("recall", theme, handed, session=session, why=query)
    return [RecalledFact(known[uid], score) for uid, score in ranked]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found, best first, and which ways found it, in words."""

    found: Found
    ranked_by: str


def search(connection: Connection, line: str, limit: int, *, scope: str | None = None) -> SearchResult:
    """The facts of the connection's theme that answer a line, by words and by what this machine knows of meaning.

    Facts with every word of a look-up come first, as they stand by words; where they fill the limit, meaning is not looked up.

    :param scope: confines the search to one scope
    :raises StoreError: as `Search.find`
    """
    store, theme = connection.store, connection.theme
    found = told(store.search.find(theme, line, scope=scope, limit=limit, record=False))
    if connection.asked is None or found.exact >= limit:
        return SearchResult(found, WORDS_ONLY)
    either = looked_up(store, connection.asked, theme, line, limit, "both", scope=scope)
    first = {fact.uid: fact for fact in found.facts[: found.exact]}
    others = [uid for uid, _ in fused(either.by_words, either.near) if uid not in first] if either.near else []
    ranked = [*first.values(), *(either.known[uid] for uid in others)] if others else found.facts
    total = max(found.total, len(either.known))
    more = found.more or found.total > len(either.by_words)
    return SearchResult(
        Found(ranked[:limit], total, more, exact=found.exact, note=found.note), connection.asked.ranked_by
    )


def is_answered_by_words(connection: Connection, line: str, limit: int, *, scope: str | None = None) -> bool:
    """Whether a line is a look-up, and as many facts as are wanted have every word of it. :raises StoreError: as `Search.find`"""
    found = connection.store.search.find(connection.theme, line, scope=scope, limit=limit, record=False)
    return told(found).exact >= limit


@dataclass(frozen=True, slots=True)
class LookedUp(Generic[Told]):
    """What may answer, of one theme of one store."""

    known: dict[Uid, Told]
    by_words: dict[Uid, float]
    """How well words fit, best first; 1 for the best fact."""
    near: dict[Uid, float]
    """How near in meaning, as cosine similarity."""

    def without(self, out: Collection[str]) -> LookedUp[Told]:
        """What is left when these are left out."""
        return LookedUp(
            {uid: one for uid, one in self.known.items() if uid not in out},
            {uid: fit for uid, fit in self.by_words.items() if uid not in out},
            {uid: near for uid, near in self.near.items() if uid not in out},
        )


def looked_up_everywhere(
    connection: Connection, theme: str, query: str, limit: int, kinds: str
) -> list[LookedUp[Fact]]:
    """What answers in this store, and what in the team's database and not here: a fact that is here stands as it is here."""
    there = connection.elsewhere.themes.get(theme) if connection.elsewhere is not None else None
    if there is None:
        return [looked_up(connection.store, connection.asked, theme, query, limit, kinds)]
    if connection.store.names.theme_or_none(theme) is None:
        return [looked_up(there.store, there.asked, theme, query, limit, kinds)]
    found = []
    with suppress(NotFound):  # what the line names may be known to the other alone
        missing = looked_up(there.store, there.asked, theme, query, limit, kinds)
        held = connection.store.facts
        found = [missing.without({*held.named(missing.known), *held.purged(missing.known)})]
    try:
        return [looked_up(connection.store, connection.asked, theme, query, limit, kinds), *found]
    except NotFound:
        if not found:
            raise
        return found


def looked_up(
    store: Store, asked: Asked | None, theme: str, query: str, limit: int, kinds: str, *, scope: str | None = None
) -> LookedUp[Fact]:
    """What may answer in one theme of one store. :param scope: confines it to one scope"""
    taken = FEW if asked is None else FITTING
    found = told(store.search.find(theme, query, scope=scope, limit=max(taken, limit), record=False))
    fitting = found.scores or [0.0] * len(found.facts)
    # Weights of words depend on the theme they stand in, so each theme is measured by its best.
    best = max(fitting, default=0.0) or 1.0
    fit = {fact.id: one / best for fact, one in zip(found.facts, fitting, strict=True) if is_wanted(fact, kinds)}
    facts = {fact.id: fact for fact in found.facts if fact.id in fit}
    hits: dict[int, float] = {}
    if asked is not None:
        hits = dict(asked.nearest(store, "fact", theme, NEAREST, list(fit)))
        passing = store.search.passing(theme, query, [key for key in hits if key not in fit], scope=scope)
        allowed = told(Found(list(passing.values()), len(passing))).facts
        facts |= {fact.id: fact for fact in allowed if is_wanted(fact, kinds)}
    return LookedUp(
        {fact.uid: fact for fact in facts.values()},
        {facts[key].uid: one for key, one in fit.items()},
        {facts[key].uid: one for key, one in hits.items() if key in facts},
    )


def turns(
    connection: Connection, themes: Sequence[str], query: str, limit: int, *, within: str | None = None
) -> list[RecalledTurn]:
    """The turns of these themes that answer, best first. :param within: only those of the session of that name"""
    known: dict[Uid, Turn] = {}
    by_words: dict[Uid, float] = {}
    near: dict[Uid, float] = {}
    for theme in themes:
        for one in heard_everywhere(connection, theme, query, limit, within):
            known |= one.known
            by_words |= one.by_words
            near |= one.near
    if not near:  # then a score says how many of the words are there
        best = sorted(by_words.items(), key=lambda one: (-one[1], -known[one[0]].at))
        return [RecalledTurn(known[uid], score) for uid, score in best[:limit]]
    return [RecalledTurn(known[uid], score) for uid, score in fused(by_words, near)[:limit]]


def heard_everywhere(
    connection: Connection, theme: str, query: str, limit: int, within: str | None
) -> list[LookedUp[Turn]]:
    """What answers in this store, and what in the team's database and not here; what was erased here does not come back so."""
    here = heard(connection.store, connection.asked, theme, query, limit, within)
    there = connection.elsewhere.themes.get(theme) if connection.elsewhere is not None else None
    if there is None:
        return [here]
    missing = heard(there.store, there.asked, theme, query, limit, within)
    return [here, missing.without(connection.store.turns.known(theme, missing.known))]


def heard(store: Store, asked: Asked | None, theme: str, query: str, limit: int, within: str | None) -> LookedUp[Turn]:
    """What was said that may answer, in one theme of one store."""
    taken = FEW if asked is None else FITTING
    hits = store.turns.search(theme, query, limit=max(taken, limit), session=within)
    known = {hit.id: hit.turn for hit in hits}
    close: dict[int, float] = {}
    if asked is not None:
        close = dict(asked.nearest(store, "turn", theme, NEAREST, list(known)))
        known |= store.turns.fetched(theme, [key for key in close if key not in known], session=within)
    return LookedUp(
        {turn.uid: turn for turn in known.values()},
        {hit.turn.uid: hit.score for hit in hits},
        {known[key].uid: one for key, one in close.items() if key in known},
    )


def ranked_by(connection: Connection) -> str:
    """Which ways an answer was found, in words."""
    return WORDS_ONLY if connection.asked is None else connection.asked.ranked_by


def is_about_user(fact: Fact) -> bool:
    """Whether a fact would stand in USER.md: its target is `user`, or begins with `user.`."""
    return fact.target == "user" or fact.target.startswith("user.")


def is_wanted(fact: Fact, kinds: str) -> bool:
    """Whether a fact is of the kinds asked for."""
    return kinds == "both" or is_about_user(fact) == (kinds == "user")
