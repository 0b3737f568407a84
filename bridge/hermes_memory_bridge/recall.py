"""Recall: the facts and turns that answer a question, by words and, where the question has a vector, by meaning.

Every word ranking is the store's own; what is near in meaning must pass the same walls: the theme, the filters of the line,
the session, and what may be told at all. Without vectors the same functions answer in the same shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from hermes_memory_bridge.answers import told
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.embedding.asked import WORDS_ONLY, Asked
from hermes_memory_bridge.embedding.fusing import fused, in_turn
from hermes_memory_store.errors import NotFound
from hermes_memory_store.model import Fact, Found, Session, Turn, Uid
from hermes_memory_store.store import Store

Key = TypeVar("Key")

FEW = 20
"""Facts of each theme that are looked at where words alone rank them: as many as can be asked for."""

TAKEN = 60
"""Facts or turns of each ranking that are fused."""


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
    by_words: list[list[Uid]] = []
    near: list[tuple[Uid, float]] = []
    for theme in themes:
        for found, close in looked_up_everywhere(connection, theme, query, limit, kinds):
            known.update((fact.uid, fact) for fact in (*found, *(fact for fact, _ in close)))
            by_words.append([fact.uid for fact in found])
            near += [(fact.uid, one) for fact, one in close]
    best = fused(in_turn(by_words), nearest_first(near))[:limit]
    for theme in themes if record else ():
        handed = [known[uid] for uid, _ in best if known[uid].theme == theme]
        if connection.elsewhere is not None:  # what is not in this store is not on its record
            handed = list(connection.store.facts.named(fact.uid for fact in handed).values())
            if connection.store.names.theme_or_none(theme) is None:
                continue
        connection.store.search.note("recall", theme, handed, session=session, why=query)
    return [RecalledFact(known[uid], score) for uid, score in best]


LookedUp = tuple[list[Fact], list[tuple[Fact, float]]]
"""Facts by words, best first, and those near in meaning with their similarity."""


def looked_up_everywhere(connection: Connection, theme: str, query: str, limit: int, kinds: str) -> list[LookedUp]:
    """What answers in this store, and what in the team's database and not here: a fact that is here stands as it is here."""
    there = connection.elsewhere.themes.get(theme) if connection.elsewhere is not None else None
    if there is None:
        return [looked_up(connection.store, connection.asked, theme, query, limit, kinds)]
    if connection.store.names.theme_or_none(theme) is None:
        return [looked_up(there.store, there.asked, theme, query, limit, kinds)]
    facts, close = looked_up(there.store, there.asked, theme, query, limit, kinds)
    here = connection.store.facts.named(fact.uid for fact in (*facts, *(fact for fact, _ in close)))
    missing = [fact for fact in facts if fact.uid not in here], [one for one in close if one[0].uid not in here]
    try:
        return [looked_up(connection.store, connection.asked, theme, query, limit, kinds), missing]
    except NotFound:
        return [missing]  # what the line names is there alone


def looked_up(store: Store, asked: Asked | None, theme: str, query: str, limit: int, kinds: str) -> LookedUp:
    """What answers in one theme of one store."""
    taken = FEW if asked is None else TAKEN
    found = told(store.search.find(theme, query, limit=max(taken, limit), record=False)).facts
    close: list[tuple[Fact, float]] = []
    if asked is not None:
        hits = asked.nearest(store, "fact", theme, TAKEN)
        passing = store.search.passing(theme, query, [key for key, _ in hits])
        passing = {fact.id: fact for fact in told(Found(list(passing.values()), len(passing))).facts}
        close = [(passing[key], one) for key, one in hits if key in passing and is_wanted(passing[key], kinds)]
    return [fact for fact in found if is_wanted(fact, kinds)], close


def turns(
    connection: Connection, themes: Sequence[str], query: str, limit: int, *, within: str | None = None
) -> list[RecalledTurn]:
    """The turns of these themes that answer, best first. :param within: only those of the session of that name"""
    taken = FEW if connection.asked is None else TAKEN
    known: dict[str, Turn] = {}
    by_words: list[tuple[str, float]] = []
    near: list[tuple[str, float]] = []
    for theme in themes:
        hits = connection.store.turns.search(theme, query, limit=max(taken, limit), session=within)
        known.update((hit.turn.uid, hit.turn) for hit in hits)
        by_words += [(hit.turn.uid, hit.score) for hit in hits]
        if connection.asked is not None:
            close = connection.asked.nearest(connection.store, "turn", theme, TAKEN)
            passing = connection.store.turns.fetched(theme, [key for key, _ in close], session=within)
            known.update((turn.uid, turn) for turn in passing.values())
            near += [(passing[key].uid, one) for key, one in close if key in passing]
    if not near:  # then a score says how many of the words are there
        by_words.sort(key=lambda one: (-one[1], -known[one[0]].at))
        return [RecalledTurn(known[uid], score) for uid, score in by_words[:limit]]
    return [
        RecalledTurn(known[uid], score) for uid, score in fused(nearest_first(by_words), nearest_first(near))[:limit]
    ]


def ranked_by(connection: Connection) -> str:
    """Which ways an answer was found, in words."""
    return WORDS_ONLY if connection.asked is None else connection.asked.ranked_by


def is_about_user(fact: Fact) -> bool:
    """Whether a fact would stand in USER.md: its target is `user`, or begins with `user.`."""
    return fact.target == "user" or fact.target.startswith("user.")


def is_wanted(fact: Fact, kinds: str) -> bool:
    """Whether a fact is of the kinds asked for."""
    return kinds == "both" or is_about_user(fact) == (kinds == "user")


def nearest_first(found: list[tuple[Key, float]]) -> list[Key]:
    """The keys of several rankings of one measure as one."""
    return [key for key, _ in sorted(found, key=lambda one: -one[1])]
