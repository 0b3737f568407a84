"""Facts of somebody else's memory that may answer a question, as a store in this process's memory that forgets them again.

They are searched by the same code as a store's own, so that where a fact lies changes nothing of how it is ranked. What ranking
needs of all the facts that were left out is said beside: how many there are, and which of these were written next to each other.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, fulltext, tokens, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db, translating
from hermes_memory_store.malformed import checked, moment, one_line
from hermes_memory_store.model import STANDING_TIERS, Actor, FactType, Notation, Tier, Uid
from hermes_memory_store.names import UNSCOPED
from hermes_memory_store.records import FactRow, indexed_columns, notation_chars, write_rows
from hermes_memory_store.schema import THEME_SHIFT
from hermes_memory_store.store import Store
from hermes_memory_store.text_indexes import StoreConnection
from hermes_memory_store.unindexed import place
from hermes_memory_themes import Policies

FAR = 3
"""Facts at least so many places apart have nothing to do with each other."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A fact of somebody else's memory, in portable words (see `travelling.py`)."""

    uid: Uid
    content: str
    attrs: dict[str, Any]
    between: int
    """Facts that were written between the one before it in the list and this one; `FAR` or more need not be told apart."""


class InMemory(Db):
    """A store's tables without a file."""

    def __init__(self) -> None:
        self.path = Path(":memory:")
        self.read_only = False
        self.lock_timeout_s = 0.0
        self.lock = threading.RLock()
        self._forget = []
        self._before_commit = []
        self._content = None
        self.conn = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=256, factory=StoreConnection
        )
        self.conn.deserialize(empty())


@cache
def empty() -> bytes:
    """The tables of a store, empty."""
    from hermes_memory_store.migrations import migrate

    conn = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(conn)
        return conn.serialize()
    finally:
        conn.close()


def gathered(
    theme: str, facts: Sequence[Foreign], *, total: int, scopes: Collection[str], policies: Policies, clock: Clock
) -> Store:
    """A store that holds these facts of one theme, ordered by uid. What is no fact as a store keeps it is left out.

    :param total: facts there are of the theme, from which follows how much a word tells
    :param scopes: labels that exist there, whether one of these facts is in them or not
    """
    with filling(theme, policies, clock) as (store, conn, theme_id):
        keys = {label: scope_of(conn, theme_id, label) for label in {UNSCOPED, *scopes}}
        rows: list[FactRow] = []
        for one, number in zip(facts, numbers([one.between for one in facts], total), strict=True):
            try:
                label = checked(one.attrs["scope"] or UNSCOPED)
                if label not in keys:
                    keys[label] = scope_of(conn, theme_id, label)
                row = row_of(one, (theme_id << THEME_SHIFT) + number, theme_id, keys[label])
                by = store.names.actor(conn, author(one))
            except (errors.StoreError, KeyError, ValueError, TypeError, AttributeError):
                continue
            rows.append(row._replace(actor_id=by))
        rows = one_stands(rows)
        write_rows(conn, rows)
        fulltext.index_many(conn, map(indexed_columns, rows))
        for by in {row.actor_id for row in rows}:  # a filter asks who ever wrote here
            conn.execute(
                "INSERT INTO journal (at, theme_id, actor_id, op, entity, uid, change, salt, hash)"
                " VALUES (0, ?, ?, 'create', 'fact', x'', 0, x'', x'')",
                (theme_id, by),
            )
        conn.execute("UPDATE themes SET last_fact = max(last_fact, ?) WHERE id = ?", (total, theme_id))
    return store


@contextmanager
def filling(theme: str, policies: Policies, clock: Clock) -> Iterator[tuple[Store, sqlite3.Connection, int]]:
    """A store in memory, its connection and the key of its one theme, in one transaction; afterwards it is only read."""
    db = InMemory()
    store = Store(db, clock, policies)
    with db.lock, translating(db.path):
        db.conn.execute("BEGIN")
        yield store, db.conn, store.names.theme_for_writing(db.conn, theme, clock())
        db.conn.execute("COMMIT")
        db.conn.execute("PRAGMA query_only = ON")


def numbers(betweens: Sequence[int], total: int) -> list[int]:
    """Numbers for what was written in this order. What was left out lies between: a word's share of the theme is guessed from how
    far apart those are that have it.

    :param betweens: how many were left out before each; `FAR` or more need not be told apart
    :param total: how many there are
    """
    apart = max(FAR, total // max(1, len(betweens)))
    return list(accumulate(between + 1 if between < FAR - 1 else apart for between in betweens))


def scope_of(conn: sqlite3.Connection, theme_id: int, label: str) -> int:
    """Key of a new scope."""
    sql = "INSERT INTO scopes (uid, theme_id, label, status, opened_at) VALUES (?, ?, ?, 'open', 0)"
    key = conn.execute(sql, (uids.new_uid(0), theme_id, label)).lastrowid
    assert key is not None
    return key


def author(one: Foreign) -> Actor:
    """Who wrote it, by its own words."""
    kind, _, name = str(one.attrs["by"]).partition(":")
    return Actor(kind, name)


def row_of(one: Foreign, key: int, theme_id: int, scope_id: int) -> FactRow:
    """A fact as its table holds it. :raises StoreError: KeyError, ValueError, TypeError: it is none"""
    attrs = one.attrs
    said = Notation(FactType(attrs["type"]), checked(attrs["target"]), one_line(one.content))
    link = attrs.get("superseded_by")
    return FactRow(
        id=key,
        uid=uids.to_bytes(one.uid),
        theme_id=theme_id,
        scope_id=scope_id,
        type=said.type.value,
        target=said.target,
        content=said.content,
        tier=Tier(attrs["tier"]).value,
        pinned=int(bool(attrs["pinned"])),
        chars=notation_chars(said.target, said.content),
        tokens=tokens.estimate(str(said)),
        actor_id=0,
        created_at=moment(attrs["created_at"]),
        updated_at=moment(attrs["updated_at"]),
        superseded_by=None if link is None else uids.to_bytes(link),
        cooled_by=None,
    )


def one_stands(rows: Sequence[FactRow]) -> list[FactRow]:
    """Of several that stand in one place the newest does, as in a store that receives them."""
    standing = {place(row.scope_id, row.type, row.target): row.uid for row in rows if row.tier in STANDING_TIERS}
    return [
        row
        if row.tier not in STANDING_TIERS or (by := standing[place(row.scope_id, row.type, row.target)]) == row.uid
        else row._replace(tier=Tier.SUPERSEDED.value, superseded_by=by, pinned=0)
        for row in rows
    ]
