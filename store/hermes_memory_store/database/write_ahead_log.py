"""The write-ahead log beside a store: it must belong to the file that now has the store's name.

SQLite finds the log by name. When a store's file is deleted or replaced while a program has it open, the old file's
log stays behind and would be replayed into the new file. So the store notes, in its lock file, which log belongs to
which file, by device and number of both. A log that belongs to another file is set aside before SQLite sees it.
Files that were copied together have new numbers both, and are left alone.

A file may come back while a program still has it open, and that program goes on with the log that was set aside: whoever
opens the file next takes the log back, since two logs of one file destroy it. Each program that writes holds its log with
a shared `flock` for as long, which also tells that the number of the file was not given to another one meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database.filesystem import file_identity

SET_ASIDE = "replaced"
"""In the name of a log set aside: `memory.db.replaced.<nanoseconds>.<device>-<number of its file>.wal`."""

LONGEST_NOTE = 1000


def note_log_owner(path: Path) -> None:
    """Note that the log beside a store, if there is one, belongs to the file that now has the store's name."""
    note = load_log_note(path)
    pair = log_pair(path)
    if pair[0] is not None and pair[1] is not None and note != pair:
        with contextlib.suppress(
            OSError
        ):  # a full disk or a foreign folder: without the note the log is judged as SQLite does
            lock_path(path).write_text(json.dumps(pair), encoding="ascii")


def set_aside_foreign_log(path: Path) -> Path | None:
    """Set aside the log of a file that has lost the store's name; return where it is now, None when there is none.

    Programs that still have the old file open keep their log and can read it.

    :raises StoreUnreadable: the log cannot be set aside, with the system's reason
    """
    if not is_log_foreign(path):
        return None
    try:
        with folder_lock(path):
            note = load_log_note(path)
            if note is None or not is_log_foreign(path):  # somebody else has just done it
                return None
            owner = "-".join(map(str, note[0] or []))
            log = path.with_name(f"{path.name}.{SET_ASIDE}.{time.time_ns()}.{owner}.wal")
            log_path(path).rename(log)
            with contextlib.suppress(FileNotFoundError):
                index_path(path).rename(log.with_suffix(".shm"))
            if not is_log_in_use(log):
                log.with_suffix(".shm").unlink(missing_ok=True)  # derived from the log
            lock_path(path).write_text("", encoding="ascii")
    except OSError as error:
        raise foreign_log_error(path, error) from error
    return log


def take_back_own_log(path: Path) -> None:
    """Take back the log of a file that lost the store's name and has it again, if a program still writes to that log.

    :raises StoreUnreadable: the log cannot be taken back, with the system's reason
    """
    try:
        if file_identity(log_path(path)) is not None or not find_own_logs(path):
            return
        with folder_lock(path):
            for log in find_own_logs(path):
                if file_identity(log_path(path)) is None and is_log_in_use(log):
                    log.with_suffix(".shm").rename(index_path(path))
                    log.rename(log_path(path))
                    note_log_owner(path)
    except OSError as error:
        raise foreign_log_error(path, error) from error


def find_own_logs(path: Path) -> list[Path]:
    """Return the logs set aside that belong to the file that now has the store's name, the newest first."""
    owner = "-".join(map(str, file_identity(path) or ["none"]))
    return sorted(path.parent.glob(f"{path.name}.{SET_ASIDE}.*.{owner}.wal"), reverse=True)


def hold_log(path: Path) -> int | None:
    """Return an open handle of the log, which tells others that the log is in use; None where there is no log."""
    try:
        log = os.open(log_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    fcntl.flock(log, fcntl.LOCK_SH)
    return log


def is_log_in_use(log: Path) -> bool:
    """Check whether a program that writes holds a log."""
    handle = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


@contextlib.contextmanager
def folder_lock(path: Path) -> Iterator[None]:
    """Hold the folder of a store while logs get other names. Whoever creates a store holds the lock file while it connects."""
    handle = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def foreign_log_error(path: Path, error: OSError) -> errors.StoreUnreadable:
    """Return the error for a log that belongs to another file and cannot be set aside."""
    return errors.StoreUnreadable(
        f"{path} was replaced, and {log_path(path)}, which belongs to the file that was there before, cannot be set aside "
        f"({error.strerror or error}); open the store once as the owner of its folder, or move that log away",
        path,
    )


def find_logs_set_aside(path: Path) -> list[Path]:
    """Return the logs of former files of a store."""
    return sorted(path.parent.glob(f"{path.name}.{SET_ASIDE}.*.wal"))


def is_log_foreign(path: Path) -> bool:
    """Check whether the log belongs to another file than the one that now has the store's name."""
    note = load_log_note(path)
    if note is None:
        return False
    file, log = log_pair(path)
    return log is not None and log == note[1] and file != note[0]


def load_log_note(path: Path) -> list[list[int] | None] | None:
    """Return what was noted last: the identities of file and log."""
    try:
        with lock_path(path).open(encoding="ascii") as file:
            text = file.read(LONGEST_NOTE)
    except (OSError, UnicodeDecodeError):
        return None
    try:
        note = json.loads(text) if text else None
    except ValueError:
        return None
    return note if isinstance(note, list) and len(note) == 2 else None


def log_pair(path: Path) -> list[list[int] | None]:
    """Return the identities of the store's file and its log, None for one that is missing."""
    identities = file_identity(path), file_identity(log_path(path))
    return [None if one is None else list(one) for one in identities]


def log_path(path: Path) -> Path:
    """Return the path of the log."""
    return path.with_name(path.name + "-wal")


def index_path(path: Path) -> Path:
    """Return the path of the log's index, which programs share."""
    return path.with_name(path.name + "-shm")


def lock_path(path: Path) -> Path:
    """Return the path of the lock file, see `file_lock`."""
    return path.with_name(path.name + ".lock")
