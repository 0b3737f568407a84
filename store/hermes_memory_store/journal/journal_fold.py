"""Fold the journal forward: what each scope, session, fact and turn must be by now.

The rows about one thing are read together, in the order of uids, so that a journal of any length needs little memory. Only
tables are read, never an index: an index may be what is damaged.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.database.written_facts import parse_words
from hermes_memory_store.items.kinds import FACT, SCOPE, SESSION, TURN
from hermes_memory_store.items.origin_rows import DETAILS, format_origin_detail
from hermes_memory_store.items.session_names import NUMBERED, is_numbering
from hermes_memory_store.model import SessionStatus, parse_actor, split_client_version

ROWS_OF = """
    SELECT uid, seq, at, theme_id, actor_id, op, after, before IS NULL AND digest IS NULL, digest IS NOT NULL, origin_id
    FROM journal NOT INDEXED WHERE entity = ? ORDER BY uid, seq
"""

ENDED = frozenset({SessionStatus.CLOSED.value, SessionStatus.ORPHANED.value})


class FoldRow(NamedTuple):
    uid: bytes
    seq: int
    at: int
    theme_id: int
    actor_id: int
    op: str
    after: str | None
    begins: int
    """Whether the thing began with this row."""
    redacted: int
    origin_id: int | None


class FoldedItem(NamedTuple):
    """What the journal says a thing is by now."""

    uid: bytes
    theme_id: int
    columns: dict[str, Any]
    first: int
    """Sequence number of the row it began with."""
    is_erased: bool = False
    """Whether a purge erased it: it must not be there."""


class ScopeTimeline:
    """Which scope had which label at which row of the journal: facts name their scope by the label it had then."""

    def __init__(self) -> None:
        self._named: dict[tuple[int, str], list[tuple[int, bytes]]] = {}

    def add(self, theme_id: int, label: str, seq: int, uid: bytes) -> None:
        """Note that a scope is called so from this row on; one without a label, which the journal does not name, from 0."""
        insort(self._named.setdefault((theme_id, label), []), (seq, uid))

    def find(self, theme_id: int, label: str, seq: int) -> bytes | None:
        """Find the uid of the scope that had a label when a row was written; None when there was none."""
        named = self._named.get((theme_id, label), ())
        place = bisect_left(named, (seq, b""))
        return named[place - 1][1] if place else None


def fold_rows(conn: sqlite3.Connection, entity: str) -> Iterator[tuple[FoldRow, list[tuple[FoldRow, dict[str, Any]]]]]:
    """Yield the first row of the journal about each thing of a kind, by uid, and all of them with their words."""
    rows = map(FoldRow._make, conn.execute(ROWS_OF, (entity,)))
    for _, some in groupby(rows, itemgetter(0)):
        pairs = [(row, parse_words(row.after)) for row in some]
        yield pairs[0][0], pairs


def fold_scopes(conn: sqlite3.Connection, timeline: ScopeTimeline) -> list[FoldedItem]:
    """Fold the scopes, by uid, and note their labels in the timeline."""
    for theme_id, uid in conn.execute("SELECT theme_id, uid FROM scopes NOT INDEXED WHERE label = ''"):
        timeline.add(theme_id, "", 0, uid)
    scopes = []
    for first, rows in fold_rows(conn, "scope"):
        columns: dict[str, Any] = dict.fromkeys(sorted(SCOPE.names))
        for row, words in rows:
            SCOPE.fold(columns, words)
            if words.get("label"):
                timeline.add(row.theme_id, str(words["label"]), row.seq, row.uid)
        scopes.append(FoldedItem(first.uid, first.theme_id, columns, first.seq))
    return scopes


def fold_facts(
    conn: sqlite3.Connection, timeline: ScopeTimeline, actors: dict[tuple[str, str], int]
) -> Iterator[FoldedItem]:
    """Yield what each fact must be, by uid. :param actors: keys by kind and name"""
    for first, rows in fold_rows(conn, "fact"):
        if any(row.redacted or row.op == "purge" for row, _ in rows):
            yield FoldedItem(first.uid, first.theme_id, {}, first.seq, is_erased=True)
            continue
        columns: dict[str, Any] = {}
        for row, words in rows:
            if row.begins:
                author = parse_actor(str(words["by"])) if "by" in words else None
                detail: dict[str, Any] = {name: words[name] for name in DETAILS if name in words}
                columns = FACT.initial(row.at) | {
                    "scope": None,
                    "actor_id": row.actor_id if author is None else actors.get((author.kind, author.name)),
                    "origin_id": words.get("origin", row.origin_id),
                    "origin_detail": format_origin_detail(detail),
                }
            FACT.fold(columns, words)
            if "scope" in words or row.begins:
                columns["scope"] = timeline.find(row.theme_id, str(words.get("scope") or ""), row.seq)
        yield FoldedItem(first.uid, first.theme_id, columns, first.seq)


def fold_sessions(conn: sqlite3.Connection) -> Iterator[FoldedItem]:
    """Yield what the journal knows of each session, by uid: not its turns and its lease while it runs."""
    for first, rows in fold_rows(conn, "session"):
        columns: dict[str, Any] = SESSION.initial(first.at) | {"ended_at": None}
        for row, words in rows:
            if row is first:
                columns["started_at"] = words.get("started_at", row.at)
            client = columns["client"]
            SESSION.fold(columns, words)
            if "name" in words and (row is first or is_numbering(words, client)):
                columns |= {name: words.get(name) for name in NUMBERED}
                if "number" in words and columns["client_version"] is None:
                    columns["client_version"] = split_client_version(str(words["client"]))[1]
            columns["ended_at"] = row.at if columns["status"] in ENDED else None
        yield FoldedItem(first.uid, first.theme_id, columns, first.seq)


def fold_turns(conn: sqlite3.Connection) -> Iterator[FoldedItem]:
    """Yield what was captured of each turn, by uid: role, length and digest of what it says, never the text itself."""
    for first, rows in fold_rows(conn, "turn"):
        if first.op == "capture":
            newest, said = next(pair for pair in reversed(rows) if pair[0].op == "capture")  # again after an undo
            words = {**TURN.defaults, "origin": newest.origin_id, **said}
            words["origin_id"] = words.pop("origin")
            yield FoldedItem(first.uid, first.theme_id, words, first.seq)


def load_erased_turns(rows: Iterable[tuple[int, str | None]]) -> tuple[set[bytes], Counter[int]]:
    """Return the turns that erasures name, and how many others each theme lost to erasures that name none.

    :param rows: theme and words of the erasures; those of older versions say only how many there were
    """
    named: set[bytes] = set()
    counted: Counter[int] = Counter()
    for theme_id, after in rows:
        words = parse_words(after)
        if isinstance(words.get("uids"), list):
            for text in words["uids"]:
                with suppress(ValueError):  # damaged text
                    named.add(uids.parse_uid(str(text)))
        elif isinstance(words.get("turns"), int):
            counted[theme_id] += words["turns"]
    return named, counted
