"""The file of hermes-memory 0.3.0: how to know it, what stands in it, and what its columns mean to us.

Its own full-text index is never read: it is keyed to row numbers that a dump and restore renumbers, so it may point at
the wrong facts. The file knows no version number; its tables are how it is recognised.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Collection, Iterator
from typing import NamedTuple

TABLES = frozenset({"facts", "scopes", "sessions", "facts_fts"})
"""What the file is recognised by, besides having no application id."""

TYPES = {"C": "C", "D": "D", "V": "V", "?": "?", "done": "✓", "obs": "~"}

FOREIGN = uuid.UUID("6f1b6d0e-52c1-5c0e-8f5f-68656d6f7279")
"""Namespace of uids for ids that are not UUIDs (rows that something else than hermes-memory wrote)."""


class OldScope(NamedTuple):
    """A scope, times in seconds."""

    id: str
    label: str
    status: str
    last_referenced: int
    created_at: int
    closed_at: int | None


class OldFact(NamedTuple):
    """A fact, times in seconds."""

    id: str
    type: str
    target: str
    content: str
    scope_id: str | None
    status: str
    superseded_by: str | None
    created_at: int
    updated_at: int
    last_accessed: int | None
    access_count: int


class OldSession(NamedTuple):
    """A session; hermes-memory keeps no end of one."""

    id: str
    started_at: int
    last_turn: int
    active_scope_id: str | None


def recognise(conn: sqlite3.Connection) -> bool:
    """Whether a database is a memory of hermes-memory 0.3.0."""
    if conn.execute("PRAGMA application_id").fetchone()[0] != 0:
        return False
    tables = {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {row[1] for row in conn.execute("PRAGMA table_info(facts)")}
    return tables >= TABLES and columns >= {"source_hash", "access_count", "superseded_by"}


def uid_of(old: str) -> bytes:
    """The uid of a row: its own UUID, or one derived from its id where that is none."""
    try:
        return uuid.UUID(old).bytes
    except ValueError:
        return uuid.uuid5(FOREIGN, old).bytes


def scopes(conn: sqlite3.Connection) -> list[OldScope]:
    """Every scope; of those that share a label the one that lives on comes last (active, then newest)."""
    sql = (
        f"SELECT {', '.join(OldScope._fields)} FROM scopes"
        " ORDER BY status = 'active', status = 'cold', last_referenced, created_at, rowid"
    )
    return [OldScope(*row) for row in conn.execute(sql)]


def facts(conn: sqlite3.Connection) -> Iterator[OldFact]:
    """Every fact, oldest first."""
    sql = f"SELECT {', '.join(OldFact._fields)} FROM facts ORDER BY created_at, rowid"
    return (OldFact(*row) for row in conn.execute(sql))


def sessions(conn: sqlite3.Connection) -> Iterator[OldSession]:
    """Every session, oldest first."""
    sql = f"SELECT {', '.join(OldSession._fields)} FROM sessions ORDER BY started_at, rowid"
    return (OldSession(*row) for row in conn.execute(sql))


def erase(conn: sqlite3.Connection, keys: Collection[bytes]) -> bool:
    """Take facts out of such a file; whether it held any of them."""
    wanted = set(keys)
    found = [(old,) for (old,) in conn.execute("SELECT id FROM facts") if uid_of(old) in wanted]
    if not found:
        return False
    conn.execute("BEGIN IMMEDIATE")
    conn.executemany("UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?", found)
    conn.executemany("DELETE FROM facts WHERE id = ?", found)
    # Its triggers read the index through row numbers that may be wrong by now, so it is made anew instead of trusted.
    conn.execute("INSERT INTO facts_fts (facts_fts) VALUES ('rebuild')")
    conn.execute("INSERT INTO facts_fts (facts_fts) VALUES ('optimize')")
    conn.execute("COMMIT")
    return True
