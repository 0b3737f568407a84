"""Vectors of facts and turns, in a file of their own beside the store: `memory.db.vectors`.

They are derived: a missing or broken file is made anew, no backup holds it, and nothing is found by them that the store does
not have. They are not anonymous either (a text can be guessed from its vector), so the file is private, what is erased is
overwritten, and a purge of the store erases here in the same breath, whoever purges.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hermes_memory_store import filesystem, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.model import Uid

log = logging.getLogger(__name__)

SUFFIX = ".vectors"

VERSION = 1

WAIT_S = 2.0
"""How long another process may hold the file. It is only ever held for one small batch."""

KINDS = ("fact", "turn")

SCHEMA = """
    CREATE TABLE vectors (
      kind TEXT NOT NULL,
      id INTEGER NOT NULL,
      uid BLOB NOT NULL,
      digest BLOB NOT NULL,
      model TEXT NOT NULL,
      scale REAL NOT NULL,
      vector BLOB NOT NULL,
      seq INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX vectors_by_uid ON vectors (uid);
    CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO counts VALUES ('seq', 0), ('erased', 0);
"""


@dataclass(frozen=True, slots=True)
class Known:
    """What a vector was made of."""

    id: int
    uid: bytes
    digest: bytes
    model: str


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector as it is kept: whole numbers from -127 to 127, and what one of them stands for."""

    kind: str
    id: int
    """Id of the fact or turn in the store, so that a theme is one range of them."""
    uid: bytes
    digest: bytes
    """Of the text it was made of."""
    model: str
    scale: float
    vector: bytes


class Vectors:
    """The sidecar of one store. Threads may share it."""

    def __init__(self, db: Path) -> None:
        """Opens the file, made when there is none, and made anew when it cannot be read."""
        self.path = place(db)
        self._lock = threading.RLock()
        try:
            self._conn = opened(self.path)
        except sqlite3.DatabaseError as error:
            if not self.path.exists() or isinstance(error, sqlite3.OperationalError):
                raise
            log.warning("%s could not be read (%s); the vectors are made anew", self.path, error)
            remove(self.path)
            self._conn = opened(self.path)
        self._identity = filesystem.identity(self.path)

    def is_there(self) -> bool:
        """Whether the file still stands where it was opened; a purge or a person may have taken it away."""
        return filesystem.identity(self.path) == self._identity

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keep(self, vectors: Sequence[Vector]) -> None:
        """Keep these, each in the place of what its fact or turn had before."""
        with self._writing() as conn:
            seq = conn.execute("UPDATE counts SET value = value + 1 WHERE name = 'seq' RETURNING value").fetchone()[0]
            conn.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(one.kind, one.id, one.uid, one.digest, one.model, one.scale, one.vector, seq) for one in vectors],
            )

    def known(self, kind: str, ids: Sequence[int]) -> dict[int, Known]:
        """What these facts or turns have, by id."""
        found: dict[int, Known] = {}
        for some in in_chunks(ids):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT id, uid, digest, model FROM vectors WHERE kind = ? AND id IN ({marks})"
            found.update((row[0], Known(*row)) for row in self._rows(sql, (kind, *some)))
        return found

    def of_uids(self, model: str, wanted: Mapping[Uid, bytes]) -> dict[Uid, bytes]:
        """The vectors of these facts, as whole numbers, where they are of this model and of the text with this digest."""
        found: dict[Uid, bytes] = {}
        names = {uids.to_bytes(uid): uid for uid in wanted}
        for some in in_chunks(list(names)):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT uid, digest, vector FROM vectors WHERE kind = 'fact' AND model = ? AND uid IN ({marks})"
            rows = self._rows(sql, (model, *some))
            found.update((names[uid], row) for uid, digest, row in rows if digest == wanted[names[uid]])
        return found

    def page(self, kind: str, after: int, limit: int) -> list[Known]:
        """The next of a kind by id."""
        sql = "SELECT id, uid, digest, model FROM vectors WHERE kind = ? AND id > ? ORDER BY id LIMIT ?"
        return [Known(*row) for row in self._rows(sql, (kind, after, limit))]

    def within(
        self, kind: str, model: str, low: int, high: int, *, since: int = 0, newest: int = -1
    ) -> list[tuple[int, float, bytes]]:
        """Id, scale and vector of those of a model in a range of ids, the highest first.

        :param since: only those kept after this `seq`
        :param newest: at most so many; all when negative
        """
        sql = (
            "SELECT id, scale, vector FROM vectors WHERE kind = ? AND id BETWEEN ? AND ? AND model = ? AND seq > ?"
            " ORDER BY id DESC LIMIT ?"
        )
        return self._rows(sql, (kind, low, high, model, since, newest))

    def counts(self) -> tuple[int, int]:
        """How often something was kept and erased so far; who holds a copy sees by it whether that is still true."""
        found = dict(self._rows("SELECT name, value FROM counts", ()))
        return found["seq"], found["erased"]

    def total(self, model: str) -> int:
        """How many there are of a model."""
        return int(self._rows("SELECT count(*) FROM vectors WHERE model = ?", (model,))[0][0])

    def forget(self, kind: str, ids: Collection[int]) -> int:
        """Erase those of these ids; how many there were."""
        with self._writing() as conn:
            before = conn.total_changes
            conn.executemany("DELETE FROM vectors WHERE kind = ? AND id = ?", [(kind, key) for key in ids])
            return erased(conn, before)

    def forget_uids(self, uids: Collection[bytes]) -> int:
        """Erase those of these facts and turns; how many there were."""
        with self._writing() as conn:
            before = conn.total_changes
            conn.executemany("DELETE FROM vectors WHERE uid = ?", [(uid,) for uid in uids])
            return erased(conn, before)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._conn.execute("BEGIN IMMEDIATE")
            try:
                yield self._conn
            except BaseException:
                self._conn.execute("ROLLBACK")
                raise
            self._conn.execute("COMMIT")

    def _rows(self, sql: str, args: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._conn.execute(sql, args).fetchall()


def place(db: Path) -> Path:
    """Where the vectors of a store stand."""
    return db.with_name(db.name + SUFFIX)


def erase(db: Path, uids: Collection[bytes]) -> bool:
    """Erase the vectors of what was purged from a store; whether that could be done. A file that cannot be changed is removed:
    what it held can be made again, what was purged must not stay."""
    file = place(db)
    if not uids or not file.exists():
        return True
    try:
        with Vectors(db) as vectors:
            vectors.forget_uids(uids)
        return True
    except (sqlite3.Error, OSError) as error:
        log.warning("the vectors in %s could not be erased one by one (%s); the file is removed", file, error)
    try:
        remove(file)
    except OSError as error:
        log.error("%s still holds vectors of what was purged: %s", file, error)
        return False
    return True


def erased(conn: sqlite3.Connection, before: int) -> int:
    """Count what was erased since then."""
    number = conn.total_changes - before
    if number:
        conn.execute("UPDATE counts SET value = value + 1 WHERE name = 'erased'")
    return number


def opened(file: Path) -> sqlite3.Connection:
    """The file, private, with its tables. :raises sqlite3.DatabaseError: it is none of ours"""
    filesystem.create_private(file)
    conn = sqlite3.connect(file, isolation_level=None, check_same_thread=False, timeout=WAIT_S)
    try:
        # No write-ahead log: what was erased would stay in it. FULL gives free pages back with every commit.
        conn.execute("PRAGMA secure_delete = ON")
        version = conn.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            conn.execute("PRAGMA auto_vacuum = FULL")
            conn.execute("PRAGMA journal_mode = DELETE")
            conn.execute("BEGIN IMMEDIATE")
            if conn.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                for table in ("vectors", "counts"):
                    conn.execute(f"DROP TABLE IF EXISTS {table}")
                for statement in filter(str.strip, SCHEMA.split(";")):
                    conn.execute(statement)
                conn.execute(f"PRAGMA user_version = {VERSION}")
            conn.execute("COMMIT")
        conn.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        conn.close()
        raise
    return conn


def remove(file: Path) -> None:
    """Take the file away, with what SQLite may have left beside it. :raises OSError:"""
    for name in (file, file.with_name(file.name + "-journal")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
