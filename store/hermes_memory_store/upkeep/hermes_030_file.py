"""The file format of hermes-memory 0.3.0: how to recognise it, and how its columns map to a store.

Its own full-text index is never read: it is keyed to row numbers that a dump and restore renumbers, so it may
point at the wrong facts. The file has no version number; it is recognised by its tables.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Collection, Iterator
from typing import NamedTuple

from hermes_memory_store.model import IMPORT

TABLES = frozenset({"facts", "scopes", "sessions", "facts_fts"})
"""What the file is recognised by, besides having no application id."""

TYPES = {"C": "C", "D": "D", "V": "V", "?": "?", "done": "✓", "obs": "~"}

FOREIGN_ID_NAMESPACE = uuid.UUID("6f1b6d0e-52c1-5c0e-8f5f-68656d6f7279")
"""Namespace of uids for ids that are not UUIDs (rows that something else than hermes-memory wrote)."""


class Hermes030Scope(NamedTuple):
    """A scope, times in seconds."""

    id: str
    label: str
    status: str
    last_referenced: int
    created_at: int
    closed_at: int | None

    @property
    def closing(self) -> tuple[int, str] | None:
        """When it was closed, in milliseconds, and by what; None while it is open."""
        if self.status == "active":
            return None
        return int(self.closed_at or self.last_referenced) * 1000, "done" if self.status == "closed" else IMPORT.kind


class Hermes030Fact(NamedTuple):
    """A fact, times in seconds."""

    id: str
    type: str
    target: str
    content: str
    scope_id: str | None
    status: str
    successor: str | None
    created_at: int
    updated_at: int
    last_accessed: int | None
    access_count: int


class Hermes030Session(NamedTuple):
    """A session; hermes-memory records no end of one."""

    id: str
    started_at: int
    last_turn: int
    active_scope_id: str | None


def is_hermes_030(conn: sqlite3.Connection) -> bool:
    if conn.execute("PRAGMA application_id").fetchone()[0] != 0:
        return False
    tables = {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {row[1] for row in conn.execute("PRAGMA table_info(facts)")}
    return tables >= TABLES and columns >= {"source_hash", "access_count", "superseded_by"}


def hermes_030_uid(old: str) -> bytes:
    """Return the uid of a row: its own UUID, or one derived from an id that is none."""
    try:
        return uuid.UUID(old).bytes
    except ValueError:
        return uuid.uuid5(FOREIGN_ID_NAMESPACE, old).bytes


def read_hermes_030_scopes(conn: sqlite3.Connection) -> list[Hermes030Scope]:
    """Read every scope; of those that share a label the surviving one comes last (active, then newest)."""
    sql = (
        f"SELECT {', '.join(Hermes030Scope._fields)} FROM scopes"
        " ORDER BY status = 'active', status = 'cold', last_referenced, created_at, rowid"
    )
    return [Hermes030Scope(*row) for row in conn.execute(sql)]


def read_hermes_030_facts(conn: sqlite3.Connection) -> Iterator[Hermes030Fact]:
    """Read every fact, oldest first."""
    columns = ", ".join(Hermes030Fact._fields).replace("successor", "superseded_by")
    return (Hermes030Fact(*row) for row in conn.execute(f"SELECT {columns} FROM facts ORDER BY created_at, rowid"))


def find_hermes_030_successor(conn: sqlite3.Connection, fact: Hermes030Fact) -> str | None:
    """Find the replacement of a fact, if that was not purged since."""
    row = conn.execute("SELECT id FROM facts WHERE id = ?", (fact.successor,)).fetchone()
    return row[0] if row else None


def read_hermes_030_sessions(conn: sqlite3.Connection) -> Iterator[Hermes030Session]:
    sql = f"SELECT {', '.join(Hermes030Session._fields)} FROM sessions ORDER BY started_at, rowid"
    return (Hermes030Session(*row) for row in conn.execute(sql))


def erase_facts_from_hermes_030(conn: sqlite3.Connection, keys: Collection[bytes]) -> bool:
    """Erase facts from such a file; return whether it held any of them."""
    erased = set(keys)
    rows = [(old,) for (old,) in conn.execute("SELECT id FROM facts") if hermes_030_uid(old) in erased]
    if not rows:
        return False
    conn.execute("BEGIN IMMEDIATE")
    conn.executemany("UPDATE facts SET superseded_by = NULL WHERE superseded_by = ?", rows)
    conn.executemany("DELETE FROM facts WHERE id = ?", rows)
    # Its triggers read the index through row numbers that may be wrong by now, so it is made anew instead of trusted.
    conn.execute("INSERT INTO facts_fts (facts_fts) VALUES ('rebuild')")
    conn.execute("INSERT INTO facts_fts (facts_fts) VALUES ('optimize')")
    conn.execute("COMMIT")
    return True
