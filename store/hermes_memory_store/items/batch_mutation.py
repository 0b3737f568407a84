"""Batch mutations: facts written together, though each is added by itself.

FTS5 flushes what it has collected whenever another statement fires a trigger: one by one, facts take several times as long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hermes_memory_store.items import fulltext
from hermes_memory_store.items.kinds import FACT, FactRow
from hermes_memory_store.items.mutation import (
    FACT_NUMBER,
    Mutation,
    fact_index_columns,
    find_standing_fact,
    insert_fact_rows,
)
from hermes_memory_store.model import Actor

FACET_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%INSERT INTO facts_text%'"


class BatchMutation(Mutation):
    """A change whose new facts are held until it is recorded, until one of them changes, or until `flush`.

    They are not in the tables before: call `has_pending` before a look-up there.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._waiting: list[FactRow] = []
        self._known: set[object] = set()
        self._is_holding = True

    def insert_row(self, row: FactRow) -> None:
        if not self._is_holding:
            super().insert_row(row)
            return
        self._waiting.append(row)
        self.last_numbers[row.theme_id] = row.id & FACT_NUMBER  # others are not told of it before it is written
        self._known.add(row.uid)
        self._known.add(nocase_place(row.scope_id, row.type, row.target))

    def has_pending(self, *names: object) -> bool:
        """Check whether a fact of one of these uids, or in one of these places, is pending."""
        return not self._known.isdisjoint(names)

    def find_standing(self, scope_id: int, kind: str, target: str, ignored: bytes) -> FactRow | None:
        """Find the standing fact in a place, pending or not. :param ignored: a uid to ignore"""
        if nocase_place(scope_id, kind, target) in self._known:
            self.flush()
        return find_standing_fact(self.conn, scope_id, kind, target, ignored=ignored)

    def update_fact(
        self, row: FactRow, op: str, *, by: Actor | None = None, keep_time: bool = False, **columns: Any
    ) -> FactRow:
        """Write the pending facts, then update one: a fact must be in its table before it changes."""
        self.flush()
        return super().update_fact(row, op, by=by, keep_time=keep_time, **columns)

    def record(self, *, undoes: int | None = None) -> tuple[int, ...]:
        self.flush()
        return super().record(undoes=undoes)

    def stop_holding(self) -> None:
        """Write the pending facts, and further ones as they come."""
        self.flush()
        self._is_holding = False

    def flush(self) -> None:
        if not self._waiting:
            return
        insert_fact_rows(self.conn, self._waiting)
        self.index(self._waiting)
        self._waiting.clear()
        self._known.clear()

    def index(self, rows: list[FactRow]) -> None:
        fulltext.index_items(self.conn, FACT, map(fact_index_columns, rows))


class UnindexedMutation(BatchMutation):
    """A change that leaves the index alone; use it inside `defer_indexing`."""

    def index(self, rows: list[FactRow]) -> None:
        """Do nothing; the index is rebuilt later."""

    def reindex(self, row: FactRow, content: str) -> None:
        """Do nothing; the index is rebuilt later."""


@contextmanager
def drop_facet_triggers(conn: sqlite3.Connection) -> Iterator[None]:
    """Write facts in a running transaction without indexing them; the index has to be built anew afterwards."""
    triggers = conn.execute(FACET_TRIGGERS).fetchall()
    for name, _ in triggers:
        conn.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in triggers:
        conn.execute(sql)


@contextmanager
def defer_indexing(conn: sqlite3.Connection) -> Iterator[None]:
    """Defer indexing in a running transaction that writes `UnindexedMutation`; rebuild the index at its end.

    Only for a store that no other process uses.
    """
    with drop_facet_triggers(conn):
        yield
    fulltext.rebuild_index(conn, FACT)


def nocase_place(scope_id: int, kind: str, target: str) -> tuple[int, str, str]:
    """Return the place of a fact as SQLite compares it: ASCII letters of targets regardless of case."""
    return scope_id, kind, target.lower() if target.isascii() else target.translate(ASCII_LOWER)


ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
"""How SQLite's NOCASE folds."""
