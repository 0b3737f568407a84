"""Vectors of facts and turns, in a file of their own beside the store: `memory.db.vectors`.

They are derived: a missing or broken file is rebuilt, no backup holds it, and they find nothing that the store
does not have. They are not anonymous either (a text can be guessed from its vector), so the file is private, what
is erased is overwritten, and a purge of the store erases here as well, whichever program purges.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from hermes_memory_store import uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database import driver
from hermes_memory_store.model import Uid
from hermes_memory_store.system import filesystem

log = logging.getLogger(__name__)

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


class VectorSource(NamedTuple):
    id: int
    uid: bytes
    digest: bytes
    model: str


class Vector(NamedTuple):
    """A stored vector: whole numbers from -127 to 127, and the scale of one unit."""

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
    """The vector file of one store. Threads may share it."""

    def __init__(self, db: Path) -> None:
        """Open the file; create it when there is none, and again when it cannot be read."""
        self.path = vector_file_path(db)
        self._lock = threading.RLock()
        try:
            self._conn = open_vector_file(self.path)
        except driver.DatabaseError as error:
            if not self.path.exists() or isinstance(error, driver.OperationalError):
                raise
            log.warning("%s could not be read (%s); the vectors are made anew", self.path, error)
            remove_vector_file(self.path)
            self._conn = open_vector_file(self.path)
        self._identity = filesystem.file_identity(self.path)

    def is_there(self) -> bool:
        """Check whether the file is still where it was opened; a purge or a person may have removed it."""
        return filesystem.file_identity(self.path) == self._identity

    def close(self) -> None:
        with self._lock:
            self._conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def save(self, vectors: Sequence[Vector]) -> None:
        """Save these, each replacing the previous vector of its fact or turn."""
        with self._write_transaction() as conn:
            seq = conn.execute("UPDATE counts SET value = value + 1 WHERE name = 'seq' RETURNING value").fetchone()[0]
            rows = [(*vector, seq) for vector in vectors]
            conn.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def find_sources(self, kind: str, ids: Sequence[int]) -> dict[int, VectorSource]:
        """Return the sources of the vectors of these facts or turns, by id."""
        sources: dict[int, VectorSource] = {}
        for some in in_chunks(ids):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT id, uid, digest, model FROM vectors WHERE kind = ? AND id IN ({marks})"
            sources.update((row[0], VectorSource(*row)) for row in self._rows(sql, (kind, *some)))
        return sources

    def by_uids(self, kind: str, model: str, wanted: Mapping[Uid, bytes]) -> dict[Uid, bytes]:
        """Return the vectors of these facts or turns, as whole numbers, if they are of this model and text digest."""
        vectors: dict[Uid, bytes] = {}
        names = {uids.parse_uid(uid): uid for uid in wanted}
        for some in in_chunks(list(names)):
            marks = ", ".join("?" * len(some))
            sql = f"SELECT uid, digest, vector FROM vectors WHERE kind = ? AND model = ? AND uid IN ({marks})"
            rows = self._rows(sql, (kind, model, *some))
            vectors.update((names[uid], row) for uid, digest, row in rows if digest == wanted[names[uid]])
        return vectors

    def page(self, kind: str, after: int, limit: int) -> list[VectorSource]:
        """Return the next vectors of a kind by id."""
        sql = "SELECT id, uid, digest, model FROM vectors WHERE kind = ? AND id > ? ORDER BY id LIMIT ?"
        return [VectorSource(*row) for row in self._rows(sql, (kind, after, limit))]

    def in_id_range(
        self, kind: str, model: str, low: int, high: int, *, since: int = 0, newest: int = -1
    ) -> list[tuple[int, float, bytes]]:
        """Return id, scale and vector of those of a model in a range of ids that were saved after `since`, the highest first.

        :param newest: at most this many; all when negative
        """
        sql = (
            "SELECT id, scale, vector FROM vectors WHERE kind = ? AND id BETWEEN ? AND ? AND model = ? AND seq > ?"
            " ORDER BY id DESC LIMIT ?"
        )
        return self._rows(sql, (kind, low, high, model, since, newest))

    def change_counts(self) -> tuple[int, int]:
        """Return the counts of saves and erasures, by which a holder of a copy detects that it is outdated."""
        counts = dict(self._rows("SELECT name, value FROM counts", ()))
        return counts["seq"], counts["erased"]

    def total(self, model: str) -> int:
        return int(self._rows("SELECT count(*) FROM vectors WHERE model = ?", (model,))[0][0])

    def erase_by_ids(self, kind: str, ids: Collection[int]) -> int:
        """Erase the vectors of these ids; return how many there were."""
        return self._erase("kind = ? AND id = ?", [(kind, key) for key in ids])

    def erase_by_uids(self, uids: Collection[bytes]) -> int:
        """Erase the vectors of these facts and turns; return how many there were."""
        number = self._erase("uid = ?", [(uid,) for uid in uids])
        if number:
            with self._lock:
                # A row that moved to another page was left in the unused space of the former one.
                self._conn.execute("VACUUM")
        return number

    def _erase(self, condition: str, arguments: Sequence[tuple[object, ...]]) -> int:
        with self._write_transaction() as conn:
            before = conn.total_changes
            conn.executemany(f"DELETE FROM vectors WHERE {condition}", arguments)
            number = conn.total_changes - before
            if number:
                conn.execute("UPDATE counts SET value = value + 1 WHERE name = 'erased'")
        return number

    @contextmanager
    def _write_transaction(self) -> Iterator[driver.Connection]:
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


def vector_file_path(db: Path) -> Path:
    return db.with_name(f"{db.name}.vectors")


def erase_vectors(db: Path, uids: Collection[bytes]) -> bool:
    """Erase the vectors of what was purged from a store; return whether that was possible.

    A file that cannot be changed is removed: its content can be rebuilt, and what was purged must not stay.
    """
    file = vector_file_path(db)
    if not uids or not file.exists():
        return True
    try:
        with Vectors(db) as vectors:
            vectors.erase_by_uids(uids)
        return True
    except (driver.Error, OSError) as error:
        log.warning("the vectors in %s could not be erased one by one (%s); the file is removed", file, error)
    try:
        remove_vector_file(file)
    except OSError as error:
        log.error("%s still holds vectors of what was purged: %s", file, error)
        return False
    return True


def open_vector_file(file: Path) -> driver.Connection:
    """Open the file, private, with its tables. :raises driver.DatabaseError: it is not a vector file"""
    filesystem.create_private_file(file)
    conn = driver.connect(file, driver.Connection, check_same_thread=False, timeout=WAIT_S)
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


def remove_vector_file(file: Path) -> None:
    """Remove the file, with what SQLite may have left beside it. :raises OSError:"""
    for name in (file, file.with_name(file.name + "-journal")):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
