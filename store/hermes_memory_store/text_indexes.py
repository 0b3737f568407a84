"""Which full-text indexes can be used, and what becomes of one that is damaged.

An index is derived from facts or turns, so damage to it must not stand in the way of either. Who meets damage while writing
sets the index aside, in a transaction of its own: a row in `set_aside_indexes` says why, and the triggers that feed the index go.
From then on every process leaves it alone: writes keep the fact without it, and searches read the texts themselves (see
`scanning.py`), so that nothing is missed, until `index_repair.py` makes it anew. A trigger or a table of an index that is missing
counts as set aside, too: such an index is no longer told of every change.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from hermes_memory_store import errors
from hermes_memory_store.schema import FIRST_SCHEMA, SECOND_SCHEMA

P = ParamSpec("P")
R = TypeVar("R")

FACTS, TURNS = "facts_text", "turns_text"

SET_ASIDE = "set_aside_indexes"

SET_ASIDE_TABLE = f"""
    CREATE TABLE IF NOT EXISTS {SET_ASIDE} (
      name TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      why TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
"""
"""There only while an index is set aside: no store needs it otherwise."""

_CREATED = re.compile(r"\s*CREATE (?:VIRTUAL )?(TABLE|TRIGGER) (\w+)")


@dataclass(frozen=True, slots=True)
class TextIndex:
    """One full-text index as the schema makes it."""

    name: str
    of: str
    """What is indexed, for messages."""
    statements: tuple[str, ...]
    """What makes it: its virtual tables and its triggers."""

    @property
    def tables(self) -> list[str]:
        """Its virtual tables."""
        return [name for kind, name in map(created_by, self.statements) if kind == "TABLE"]

    @property
    def triggers(self) -> list[str]:
        """The triggers that tell it of changes."""
        return [name for kind, name in map(created_by, self.statements) if kind == "TRIGGER"]

    @property
    def shadow_tables(self) -> list[str]:
        """The ordinary tables in which FTS5 keeps it (https://sqlite.org/fts5.html, section 9)."""
        return [f"{self.name}_{part}" for part in ("data", "idx", "config")]

    @property
    def parts(self) -> frozenset[str]:
        """Everything of it that stands in the schema."""
        return frozenset(self.tables + self.triggers + self.shadow_tables)


def created_by(statement: str) -> tuple[str, str]:
    """Kind and name of what a statement of the schema creates; empty for others."""
    found = _CREATED.match(statement)
    return (found[1], found[2]) if found else ("", "")


def belonging_to(name: str, statements: tuple[str, ...]) -> tuple[str, ...]:
    """The statements that make an index, its vocabulary and its triggers."""
    return tuple(
        one
        for one in statements
        if ("VIRTUAL TABLE" in one or "CREATE TRIGGER" in one) and re.search(rf"\b{name}\b", one) is not None
    )


INDEXES = {
    FACTS: TextIndex(FACTS, "facts", belonging_to(FACTS, FIRST_SCHEMA)),
    TURNS: TextIndex(TURNS, "turns", belonging_to(TURNS, SECOND_SCHEMA)),
}


class StoreConnection(sqlite3.Connection):
    """A connection that remembers which indexes its schema says can be used."""

    schema_seen: int | None = None
    troubles: dict[str, str]


def troubles(conn: sqlite3.Connection) -> dict[str, str]:
    """Why indexes cannot be used, by name; empty when all can. A look at the schema's version is all it mostly takes."""
    if not isinstance(conn, StoreConnection):
        return read_troubles(conn)
    version = conn.execute("PRAGMA schema_version").fetchone()[0]
    if version != conn.schema_seen:
        conn.troubles = read_troubles(conn)
        conn.schema_seen = version
    return conn.troubles


def note_of(name: str) -> str:
    """What is said beside an answer that was found without an index."""
    of = INDEXES[name].of
    return (
        f"the full-text index of {of} is damaged: the {of} themselves were read, which is slower; run doctor --repair"
    )


def is_usable(conn: sqlite3.Connection, name: str) -> bool:
    """Whether an index can be written to and searched."""
    return name not in troubles(conn)


def read_troubles(conn: sqlite3.Connection) -> dict[str, str]:
    """`troubles`, from the schema itself."""
    there = {name for (name,) in conn.execute("SELECT name FROM sqlite_master")}
    found: dict[str, str] = {}
    for index in INDEXES.values():
        missing = sorted(index.parts - there)
        if missing:
            found[index.name] = f"{', '.join(missing)} missing"
    if SET_ASIDE in there:
        found |= dict(conn.execute(f"SELECT name, why FROM {SET_ASIDE}"))
    return found


def damaged_indexes(conn: sqlite3.Connection, error: BaseException) -> list[str]:
    """The indexes that an error of SQLite is about; none when it is about something else.

    Damage is named by SQLite's code alone, so the indexes are read to see whether it is theirs. Only an error leads here.
    """
    found = sqlite_error(error)
    if found is None:
        return []
    named = [name for name in INDEXES if name in str(found) or f"{name[:-5]}_words" in str(found)]
    if named:
        return named
    code = int(getattr(found, "sqlite_errorcode", 0) or 0)
    # A constraint without a name is one of FTS5's own tables: our constraints say which they are.
    from_fts5 = code == sqlite3.SQLITE_CORRUPT_VTAB or "fts5" in str(found) or str(found) == "constraint failed"
    if not from_fts5 and code & 0xFF != sqlite3.SQLITE_CORRUPT:
        return []
    return [index.name for index in INDEXES.values() if not is_readable(conn, index)] or (
        list(INDEXES) if from_fts5 else []
    )


def sqlite_error(error: BaseException | None) -> sqlite3.Error | None:
    """SQLite's error, also where it was turned into one of ours."""
    while error is not None and not isinstance(error, sqlite3.Error):
        error = error.__cause__
    return error


def is_readable(conn: sqlite3.Connection, index: TextIndex) -> bool:
    """Whether every entry of an index can be read, in its tables and by FTS5."""
    try:
        for table in index.shadow_tables:
            conn.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() if table.endswith("_config") else drain(
                conn.execute(f"SELECT * FROM {table}")
            )
        conn.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{index.name}_read USING fts5vocab (main, {index.name}, row)"
        )
        drain(conn.execute(f"SELECT term, doc, cnt FROM temp.{index.name}_read"))
    except sqlite3.DatabaseError:
        return False
    return True


def drain(rows: sqlite3.Cursor) -> None:
    """Read all rows, and keep none."""
    for _ in rows:
        pass


def note_trouble(conn: sqlite3.Connection, name: str, error: BaseException) -> None:
    """Remember what a search met, until the schema changes: the next ones do without, and the next write tells all."""
    if isinstance(conn, StoreConnection):
        troubles(conn)[name] = str(sqlite_error(error))


def confirm_troubles(conn: sqlite3.Connection) -> None:
    """Tell every process of the indexes that cannot be used, within a transaction that writes: nothing may be missing from an
    index that somebody still searches, and what is left of its triggers must not fail a write."""
    known = troubles(conn)
    if known:
        write_set_aside(conn, known)


def set_aside(conn: sqlite3.Connection, names: Iterable[str], why: str) -> None:
    """Let nobody use these indexes any more, in a transaction of its own."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        write_set_aside(conn, dict.fromkeys(names, why))
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def write_set_aside(conn: sqlite3.Connection, reasons: Mapping[str, str]) -> None:
    """Record why indexes are set aside, and stop the triggers that feed them; nothing is written of those that are already."""
    there = {name for (name,) in conn.execute("SELECT name FROM sqlite_master")}
    if SET_ASIDE not in there:
        conn.execute(SET_ASIDE_TABLE)
    for name, why in reasons.items():
        for trigger in there.intersection(INDEXES[name].triggers):
            conn.execute(f"DROP TRIGGER {trigger}")
        known = conn.execute(f"SELECT 1 FROM {SET_ASIDE} WHERE name = ?", (name,)).fetchone()
        if known is None:
            now = time.time_ns() // 1_000_000
            conn.execute(f"INSERT INTO {SET_ASIDE} VALUES (?, ?, ?)", (name, now, why[:200]))


def again_without_index(method: Callable[P, R]) -> Callable[P, R]:
    """Let a method that writes begin again when an index turned out to be damaged: nothing was changed, and it is set aside now.

    For methods of what has a `_db`. Inside somebody else's transaction the error goes on to whoever began that.
    """

    @functools.wraps(method)
    def persistent(*args: P.args, **named: P.kwargs) -> R:
        given: Any = tuple(list(one) if isinstance(one, Iterator) else one for one in args)
        conn = given[0]._db.conn
        for _ in INDEXES:
            try:
                return method(*given, **named)
            except errors.IndexDamaged:
                if conn.in_transaction:
                    raise
        return method(*given, **named)

    return persistent
