"""The write-ahead log beside a store: it must belong to the file that now has the store's name.

SQLite finds the log by name: where a file was deleted or replaced while a program had it open, the old log would be replayed into
the new file. So the lock file notes which log belongs to which file, by device and number of both, and a foreign log is set aside
before SQLite sees it. Files that were copied together have new numbers both, and are left alone.

A file may come back while a program that has it open goes on with the log set aside: whoever opens the file next takes the log
back, since two logs of one file destroy it. Each program that writes holds its log with a shared `flock`, which also tells that
the number of the file was not given to another one meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database.store_reading import is_log_foreign, load_log_note
from hermes_memory_store.system.file_locks import exclusive_folder_lock, share_lock, try_lock
from hermes_memory_store.system.filesystem import file_identity

SET_ASIDE = "replaced"
"""In the name of a log set aside: `memory.db.replaced.<nanoseconds>.<device>-<number of its file>.wal`."""


def note_log_owner(path: Path) -> None:
    """Note that the log beside a store, if there is one, belongs to the file that now has the store's name."""
    file, log = file_identity(path), file_identity(log_path(path))
    if file and log and load_log_note(str(path)) != [*file, *log]:
        # On a full disk or in a foreign folder, the log without the note is judged as SQLite does.
        with contextlib.suppress(OSError):
            lock_path(path).write_text(json.dumps((file, log)), encoding="ascii")


def set_aside_foreign_log(path: Path) -> Path | None:
    """Set aside the log of a file that has lost the store's name; return where it is now.

    :raises StoreUnreadable: the log cannot be set aside, with the system's reason
    """
    if not is_log_foreign(str(path)):
        return None
    try:
        with exclusive_folder_lock(path.parent):
            if not is_log_foreign(str(path)):  # somebody else has just done it
                return None
            owner = "-".join(map(str, load_log_note(str(path))[:2]))
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
        with exclusive_folder_lock(path.parent):
            for log in find_own_logs(path):
                if file_identity(log_path(path)) is None and is_log_in_use(log):
                    log.with_suffix(".shm").rename(index_path(path))
                    log.rename(log_path(path))
                    note_log_owner(path)
    except OSError as error:
        raise foreign_log_error(path, error) from error


def find_own_logs(path: Path) -> list[Path]:
    """Return the logs set aside that belong to the file that now has the store's name, the newest first."""
    owner = file_identity(path)
    return [] if owner is None else find_logs_set_aside(path, f".{owner[0]}-{owner[1]}.wal")[::-1]


def hold_log(path: Path) -> int | None:
    """Return an open handle of the log, which tells others that it is in use; None where there is no log."""
    try:
        log = os.open(log_path(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    share_lock(log)
    return log


def is_log_in_use(log: Path) -> bool:
    handle = os.open(log, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def foreign_log_error(path: Path, error: OSError) -> errors.StoreUnreadable:
    return errors.StoreUnreadable(
        f"{path} was replaced, and {log_path(path)}, which belongs to the file that was there before, cannot be set aside "
        f"({error.strerror or error}); open the store once as the owner of its folder, or move that log away",
        path,
    )


def find_logs_set_aside(path: Path, ending: str = ".wal") -> list[Path]:
    try:
        names = sorted(os.listdir(path.parent))  # noqa: PTH208 - a start need not make a path of each file
    except OSError:
        return []
    beginning = f"{path.name}.{SET_ASIDE}."
    return [path.with_name(name) for name in names if name.startswith(beginning) and name.endswith(ending)]


def log_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def index_path(path: Path) -> Path:
    return path.with_name(path.name + "-shm")


def lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")
