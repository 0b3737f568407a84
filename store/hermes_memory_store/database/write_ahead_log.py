"""The write-ahead log beside a store: it must belong to the file that now has the store's name.

SQLite finds the log by name. When a store's file is deleted or replaced while a program has it open, the old file's
log stays behind and would be replayed into the new file. So the store notes, in its lock file, which log belongs to
which file, by device and number of both. A log that belongs to another file is set aside before SQLite sees it.
Files that were copied together have new numbers both, and are left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database.filesystem import file_identity

SET_ASIDE = "replaced"
"""In the name of a log set aside: `memory.db.replaced.<nanoseconds>.wal`."""

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
        log = os.open(log_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # somebody else has just done it
        return None
    except OSError as error:
        raise foreign_log_error(path, error) from error
    try:
        fcntl.flock(log, fcntl.LOCK_EX)  # not the lock file: whoever creates a store holds that while it connects
        if not is_log_foreign(path):
            return None
        kept = path.with_name(f"{path.name}.{SET_ASIDE}.{time.time_ns()}.wal")
        log_path(path).rename(kept)
        path.with_name(path.name + "-shm").unlink(missing_ok=True)  # derived from the log; its old users have it open
        lock_path(path).write_text("", encoding="ascii")
    except OSError as error:
        raise foreign_log_error(path, error) from error
    finally:
        os.close(log)
    return kept


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
    found = file_identity(path), file_identity(log_path(path))
    return [None if one is None else list(one) for one in found]


def log_path(path: Path) -> Path:
    """Return the path of the log."""
    return path.with_name(path.name + "-wal")


def lock_path(path: Path) -> Path:
    """Return the path of the lock file, see `file_lock`."""
    return path.with_name(path.name + ".lock")
