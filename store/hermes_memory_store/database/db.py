"""The connection: short `BEGIN IMMEDIATE` transactions, bounded retries with jitter, and translated errors.

A write that waited too long is rolled back and reported. Each write first makes sure that the open file still has its name, and
still is of this program's version: nothing is acknowledged that went into a deleted file.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from hermes_memory_store import errors
from hermes_memory_store.backoff import Backoff
from hermes_memory_store.database import driver, store_version, write_ahead_log
from hermes_memory_store.database.index_health import (
    SQLITE_FAILURES,
    StoreConnection,
    disable_indexes,
    find_damaged_indexes,
    find_sqlite_error,
    index_troubles,
    is_index_usable,
    write_disabled_indexes,
)
from hermes_memory_store.database.store_reading import file_size
from hermes_memory_store.database.written_facts import find_altered_facts
from hermes_memory_store.system import filesystem

T = TypeVar("T")

K = TypeVar("K")

C = TypeVar("C", bound=driver.Connection)

LOCK_TIMEOUT_S = 10.0
"""How long a write waits for other processes before it gives up with `StoreLocked`."""

BUSY_MS = 30
"""SQLite's own waiting, kept short: its handler is not fair, ours retries with jitter."""

RETRY_S = 0.008
"""Upper bound of one jittered pause between two tries for the lock."""

BUSY_DELAYS = Backoff(RETRY_S, RETRY_S, jitter=15 / 16)
"""From 0.5 ms to `RETRY_S`, not growing: the lock is taken by whoever asks first, and a long pause would starve a writer."""

MOST_KEPT, MOST_KINDS = 4_096, 16
"""Statements, and items of each kind, whose rows are kept while the store does not change; kinds of items."""

CACHE_KIB = 8_000
"""Page cache of one connection."""


class TransactionEnded(RuntimeError):
    """A transaction is over before its end, and what was written in it is gone."""


