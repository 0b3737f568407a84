"""Index health: which full-text indexes can be used, and how a damaged one is disabled.

Damage to an index must block neither facts nor turns. A process that meets it while writing disables the index in a transaction
of its own: a row in `set_aside_indexes` says why, and the triggers that feed it are dropped. Writes go without it then, and
searches read the texts themselves (`find/text_scan.py`), until `rebuild_damaged_indexes`. An index with a missing trigger or
table counts as disabled, too: it no longer receives every change.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from hermes_memory_store import errors
from hermes_memory_store.database import driver
from hermes_memory_store.database.schema import load_schemas
from hermes_memory_store.frozen import dataclass

P = ParamSpec("P")
R = TypeVar("R")

FACTS, TURNS = "facts_text", "turns_text"

SET_ASIDE = "set_aside_indexes"

SET_ASIDE_TABLE = f"""
    CREATE TABLE {SET_ASIDE} (
      name TEXT PRIMARY KEY,
      at INTEGER NOT NULL,
      why TEXT NOT NULL
    ) STRICT, WITHOUT ROWID
"""
"""There only while an index is set aside: no store needs it otherwise."""


@dataclass(frozen=True, slots=True)
class TextIndex:
    name: str
    of: str
    """What is indexed, for messages."""
    tables: tuple[str, ...]
    """Its virtual tables."""
    triggers: tuple[str, ...]
    """The triggers that pass changes to it."""

    @property
    def statements(self) -> tuple[str, ...]:
        """What makes its tables and triggers; of two that create the same, the last."""
        created = re.compile(rf"\s*CREATE (?:VIRTUAL TABLE|TRIGGER) ({'|'.join(self.tables + self.triggers)})\b")
        statements = (statement for schema in load_schemas().values() for statement in schema)
        return tuple({match[1]: match.string for match in map(created.match, statements) if match}.values())

    @property
    def shadow_tables(self) -> list[str]:
        """The ordinary tables in which FTS5 stores it (https://sqlite.org/fts5.html, section 9)."""
        return [f"{self.name}_{part}" for part in ("data", "idx", "config")]

    @property
    def parts(self) -> frozenset[str]:
        return frozenset((*self.tables, *self.triggers, *self.shadow_tables))


INDEXES = {
    FACTS: TextIndex(FACTS, "facts", ("facts_text", "facts_words"), ("facts_refaceted", "facts_unfaceted")),
    TURNS: TextIndex(TURNS, "turns", ("turns_text", "turns_words"), ()),
}


SQLITE_FAILURES = (driver.Error, MemoryError, OverflowError)
"""What a statement raises; the last two where a value, or a length in a damaged index, is beyond what SQLite can hold."""


class StoreConnection(driver.Connection):
    """A connection that caches which indexes its schema marks as usable."""

    schema_seen: int | None = None
    is_checked = False
    """Whether a transaction is running, in which no other process changes the schema, and its troubles are known."""
    troubles: dict[str, str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.troubles = {}


def index_troubles(conn: driver.Connection) -> dict[str, str]:
    """Return the reasons why indexes cannot be used, by name; mostly this only compares the schema's version."""
    if not isinstance(conn, StoreConnection):
        return load_index_troubles(conn)
    # A damaged index is looked for after a transaction has failed, too, when others may write again.
    if conn.is_checked and conn.in_transaction:
        return conn.troubles
    version = conn.execute("PRAGMA schema_version").fetchone()[0]
    if version != conn.schema_seen:
        conn.troubles = load_index_troubles(conn)
        conn.schema_seen = version
    return conn.troubles


def index_note(name: str) -> str:
    """Return the note shown beside an answer found without an index."""
    of = INDEXES[name].of
    return (
        f"the full-text index of {of} is damaged: the {of} themselves were read, which is slower; run doctor --repair"
    )


def is_index_usable(conn: driver.Connection, name: str) -> bool:
    return name not in index_troubles(conn)


def load_index_troubles(conn: driver.Connection) -> dict[str, str]:
    there = {name for (name,) in conn.execute("SELECT name FROM sqlite_master")}
    troubles: dict[str, str] = {}
    for index in INDEXES.values():
        missing = sorted(index.parts - there)
        if missing:
            troubles[index.name] = f"{', '.join(missing)} missing"
    if SET_ASIDE in there:
        troubles |= dict(conn.execute(f"SELECT name, why FROM {SET_ASIDE}"))
    return troubles


def find_damaged_indexes(conn: driver.Connection, error: BaseException) -> list[str]:
    """Find the indexes that an SQLite error is about: damage is reported by a code alone, so they are read."""
    cause = find_sqlite_error(error)
    if cause is None:
        return []
    named = [name for name in INDEXES if name in str(cause) or f"{name[:-5]}_words" in str(cause)]
    if named:
        return named
    code = int(getattr(cause, "sqlite_errorcode", 0) or 0)
    # FTS5 believes the lengths in a damaged block, and asks for more memory than there is.
    is_size = not isinstance(cause, driver.Error) or code & 0xFF in (driver.SQLITE_NOMEM, driver.SQLITE_TOOBIG)
    # A constraint without a name is one of FTS5's own tables: our constraints say which they are.
    is_fts5 = code == driver.SQLITE_CORRUPT_VTAB or "fts5" in str(cause) or str(cause) == "constraint failed"
    if not is_size and not is_fts5 and code & 0xFF != driver.SQLITE_CORRUPT:
        return []
    unreadable = [index.name for index in INDEXES.values() if not is_index_readable(conn, index)]
    return list(INDEXES) if is_fts5 and not is_size and not unreadable else unreadable


def find_sqlite_error(error: BaseException | None) -> BaseException | None:
    """Find what SQLite raised, also behind one of the store's own errors."""
    while error is not None and not isinstance(error, SQLITE_FAILURES):
        error = error.__cause__
    return error


def is_index_readable(conn: driver.Connection, index: TextIndex) -> bool:
    try:
        for table in index.shadow_tables:
            drain_rows(conn.execute(f"SELECT * FROM {table} ORDER BY 1"))
        vocabulary = f"temp.{index.name}_read"
        conn.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS {vocabulary} USING fts5vocab (main, {index.name}, row)")
        drain_rows(conn.execute(f"SELECT term, doc, cnt FROM {vocabulary}"))
    except SQLITE_FAILURES:
        return False
    return True


def drain_rows(rows: driver.Cursor) -> None:
    for _ in rows:
        pass


def note_index_trouble(conn: driver.Connection, name: str, error: BaseException) -> None:
    """Note damage met by a search: the next searches avoid the index, and the next write announces it to all processes.

    :raises BaseException: the error, where the index is sound
    """
    if name not in find_damaged_indexes(conn, error):
        raise error
    if isinstance(conn, StoreConnection):
        index_troubles(conn)[name] = str(find_sqlite_error(error))


def disable_indexes(conn: driver.Connection, names: Iterable[str], reason: str) -> None:
    conn.execute("BEGIN IMMEDIATE")
    try:
        write_disabled_indexes(conn, dict.fromkeys(names, reason))
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def write_disabled_indexes(conn: driver.Connection, reasons: Mapping[str, str]) -> None:
    """Record why indexes are disabled, and drop the triggers that feed them; skip those already disabled."""
    there = {name for (name,) in conn.execute("SELECT name FROM sqlite_master")}
    for trigger in there.intersection(trigger for name in reasons for trigger in INDEXES[name].triggers):
        conn.execute(f"DROP TRIGGER {trigger}")
    if SET_ASIDE not in there:
        conn.execute(SET_ASIDE_TABLE)
    now = time.time_ns() // 1_000_000
    rows = [(name, now, reason[:200]) for name, reason in reasons.items()]
    if conn.executemany(f"INSERT OR IGNORE INTO {SET_ASIDE} VALUES (?, ?, ?)", rows).rowcount and SET_ASIDE in there:
        # Connections look when the schema has changed, which another row alone does not do.
        conn.execute("CREATE VIEW another_set_aside AS SELECT 1")
        conn.execute("DROP VIEW another_set_aside")


def retry_without_index(method: Callable[P, R]) -> Callable[P, R]:
    """Retry a writing method of an object with a `_db` when an index turned out to be damaged: it is disabled now.

    Inside another caller's transaction the error propagates to the one who began it.
    """

    @functools.wraps(method)
    def persistent(*args: P.args, **named: P.kwargs) -> R:
        arguments: Any = tuple(list(argument) if isinstance(argument, Iterator) else argument for argument in args)
        conn = arguments[0]._db.conn
        for _ in INDEXES:
            try:
                return method(*arguments, **named)
            except errors.IndexDamaged:
                if conn.in_transaction:
                    raise
        return method(*arguments, **named)

    return persistent
