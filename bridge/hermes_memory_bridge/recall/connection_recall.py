"""What answers a connection: the store's one recall over all that it may read, and beside it what the team alone has."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from hermes_memory_bridge.embedding.query_vector import QueryVector
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.context.given import WORDS_ONLY, Given, GivenItem, Mark, Nearest
from hermes_memory_store.errors import NotFound
from hermes_memory_store.find.candidates import MOST_OF_EACH
from hermes_memory_store.model import Fact, Session
from hermes_memory_store.projects.branch_labels import MarkedFacts
from hermes_memory_store.store import Store


def recall_facts(
    connection: Connection, themes: Sequence[str], line: str, limit: int, *, scope: str | None = None
) -> Given:
    """Return the facts that answer a search line, best first; nothing is recorded.

    What the connection reads of other themes is found with its own theme's.

    :raises StoreError: as `Search.find`
    """
    return recall_items(connection, themes, line, limit, kind="fact", scope=scope)


def recall_turns(
    connection: Connection, themes: Sequence[str], query: str, limit: int, *, within: str | None = None
) -> Given:
    """Return the turns that answer a question, best first. :param within: only those of the session of that name"""
    return recall_items(connection, themes, query, limit, kind="turn", session=within)


def recall_items(
    connection: Connection,
    themes: Sequence[str],
    line: str,
    limit: int,
    *,
    kind: str,
    scope: str | None = None,
    session: str | None = None,
) -> Given:
    """Return what of one kind answers, of several themes in one ranking: each is measured by its best."""
    mark = find_marking(connection.store, line)

    def rank(store: Store, query_vector: QueryVector | None, *names: str) -> Given:
        return store.recall.rank(
            names,
            line,
            kinds=(kind,),
            scope=scope,
            session=session,
            nearest=find_nearest(store, query_vector),
            ranked_by=None if query_vector is None else query_vector.ranked_by,
            mark=mark,
            limit=max(limit, MOST_OF_EACH) if connection.team_fallback is not None else limit,
        )

    answers: list[Given] = []
    for theme in themes:
        also = connection.readable_themes() if theme == connection.theme else ()
        there = connection.team_fallback.themes.get(theme) if connection.team_fallback is not None else None
        missing: list[Given] = []
        if there is not None:
            with suppress(NotFound):  # what the line names may be known to one of both alone
                missing = [exclude_known(connection.store, theme, rank(there.store, there.query_vector, theme), kind)]
            if connection.store.names.theme_or_none(theme) is None and not also:
                answers += missing or [rank(there.store, there.query_vector, theme)]
                continue
        try:
            answers.append(rank(connection.store, connection.query_vector, theme, *also))
        except NotFound:
            if not missing:
                raise
        answers += missing
    return merge_answers(answers, limit)


def exclude_known(store: Store, theme: str, remote: Given, kind: str) -> Given:
    """Return what only the team has: what is here stands as it is here, and what was erased here stays erased."""
    uids = [item.uid for item in remote.items]
    if kind == "fact":
        here = {*store.facts.by_uids(uids), *store.facts.find_purged(uids)}
    else:
        here = {*store.turns.find_known(theme, uids)}
    items = tuple(item for item in remote.items if item.uid not in here)
    exact = sum(item.uid not in here for item in remote.items[: remote.exact])
    return replace(remote, items=items, exact=exact, total=remote.total - len(remote.items) + len(items))


def merge_answers(answers: Sequence[Given], limit: int) -> Given:
    """Return several answers as one, best first; what has every word of a look-up stays before all others."""
    if len(answers) == 1:
        return cut_answer(answers[0], limit)
    placed = [
        (place >= answer.exact, -item.score, place, item)
        for answer in answers
        for place, item in enumerate(answer.items)
    ]
    placed.sort(key=lambda rank: rank[:3])
    return cut_answer(
        Given(
            tuple(item for *_, item in placed),
            ranked_by=next((answer.ranked_by for answer in answers if answer.ranked_by != WORDS_ONLY), WORDS_ONLY),
            note=next((answer.note for answer in answers if answer.note), None),
            exact=sum(answer.exact for answer in answers),
            total=sum(answer.total for answer in answers),
            more=any(answer.more for answer in answers),
            held_note="; ".join(dict.fromkeys(answer.held_note for answer in answers if answer.held_note)) or None,
        ),
        limit,
    )


def cut_answer(answer: Given, limit: int) -> Given:
    """Return the first of an answer; `total` counts the others."""
    return replace(
        answer,
        items=answer.items[:limit],
        exact=min(answer.exact, limit),
        total=max(answer.total, len(answer.items)),
        more=answer.more or max(answer.total, len(answer.items)) > limit,
    )


def find_nearest(store: Store, query_vector: QueryVector | None) -> Nearest | None:
    """Return what finds the nearest to a question in a store; None without a vector of it."""
    if query_vector is None:
        return None

    def nearest(kind: str, theme: str, limit: int, keys: Collection[int]) -> list[tuple[int, float]]:
        return query_vector.nearest(store, kind, theme, limit, keys)

    return nearest


def find_marking(store: Store, line: str) -> Mark:
    """Return what labels facts with their branches; what a line asks for by the name of a branch is not held back."""

    def mark(facts: Sequence[Fact]) -> MarkedFacts:
        shown = store.search.find_branch_filter(line) if "branch:" in line.lower() else frozenset()
        return store.branch_labels.mark(facts, shown_branches=shown)

    return mark


def is_exact_lookup(connection: Connection, line: str, limit: int, *, scope: str | None = None) -> bool:
    """Check whether enough facts have every word of a look-up: then no vector is of use.

    :raises StoreError: as `Search.find`
    """
    also = connection.readable_themes()
    return (
        connection.store.search.find(connection.theme, line, scope=scope, limit=limit, record=False, also=also).exact
        >= limit
    )


def note_recalled_facts(
    connection: Connection, themes: Sequence[str], items: Sequence[GivenItem], query: str, session: Session | None
) -> None:
    """Record facts as shown to the session, in each theme that was asked for.

    Those of themes that the connection reads beside its own are on its own theme's record.
    """
    facts = [item.fact for item in items if item.fact is not None]
    for theme in themes:
        beside = set(connection.readable_themes()).difference(themes) if theme == connection.theme else ()
        handed = [fact for fact in facts if fact.theme in (theme, *beside)]
        if connection.team_fallback is not None:  # what is not in this store is not on its record
            handed = list(connection.store.facts.by_uids(fact.uid for fact in handed).values())
            if connection.store.names.theme_or_none(theme) is None:
                continue
        connection.store.search.note("recall", theme, handed, session=session, why=query)


def is_user_fact(fact: Fact) -> bool:
    """Check whether a fact belongs into USER.md: its target is `user`, or begins with `user.`."""
    return fact.target == "user" or fact.target.startswith("user.")