class Db:
    """One SQLite connection with the store's rules. Threads of one process may share it; a lock orders them."""

    write_refusal: errors.FileError | None = None
    """Why nothing can be written beside the file, of which no later changes are seen then."""
    transaction = 0
    """Number of the running write transaction; 0 outside of one."""
    _transactions = 0
    _is_snapshot = False
    _is_deferred = False
    """Whether a transaction ends with `deferred_transaction` and not with the write that began it."""
    _log: int | None = None
    """A handle of the log that this connection writes to."""
    _log_identity: tuple[int, int] | None = None
    _data: int | None = None
    """SQLite's number for the newest change of others that was checked: only what they did is checked again."""
    _content: int | None = None
    """The schema's version when the caches were filled."""
    _known_content: int | None = None
    """The schema whose migrations are known to be this program's."""

    def __init__(self, path: Path, *, read_only: bool = False, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self.path = path
        self._file_name, self._log_name = os.fspath(path), f"{path}-wal"
        self.read_only = read_only
        self.lock_timeout_s = lock_timeout_s
        self.lock = threading.RLock()
        self._forget: list[Callable[[], None]] = []
        self._before_commit: list[Callable[[driver.Connection], None]] = []
        self.rescue: Callable[[], str] | None = None
        """Saves the content of a file that has lost its name, once, and says where; set by the store."""
        self._kept: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]] = self.rows
        self._kept_items: dict[str, dict[Any, Any]] = {}
        self._kept_state = (0, 0)
        self._rescued: str | None = None
        self._open()

    def _open(self) -> None:
        with translate_sqlite_errors(self.path):
            write_ahead_log.set_aside_foreign_log(self.path)
            write_ahead_log.take_back_own_log(self.path)
            self.conn, self.file = self._connect("ro" if self.read_only else "rw")
            # What is overwritten or deleted is cleared where it stands; a purge clears what SQLite left of rows that moved.
            self.conn.execute("PRAGMA secure_delete = ON")
            self.conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def _connect(self, mode: str) -> tuple[StoreConnection, tuple[int, int] | None]:
        options = {"check_same_thread": False, "timeout": BUSY_MS / 1000, "cached_statements": 256}
        while True:
            identity = filesystem.file_identity(self.path)
            conn, self.write_refusal = connect_file(self.path, mode, StoreConnection, **options)
            if filesystem.file_identity(self.path) == identity:
                return conn, identity
            conn.close()  # replaced meanwhile: nobody can tell which of the two is open

    def on_rollback(self, forget: Callable[[], None]) -> None:
        """Register a cache to clear when a transaction is rolled back, since it may hold ids that do not exist."""
        self._forget.append(forget)

    def before_commit(self, step: Callable[[driver.Connection], None]) -> None:
        """Register a step to run at the end of every write transaction, within it."""
        self._before_commit.append(step)

    def rows(self, sql: str, args: Sequence[Any] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        with self.lock:
            try:
                return self.conn.execute(sql, args).fetchall()
            except (*SQLITE_FAILURES, UnicodeEncodeError):  # mostly a lock, for which `retry` waits
                with translate_sqlite_errors(self.path):
                    return self.retry(lambda: self.conn.execute(sql, args).fetchall())

    def state(self) -> tuple[int, int]:
        """Return what every change of the store, of whatever connection, changes."""
        with translate_sqlite_errors(self.path):
            (version,) = self.retry(lambda: self.conn.execute("PRAGMA data_version").fetchone())
            return version, self.conn.total_changes

    def kept_rows(self) -> Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]:
        """Return what reads as `rows` does, and a statement only once while the store does not change."""
        with self.lock:
            if self.transaction:
                return self.rows
            self._notice_changes()
            return self._kept

    def load_kept(self, what: str, keys: Sequence[K], load: Callable[[list[K]], Mapping[K, T]]) -> dict[K, T]:
        """Return what `load` reads of these keys, each of which it is asked for only once while the store does not change."""
        with self.lock:
            items: dict[K, T] = {}
            if not self.transaction:
                self._notice_changes()
                if len(self._kept_items) > MOST_KINDS:
                    self._kept_items.clear()
                items = self._kept_items.setdefault(what, items)
            if len(items) > MOST_KEPT:
                items.clear()
            if missing := [key for key in keys if key not in items]:
                items.update(load(missing))
            return {key: items[key] for key in keys if key in items}

    def _notice_changes(self) -> None:
        """Forget what was read in another state of the store; within a snapshot there is none."""
        state = self._kept_state if self._is_snapshot else self.state()
        if state != self._kept_state:
            self._kept_state, self._kept, self._kept_items = state, lru_cache(maxsize=MOST_KEPT)(self.rows), {}

    def find_altered(self, keys: Sequence[int]) -> set[int]:
        """Return which of these facts are not what the journal says was written: no model may be given them."""

        def load(some: list[int]) -> dict[int, bool]:
            return dict.fromkeys(some, False) | dict.fromkeys(find_altered_facts(self.rows, some), True)

        return {key for key, is_altered in self.load_kept("altered", keys, load).items() if is_altered}

    def row(self, sql: str, args: Sequence[Any] | dict[str, Any] = ()) -> tuple[Any, ...] | None:
        with self.lock, translate_sqlite_errors(self.path):
            found: tuple[Any, ...] | None = self.retry(lambda: self.conn.execute(sql, args).fetchone())
            return found

    def value(self, sql: str, args: Sequence[Any] | dict[str, Any] = ()) -> Any:
        row = self.row(sql, args)
        return None if row is None else row[0]

    @contextmanager
    def write_transaction(self, *, wait_s: float | None = None) -> Iterator[driver.Connection]:
        """Open one write transaction; nested uses join it. Committed on exit, rolled back on any error.

        :param wait_s: how long to wait for other processes; `lock_timeout_s` unless given
        :raises StoreLocked: when they held the lock for longer
        """
        with self.lock:
            if self.conn.in_transaction:
                yield self.conn
                return
            with self._rolled_back_on_error():
                self._begin(wait_s)
                yield self.conn
                if not self._is_deferred:
                    self._commit()

    @contextmanager
    def deferred_transaction(self) -> Iterator[None]:
        """Let all writes within be one transaction, which begins with the first: what comes before it keeps nobody waiting.

        Committed on exit, rolled back on any error.

        :raises TransactionEnded: an error that did not get here made SQLite end it, as memory that runs out does
        """
        with self.lock, self._rolled_back_on_error():
            self._is_deferred = True
            try:
                yield
            finally:
                self._is_deferred = False
            if self.transaction:
                if not self.conn.in_transaction:
                    raise TransactionEnded("SQLite ended the transaction by itself; nothing of it was written")
                self._commit()

    @contextmanager
    def _rolled_back_on_error(self) -> Iterator[None]:
        with translate_sqlite_errors(self.path):
            try:
                yield
            except Exception as error:
                self._roll_back()
                self.disable_damaged_indexes(error)
                raise
            finally:
                if not self._is_deferred:
                    self._roll_back()

    def _begin(self, wait_s: float | None) -> None:
        if self.read_only:
            raise errors.StoreReadOnly(f"{self.path} is open for reading only; nothing was changed", self.path)
        if self.transaction:
            raise TransactionEnded("SQLite ended the transaction by itself, and it holds more than this write")
        self.refuse_renamed_file()
        self.retry(lambda: self.conn.execute("BEGIN IMMEDIATE"), wait_s)
        self._check_changes_of_others()
        self._transactions += 1
        self.transaction = self._transactions

    def _commit(self) -> None:
        for step in self._before_commit:
            step(self.conn)
        if self.has_lost_name():
            self._roll_back()
            self.refuse_renamed_file()
        self.retry(lambda: self.conn.execute("COMMIT"))
        self.transaction = 0

    def _check_changes_of_others(self) -> None:
        """Check, as a write transaction begins, the version, tables and indexes, if another connection wrote since the last one.

        :raises StoreTooNew: StoreOlder; this program must not write
        """
        (data,) = self.conn.execute("PRAGMA data_version").fetchone()
        if data != self._data or self.conn.troubles:
            self._data = None
            store_version.refuse_other_version(self.conn, self.path)
            self.notice_replacement()
            if self._content != self._known_content:
                store_version.refuse_unknown_migrations(self.conn, self.path)
                self._known_content = self._content
            if troubles := index_troubles(self.conn):  # an index that others still search must not miss this write
                write_disabled_indexes(self.conn, troubles)
            self._data = data
        self.conn.is_checked = True

    def disable_damaged_indexes(self, error: Exception) -> None:
        """Disable the full-text indexes whose damage caused an error; outside any transaction.

        :raises IndexDamaged: there are such; what failed may be retried now
        """
        damaged = [name for name in find_damaged_indexes(self.conn, error) if is_index_usable(self.conn, name)]
        if not damaged:
            return
        self._data = None
        self.retry(lambda: disable_indexes(self.conn, damaged, str(find_sqlite_error(error))))
        raise errors.IndexDamaged(
            f"the full-text index of {self.path} is damaged ({find_sqlite_error(error)}); nothing was changed, try again: "
            "the index is set aside until doctor --repair makes it anew",
            self.path,
        ) from error

    @contextmanager
    def savepoint(self, conn: driver.Connection) -> Iterator[None]:
        """Run one step of a running transaction that may fail alone: its effects are rolled back then."""
        conn.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            if conn.in_transaction:  # a full disk makes SQLite end the whole transaction by itself
                conn.execute("ROLLBACK TO step")
                conn.execute("RELEASE step")
            self.forget_caches()
            raise
        conn.execute("RELEASE step")

    @contextmanager
    def snapshot(self) -> Iterator[driver.Connection]:
        with self.lock, translate_sqlite_errors(self.path):
            if self.conn.in_transaction:
                yield self.conn
                return
            self.conn.execute("BEGIN")
            try:
                self.notice_replacement()
                self._notice_changes()
                self._is_snapshot, self.conn.is_checked = True, self.conn.schema_seen == self._content
                yield self.conn
            except BaseException:
                self.forget_caches()
                raise
            finally:
                self._is_snapshot = self.conn.is_checked = False
                self.conn.rollback()

    def look_for_replacement(self) -> None:
        with self.lock, translate_sqlite_errors(self.path):
            self.notice_replacement()

    def notice_replacement(self) -> None:
        """Clear the caches when the file's whole content was replaced (a backup was restored): keys have changed."""
        version = self.conn.execute("PRAGMA schema_version").fetchone()[0]
        if version != self._content:
            self._content = version
            self.forget_caches()

    def has_lost_name(self) -> bool:
        """Check whether the open file was deleted, or another one has its name, or others write to another log of it."""
        if self._is_in_place():
            return False
        if filesystem.file_identity(self.path) != self.file:
            return True
        write_ahead_log.set_aside_foreign_log(self.path)
        write_ahead_log.take_back_own_log(self.path)
        return not self._is_in_place()

    def _is_in_place(self) -> bool:
        try:
            file = os.stat(self._file_name)
            log = None if self._log_identity is None else os.stat(self._log_name)
        except OSError:
            return self.file is None and self._log is None
        return (file.st_dev, file.st_ino) == self.file and (
            log is None or (log.st_dev, log.st_ino) == self._log_identity
        )

    def hold_log(self) -> None:
        """Note that this connection writes to the log that now lies beside the file, until it is closed."""
        write_ahead_log.note_log_owner(self.path)
        self._log = write_ahead_log.hold_log(self.path)
        if self._log is not None:
            log = os.fstat(self._log)
            self._log_identity = log.st_dev, log.st_ino

    def refuse_renamed_file(self) -> None:
        """Check, outside of a transaction, that the open file still has its name.

        :raises StoreReplaced: it was deleted or replaced; what it held was saved beside it
        """
        if not self.has_lost_name():
            self._rescued = None
            return
        if self._rescued is None and self.rescue is not None:
            self._rescued = self.rescue()
        raise errors.StoreReplaced(self.path, self._rescued)

    def close(self) -> None:
        with self.lock:
            self.conn.close()
            if self._log is not None:
                os.close(self._log)
                self._log = self._log_identity = None

    def _roll_back(self) -> None:
        was_running, self.transaction, self.conn.is_checked = bool(self.transaction), 0, False
        if self.conn.in_transaction:
            self.conn.execute("ROLLBACK")
        elif not was_running:
            return
        self.forget_caches()

    def forget_caches(self) -> None:
        self._kept_state = (0, 0)
        for forget in self._forget:
            forget()

    def retry(self, step: Callable[[], T], wait_s: float | None = None) -> T:
        """Run a step for which another process may hold the lock, until the time for it is over."""
        deadline: float | None = None
        while True:
            try:
                return step()
            except driver.OperationalError as error:
                if primary_error_code(error) not in (driver.SQLITE_BUSY, driver.SQLITE_LOCKED):
                    raise
                now = time.monotonic()
                deadline = deadline or now + (self.lock_timeout_s if wait_s is None else wait_s)
                if now >= deadline:
                    raise
            time.sleep(BUSY_DELAYS.delay_s(1))


