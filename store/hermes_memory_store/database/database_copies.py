"""Copies of database files: taken online, verified against their source, and installed in one transaction.

Content of a file that others may have open is replaced through SQLite's own locks, never by renaming: a process that still writes
to a replaced file would lose what it writes, and a leftover log beside a renamed file would be replayed into the wrong database.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.database import driver
from hermes_memory_store.database.db import LOCK_TIMEOUT_S, connect_file, translate_sqlite_errors
from hermes_memory_store.system.file_handles import create_new_private
from hermes_memory_store.system.filesystem import flush_to_disk

Progress = Callable[[int, int], None]
"""Called with what is done and what there is in all."""

STEP_PAGES = 8
"""Pages of one backup step. Fewer than any store has, so that a step always comes before the last one."""

COUNTED_TABLES = ("facts", "scopes", "sessions", "themes", "journal", "tombstones", "turns", "credentials")

BUSY = (driver.SQLITE_BUSY, driver.SQLITE_LOCKED)


class SourceChanged(Exception):
    """Another process wrote to the file after the copy that was to replace its content had been taken."""


class DatabaseMarks(NamedTuple):
    """What a copy must have in common with its source: rows by table, and the head of the journal's chain."""

    rows: dict[str, int]
    head: str | None


@contextlib.contextmanager
def connect_plainly(path: Path, mode: str = "ro") -> Iterator[driver.Connection]:
    """Open a connection without the store's rules. :param mode: `ro` or `rw`; neither creates a file"""
    with translate_sqlite_errors(path):
        conn, _ = connect_file(path, mode, driver.Connection, timeout=LOCK_TIMEOUT_S)
        with contextlib.closing(conn):
            yield conn


def read_marks(conn: driver.Connection) -> DatabaseMarks:
    tables = {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    rows = {
        name: conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in COUNTED_TABLES if name in tables
    }
    newest = "SELECT hex(hash) FROM journal ORDER BY seq DESC LIMIT 1"
    head = conn.execute(newest).fetchone() if "journal" in tables else None
    return DatabaseMarks(rows, head and head[0])


def copy_database(source: Path, target: Path, *, progress: Progress | None = None) -> DatabaseMarks:
    """Copy a database that may be in use into a new private file without a log, on the disk and verified when this returns.

    :raises StoreUnreadable: when the source is damaged, or the copy does not match it
    :raises DiskFull: when there is no room for the copy
    """
    create_private_exclusively(target)
    with connect_plainly(source) as reading:
        reading.execute("BEGIN")
        expected = read_marks(reading)
        with connect_plainly(target, "rw") as writing:
            callback = None if progress is None else lambda _, remaining, total: progress(total - remaining, total)
            reading.backup(writing, pages=2048, progress=callback, sleep=0.01)
            writing.execute("PRAGMA journal_mode = DELETE")
            verify_database(writing, target, expected)
    flush_to_disk(target)
    return expected


def verify_database(conn: driver.Connection, path: Path, expected: DatabaseMarks | None = None) -> DatabaseMarks:
    """Verify that a database is sound and holds what it should. :raises StoreUnreadable: names what is wrong"""
    problems = conn.execute("PRAGMA integrity_check(3)").fetchall()
    if problems != [("ok",)]:
        raise errors.StoreUnreadable(f"{path} is damaged: {problems[0][0]}", path)
    seen = read_marks(conn)
    if expected is not None and seen != expected:
        problem = f"{path} does not hold what it was copied from: {seen.rows}, not {expected.rows}"
        raise errors.StoreUnreadable(problem, path)
    return seen


def watch_writes(conn: driver.Connection) -> Callable[[], bool]:
    """Return a check that no other connection has committed since now."""
    version = conn.execute("PRAGMA data_version").fetchone()
    return lambda: bool(conn.execute("PRAGMA data_version").fetchone() == version)


def overwrite_database(
    source: Path, target: Path, *, unchanged: Callable[[], bool], lock_timeout_s: float = LOCK_TIMEOUT_S
) -> None:
    """Replace the whole content of a database that others may have open, in one transaction: all of it or nothing.

    :param unchanged: called once the target is locked for writing; when it returns False, nothing is changed
    :raises SourceChanged: when `unchanged` returned False
    :raises StoreLocked: when others kept the target locked
    """
    deadline = time.monotonic() + lock_timeout_s
    is_confirmed = False

    def step_of_pour(status: int, _remaining: int, _total: int) -> None:
        nonlocal is_confirmed
        if status & 0xFF in BUSY:
            if time.monotonic() > deadline:
                raise errors.StoreLocked(
                    f"{target} is locked by another process; nothing was changed, try again in a moment", target
                )
        elif not is_confirmed:
            is_confirmed = True
            if not unchanged():
                raise SourceChanged

    with connect_plainly(source) as reading, connect_plainly(target, "rw") as writing:
        # SQLite waits within a step and tells nothing meanwhile; the deadline is looked at between steps.
        writing.execute("PRAGMA busy_timeout = 20")
        reading.backup(writing, pages=STEP_PAGES, progress=step_of_pour, sleep=0.01)


def rename_exclusively(made: Path, target: Path) -> None:
    """Rename a finished file to its name, never over another one. :raises FileExistsError: when the name is taken"""
    os.link(made, target)
    made.unlink()
    flush_to_disk(target.parent)


def rename_over(made: Path, target: Path) -> None:
    os.replace(made, target)
    flush_to_disk(target.parent)


def create_private_exclusively(path: Path) -> None:
    """Create an empty file that only its owner may read. :raises ArgumentError: the name is taken"""
    try:
        os.close(create_new_private(path))
    except FileExistsError as error:
        raise errors.ArgumentError(f"{path} exists already; nothing was written", path) from error
    except OSError as error:
        raise errors.StoreUnreadable(f"{path} cannot be created: {error.strerror or error}", path) from error
