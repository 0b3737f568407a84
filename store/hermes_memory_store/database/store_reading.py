"""Open a store, or another program's database, to read it, without leaving a trace beside it; it uses no other part of the store.

SQLite creates files to read a store in WAL mode, so it is opened as what it is at that moment: with its log and the shared memory
that some process made, or as a file that nobody has open. What fits neither is not read.
"""

from __future__ import annotations

import os

from hermes_memory_store.database import driver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

KNOWN_STORE = (0x484D454D, 14)
"""`schema.APPLICATION_ID` and `schema.STORE_VERSION`; a store of an older version is read, too, and migrated by the bridge."""

BUSY_S = 0.1
"""How long a read waits for another process; in WAL mode it hardly ever does."""


def read_store(path: str, job: Callable[[driver.Connection], T]) -> T | None:
    """Return what `job` reads of the store at `path`, in one state of it; None where it cannot be read for certain.

    :param path: absolute, links resolved
    """
    for _ in range(2):
        stamp = file_stamp(path)
        if stamp is None:
            return None
        log = file_stamp(path + "-wal")
        shared = file_stamp(path + "-shm")
        if log is not None and shared is not None:
            return None if is_log_foreign(path) else run_reading(path, "ro", job)
        if log is not None and log[3]:
            return None  # what is in the log cannot be read without shared memory, and the file alone is an old state
        result = run_reading(path, "ro&immutable=1", job)
        if file_stamp(path) == stamp and not file_size(path + "-wal"):
            return result
    return None


def run_reading(path: str, mode: str, job: Callable[[driver.Connection], T]) -> T | None:
    """Run a job in one reading transaction; None where the file is no store of this version, or cannot be read."""
    try:
        conn = driver.connect(to_reading_uri(path, mode), driver.Connection, timeout=BUSY_S)
    except driver.Error:
        return None
    try:
        conn.execute("BEGIN")
        marks = conn.execute("PRAGMA application_id").fetchone()[0], conn.execute("PRAGMA user_version").fetchone()[0]
        return job(conn) if marks[0] == KNOWN_STORE[0] and 0 < marks[1] <= KNOWN_STORE[1] else None
    except (driver.Error, UnicodeError, KeyError, TypeError):
        return None  # damaged, locked or of another shape: the bridge says what is wrong
    finally:
        conn.close()


def query_database(path: str | os.PathLike[str], sql: str, *parameters: str) -> list[Any]:
    """Query the database of a program that may be running. Nothing is written, beside it either, and nobody waits for this.

    :raises OSError: it cannot be read now
    """
    path = os.path.realpath(path)  # its log lies beside the file, and not beside a link
    mode, before = "ro", file_stamp(path)
    if not file_size(f"{path}-wal") and not file_size(f"{path}-journal"):
        # To read a file with a log SQLite makes the log's files, unless it is told that nobody changes it.
        mode += "&immutable=1"
    elif file_size(f"{path}-wal") and not file_size(f"{path}-shm"):
        raise OSError(0, "what its program wrote last lies in a log that it alone can read now")
    try:
        conn = driver.connect(to_reading_uri(path, mode), driver.Connection, timeout=1)
        try:
            conn.row_factory = driver.Row
            conn.text_factory = lambda data: data.decode(errors="replace")
            rows = conn.execute(sql, parameters).fetchall()
        finally:
            conn.close()
    except (driver.Error, UnicodeError) as error:  # its messages quote what stands in a damaged file
        raise OSError(0, f"its database cannot be read: {error}") from error
    if "immutable" in mode and before != file_stamp(path):
        raise OSError(0, "its program wrote to it while it was read; run this again")
    return rows


def to_reading_uri(path: str, mode: str) -> str:
    escaped = "".join(f"%{byte:02x}" if byte in b"%?#" or byte > 126 else chr(byte) for byte in os.fsencode(path))
    return f"file:{escaped}?mode={mode}"


def file_stamp(path: str) -> tuple[int, int, int, int] | None:
    """Return device, number, time of change (ns) and size of a file; None when it is missing."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def file_size(path: str) -> int:
    stamp = file_stamp(path)
    return 0 if stamp is None else stamp[3]


def is_log_foreign(path: str) -> bool:
    """Check whether the log beside the store belongs to a file that had its name before, as `write_ahead_log` noted it."""
    file, log, note = file_stamp(path), file_stamp(path + "-wal"), load_log_note(path)
    return bool(note) and log is not None and note[2:] == [*log[:2]] and note[:2] != [*(file or ())[:2]]


def load_log_note(path: str) -> list[int]:
    """Return device and number of the file and of the log that were noted last, empty for none."""
    try:
        with open(path + ".lock", encoding="ascii") as file:
            numbers = [int(number) for number in file.read(1000).replace("[", " ").replace("]", " ").split(",")]
    except (OSError, ValueError):
        return []
    return numbers if len(numbers) == 4 else []
