"""Erasing items for good: their rows, their words in the index, the write-ahead log, and what lies beside the store.

What lies beside the store (backups, vectors, copies of memory files) is reached through a function that `Store` hands in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db, translate_sqlite_errors
from hermes_memory_store.items import fulltext
from hermes_memory_store.items.fulltext import vacuum_store
from hermes_memory_store.items.kinds import ItemKind

CopyEraser = Callable[[ItemKind, Collection[bytes], Collection[bytes]], list[Path]]
"""Erases items from what lies beside the store: their kind, their uids, and which of them are erased for the whole team; the
files that still hold them because they could not be reached."""


class ItemEraser:
    """Erases what a transaction that deleted items left of them."""

    def __init__(self, db: Db, erase_from_copies: CopyEraser, count_copies: Callable[[Collection[bytes]], int]) -> None:
        """Create the eraser of a store. :param count_copies: counts the backups that hold items of these uids"""
        self._db = db
        self._erase_from_copies = erase_from_copies
        self.count_copies = count_copies

    def scrub_items(
        self, kind: ItemKind, keys: Collection[bytes], everywhere: Collection[bytes] = ()
    ) -> tuple[str, ...]:
        """Erase deleted items from old pages of the index, from the unused space of all pages, from the log and from the copies;
        what still holds them because it could not be reached or is damaged.

        :param keys: their uids
        :param everywhere: those that are erased for the whole team, of which a copy's store may not have told it
        """
        with self._db.lock, translate_sqlite_errors(self._db.path):
            with self._db.write_transaction() as conn:
                is_clean = fulltext.optimize_index(conn, kind)
            is_rewritten = True
            if not self._db.conn.in_transaction:
                # `secure_delete` clears a row where it stands. When SQLite moves rows to another page, their bytes stay in the
                # unused space of the page they were on, and what is erased later is cleared on the other one alone.
                try:
                    vacuum_store(self._db)
                except errors.FileError:  # locked, no space: the purge itself is done
                    is_rewritten = False
                finally:
                    self._db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the log holds what was erased
        unreached = [str(copy) for copy in self._erase_from_copies(kind, keys, everywhere)]
        if not is_clean:
            unreached.append(f"{self._db.path} (its damaged full-text index of {kind.table}: run doctor --repair)")
        if not is_rewritten:
            unreached.append(f"{self._db.path} (the unused space of its pages: the next purge clears it)")
        return tuple(unreached)


def delete_items(conn: sqlite3.Connection, kind: ItemKind, rows: Iterable[tuple[int, *tuple[str, ...]]]) -> None:
    """Delete items and take their words out of the index, inside a running transaction. :param rows: keys and indexed texts"""
    for key, *texts in rows:
        fulltext.unindex_item(conn, kind, key, *texts)
        conn.execute(f"DELETE FROM {kind.table} WHERE id = ?", (key,))
