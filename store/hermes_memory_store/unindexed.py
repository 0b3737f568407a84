"""Writing many facts together, though each is brought by itself.

What a statement costs by itself is more than what a row does, and FTS5 writes out what it has gathered whenever another
statement fires a trigger: facts that are written and indexed one by one take several times as long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hermes_memory_store import fulltext
from hermes_memory_store.items import FACT
from hermes_memory_store.model import Actor
from hermes_memory_store.records import FactRow, Mutation, indexed_columns, write_rows

FACET_TRIGGERS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%INSERT INTO facts_text%'"


class Gathering(Mutation):
    """A change whose new facts wait until it is recorded, until one of them changes, or until somebody says `flush`.

    They are not in the tables before: ask `waits` before looking there.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._waiting: list[FactRow] = []
        self._last: dict[int, int] = {}
        self._known: set[object] = set()

    def add(self, row: FactRow) -> None:
        """Wait for more."""
        self._waiting.append(row)
        self._last[row.theme_id] = row.id & 0xFF_FFFF_FFFF
        self._known.add(row.uid)
        self._known.add(place(row.scope_id, row.type, row.target))

    def waits(self, *names: object) -> bool:
        """Whether a fact of one of these uids, or in one of these places, waits."""
        return not self._known.isdisjoint(names)

    def last_number(self, theme_id: int) -> int:
        """The number of the newest fact of a theme, those that wait included."""
        if theme_id not in self._last:
            self._last[theme_id] = super().last_number(theme_id)
        return self._last[theme_id]

    def update_fact(
        self, row: FactRow, op: str, *, by: Actor | None = None, keep_time: bool = False, **columns: Any
    ) -> FactRow:
        """A fact must be there before it changes."""
        self.flush()
        return super().update_fact(row, op, by=by, keep_time=keep_time, **columns)

    def record(self, *, undoes: int | None = None) -> tuple[int, ...]:
        """Write what waits, and append the change to the journal."""
        self.flush()
        return super().record(undoes=undoes)

    def flush(self) -> None:
        """Write what waits."""
        write_rows(self.conn, self._waiting)
        self.index(self._waiting)
        self._waiting.clear()
        self._known.clear()

    def index(self, rows: list[FactRow]) -> None:
        """Make new facts findable."""
        fulltext.index_many(self.conn, map(indexed_columns, rows))


class Unindexed(Gathering):
    """A change that leaves the index alone; use it inside `rebuilding`."""

    def index(self, rows: list[FactRow]) -> None:
        """Not now."""

    def reindex(self, row: FactRow, content: str) -> None:
        """Not now."""


@contextmanager
def rebuilding(conn: sqlite3.Connection) -> Iterator[None]:
    """Let a running transaction of a store that nobody else uses write `Unindexed`, and build the index at its end."""
    triggers = conn.execute(FACET_TRIGGERS).fetchall()
    for name, _ in triggers:
        conn.execute(f"DROP TRIGGER {name}")
    yield
    for _, sql in triggers:
        conn.execute(sql)
    fulltext.rebuild_index(conn, FACT)


def place(scope_id: int, kind: str, target: str) -> tuple[int, str, str]:
    """Where only one fact stands: SQLite compares targets without regard to the case of ASCII letters."""
    return scope_id, kind, target.translate(ASCII_LOWER)


ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
"""How SQLite's NOCASE folds."""
