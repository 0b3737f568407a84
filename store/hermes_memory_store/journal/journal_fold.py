"""Fold the journal forward: what each scope, session, fact and turn must be by now.

The rows about one thing are read together, in the order of uids, so that a journal of any length needs little memory. Only
tables are read, never an index: an index may be what is damaged.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from hermes_memory_store import uids
from hermes_memory_store.items.kinds import FACT, SCOPE, SESSION, TURN, parse_words
from hermes_memory_store.items.origin_rows import format_origin_detail
from hermes_memory_store.items.session_names import NUMBERED, is_numbering
from hermes_memory_store.model import SessionStatus, split_client_version

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
    last: int
    """Sequence number of its newest row."""
    is_erased: bool
    """Whether a purge erased it: it must not be there."""


class ScopeTimeline:
    """Which scope had which label at which row of the journal: facts name their scope by the label it had then."""

    def __init__(self) -> None:
        self._named: dict[tuple[int, str], list[tuple[int, bytes]]] = {}
        self._unscoped: dict[int, bytes] = {}

    def add_unscoped(self, theme_id: int, uid: bytes) -> None:
        self._unscoped[theme_id] = uid

    def add(self, theme_id: int, label: str, seq: int, uid: bytes) -> None:
        self._named.setdefault((theme_id, label), []).append((seq, uid))

    def sort(self) -> None:
        for named in self._named.values():
            named.sort()

    def find(self, theme_id: int, label: str | None, seq: int) -> bytes | None:
        """Find the uid of the scope that had a label when a row was written; None when there was none."""
        if not label:
            return self._unscoped.get(theme_id)
        named = self._named.get((theme_id, label), ())
        place = bisect_left(named, (seq, b""))
        return named[place - 1][1] if place else None


def fold_rows(conn: sqlite3.Connection, entity: str) -> Iterator[list[FoldRow]]:
    rows = map(FoldRow._make, conn.execute(ROWS_OF, (entity,)))
    for _, some in groupby(rows, itemgetter(0)):
        yield list(some)


def parse_journaled_uid(text: object) -> bytes | None:
    try:
        return uids.parse_uid(str(text))
    except ValueError:
        return None


def fold_scopes(conn: sqlite3.Connection, timeline: ScopeTimeline) -> list[FoldedItem]:
    """Fold the scopes, by uid, and note their labels in the timeline."""
    for theme_id, uid in conn.execute("SELECT theme_id, uid FROM scopes NOT INDEXED WHERE label = ''"):
        timeline.add_unscoped(theme_id, uid)
    scopes = []
    for rows in fold_rows(conn, "scope"):
        columns: dict[str, Any] = dict.fromkeys(sorted(SCOPE.names))
        for row in rows:
            words = parse_words(row.after)
            SCOPE.fold(columns, words)
            if "label" in words:
                timeline.add(row.theme_id, str(words["label"]), row.seq, row.uid)
        scopes.append(FoldedItem(rows[0].uid, rows[0].theme_id, columns, rows[0].seq, rows[-1].seq, False))
    timeline.sort()
    return scopes


def fold_facts(
    conn: sqlite3.Connection, timeline: ScopeTimeline, actors: dict[tuple[str, str], int]
) -> Iterator[FoldedItem]:
    """Yield what each fact must be, by uid. :param actors: keys by kind and name"""
    for rows in fold_rows(conn, "fact"):
        first = rows[0]
        if any(row.redacted or row.op == "purge" for row in rows):
            yield FoldedItem(first.uid, first.theme_id, {}, first.seq, rows[-1].seq, True)
            continue
        columns: dict[str, Any] = {}
        for row in rows:
            words = parse_words(row.after)
            if row.begins:
                kind, _, name = str(words.get("by", "")).partition(":")
                author = actors.get((kind, name)) if "by" in words else row.actor_id
                detail: dict[str, Any] = {name: words[name] for name in ("line", "turns") if name in words}
                columns = FACT.initial(row.at) | {"scope": None, "actor_id": author}
                columns |= {
                    "origin_id": words.get("origin", row.origin_id),
                    "origin_detail": format_origin_detail(detail),
                }
            FACT.fold(columns, words)
            if "scope" in words or row.begins:
                columns["scope"] = timeline.find(row.theme_id, str(words.get("scope") or ""), row.seq)
        yield FoldedItem(first.uid, first.theme_id, columns, first.seq, rows[-1].seq, False)


def fold_sessions(conn: sqlite3.Connection) -> Iterator[FoldedItem]:
    """Yield what the journal knows of each session, by uid: not its turns and its lease while it runs."""
    for rows in fold_rows(conn, "session"):
        first = rows[0]
        columns: dict[str, Any] = SESSION.initial(first.at) | {"ended_at": None}
        for row in rows:
            words = parse_words(row.after)
            if row is first:
                columns["started_at"] = words.get("started_at", row.at)
            client = columns["client"]
            SESSION.fold(columns, words)
            if "name" in words and (row is first or is_numbering(words, client)):
                columns |= {name: words.get(name) for name in NUMBERED}
                if "number" in words and columns["client_version"] is None:
                    columns["client_version"] = split_client_version(str(words["client"]))[1]
            columns["ended_at"] = row.at if columns["status"] in ENDED else None
        yield FoldedItem(first.uid, first.theme_id, columns, first.seq, rows[-1].seq, False)


def fold_turns(conn: sqlite3.Connection) -> Iterator[FoldedItem]:
    """Yield what was captured of each turn, by uid: role, length and digest of what it says, never the text itself."""
    for rows in fold_rows(conn, "turn"):
        row = rows[0]
        if row.op == "capture":
            words = {**TURN.defaults, "origin": row.origin_id, **parse_words(row.after)}
            words["origin_id"] = words.pop("origin")
            yield FoldedItem(row.uid, row.theme_id, words, row.seq, rows[-1].seq, False)


def load_erased_turns(rows: Iterable[tuple[int, str | None]]) -> tuple[set[bytes], dict[int, int]]:
    """Return the turns that erasures name, and how many others each theme lost to erasures that name none.

    :param rows: theme and words of the erasures; those of older versions say only how many there were
    """
    named: set[bytes] = set()
    counted: dict[int, int] = {}
    for theme_id, after in rows:
        words = parse_words(after)
        if isinstance(words.get("uids"), list):
            named.update(uid for text in words["uids"] if (uid := parse_journaled_uid(text)) is not None)
        elif isinstance(words.get("turns"), int):
            counted[theme_id] = counted.get(theme_id, 0) + words["turns"]
    return named, counted
