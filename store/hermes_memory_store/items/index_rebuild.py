"""Making full-text indexes anew, whatever state they are in (see `text_indexes.py`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import chain

from hermes_memory_store.database.db import Db, translate_sqlite_errors
from hermes_memory_store.database.index_health import INDEXES, SET_ASIDE
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.kinds import ITEM_KINDS


def rebuild_damaged_indexes(db: Db, names: Sequence[str]) -> None:
    """Make full-text indexes anew in one transaction.

    :raises FileError: nothing was changed then
    """
    with empty_indexes(db, names) as conn:
        for name in names:
            fulltext.fill_index(conn, ITEM_KINDS[name])


@contextmanager
def empty_indexes(db: Db, names: Sequence[str]) -> Iterator[sqlite3.Connection]:
    """Remove indexes, whatever their state, and create them anew and empty, in one transaction; fill them before it ends.

    An index leaves by its rows in the schema: to drop it, SQLite would have to read it. Its old pages, which may hold words of
    what was erased since, are given up and overwritten by the VACUUM that follows. VACUUM reads every table there is, so all
    damaged indexes have to leave together.

    :raises FileError: nothing was changed then
    """
    indexes = [INDEXES[name] for name in names]
    # With the parts of another form of FTS5 table, which a damaged schema may name.
    gone = sorted(
        {f"{name}_{part}" for name in names for part in ("content", "docsize")}.union(*(i.parts for i in indexes))
    )
    with closing(Db(db.path, lock_timeout_s=db.lock_timeout_s)) as own:
        own.conn.execute("PRAGMA writable_schema = ON")
        with own.write_transaction() as conn:
            conn.execute(f"DELETE FROM sqlite_master WHERE name IN ({', '.join('?' * len(gone))})", gone)
            version = conn.execute("PRAGMA schema_version").fetchone()[0]
            conn.execute(f"PRAGMA schema_version = {version + 1}")
            conn.execute("PRAGMA writable_schema = RESET")
            for statement in chain.from_iterable(index.statements for index in indexes):
                conn.execute(statement)
            if conn.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (SET_ASIDE,)).fetchone():
                conn.executemany(f"DELETE FROM {SET_ASIDE} WHERE name = ?", [(name,) for name in names])
                if conn.execute(f"SELECT 1 FROM {SET_ASIDE}").fetchone() is None:
                    conn.execute(f"DROP TABLE {SET_ASIDE}")
            yield conn
        with db.lock:
            vacuum_store(own)


def vacuum_store(db: Db) -> None:
    """Write the file anew without pages that belong to nothing. :raises FileError: StoreLocked, DiskFull, …"""
    with db.lock, translate_sqlite_errors(db.path):
        db.retry(lambda: db.conn.execute("VACUUM"))