def connect_file(path: Path, mode: str, kind: type[C], **options: Any) -> tuple[C, errors.FileError | None]:
    """Connect to a file; return the connection, and why nothing can be written beside a file that is only read.

    SQLite writes there even to read, unless it is told that nobody can change the file.
    """
    address = f"{path.absolute().as_uri()}?mode={mode}"
    conn = driver.connect(address, kind, **options)
    try:
        # FULL, not NORMAL: an acknowledged write must survive a power cut.
        conn.execute("PRAGMA synchronous = FULL")
    except driver.OperationalError as error:
        conn.close()
        refusal = to_store_error(error, path)
        if mode != "ro" or not isinstance(refusal, errors.DiskFull | errors.StoreReadOnly) or file_size(f"{path}-wal"):
            raise
        return driver.connect(f"{address}&immutable=1", kind, **options), refusal
    return conn, None


def primary_error_code(error: driver.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except driver.Error as error:
        raise to_store_error(error, path) from error
    except (MemoryError, OverflowError) as error:
        raise errors.ArgumentError(f"a value is too large for {path}; nothing was changed") from error
    except UnicodeEncodeError as error:
        code_point = ord(error.object[error.start])
        raise errors.UnsafeText(
            f"the text holds U+{code_point:04X}, half a character, at character {error.start + 1}; remove it",
            error.object,
        ) from error


def to_store_error(error: driver.Error, path: Path) -> Exception:
    """Return the store's error for an SQLite error, or the same error when it is a programming mistake here."""
    code, refusal = primary_error_code(error), None
    kind: type[errors.FileError]
    if code in (driver.SQLITE_IOERR, driver.SQLITE_CANTOPEN) and path.exists():
        refusal = filesystem.find_write_refusal(path.parent)
    if refusal is not None and refusal.errno in filesystem.NO_ROOM:
        code = driver.SQLITE_FULL
    match code:
        case driver.SQLITE_BUSY | driver.SQLITE_LOCKED:
            kind, problem = (
                errors.StoreLocked,
                "is locked by another process; nothing was changed, try again in a moment",
            )
        case driver.SQLITE_READONLY:
            kind, problem = errors.StoreReadOnly, "cannot be written; check its permissions and those of its folder"
        case driver.SQLITE_FULL:
            message = f"the disk of {path} is full; nothing was changed, free some space and try again"
            return errors.DiskFull(message, path)
        case driver.SQLITE_IOERR:
            message = (
                f"the disk refused to read or write {path} ({error}); nothing was changed, check its space and health"
            )
            return errors.DiskFull(message, path)
        case driver.SQLITE_NOTADB | driver.SQLITE_CORRUPT:
            problem = f"is not a readable SQLite database ({error}); restore a backup, or run doctor on a copy"
            kind = errors.StoreUnreadable
        case driver.SQLITE_ERROR if str(error).startswith("no such table"):
            kind, problem = errors.StoreUnreadable, f"is no memory any more ({error}); restore a backup"
        case driver.SQLITE_CANTOPEN if refusal is not None:
            message = (
                f"{path} lies in a folder that cannot be written; nothing was changed, choose another place with --db"
            )
            return errors.StoreReadOnly(message, path)
        case driver.SQLITE_CANTOPEN:
            kind, problem = errors.StoreUnreadable, "cannot be opened; check that it exists and may be read"
        case driver.SQLITE_TOOBIG:
            return errors.ArgumentError(f"the value is too large for {path}")
        case _:
            return error
    return kind(f"{path} {problem}", path)
