"""Events of hosts that wait on disk for a bridge: one file each, in a folder beside the store that its owner alone may enter.

A record is whole or not there: it gets its name once it is written. It survives the end of any process, and is not synced to
the disk, so a power cut may lose the last seconds. A reader erases a record after what it says is committed; a reader that
dies in between leaves it to the next, which knows by the event's identity what it has already. Together they stay within
`MOST_BYTES` and `LONGEST_WAIT_MS`: what is older is erased, and what finds no room is refused. Standard library alone: the hook
program imports this.
"""

from __future__ import annotations

import os
import stat
import time

from hermes_memory_store.compact_json import parse_whole_object, to_json
from hermes_memory_store.system.file_handles import create_new_private, open_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

MOST_BYTES = 8 * 1024 * 1024
"""All records together."""

LONGEST_WAIT_MS = 7 * 86_400_000

SUFFIX = ".json"

UNFINISHED = ".part"
"""Ends the name of a record that is being written, or whose writer has died."""

UNFINISHED_MS = 60_000
"""After which an unfinished record is taken for a dead process's."""

ZEROS = bytes(1 << 16)


def append(store_path: str | os.PathLike[str], record: dict[str, Any]) -> bool:
    """Leave a record for the bridge. Returns whether it waits; False when there is no room, or the disk takes none.

    :param record: anything that JSON can say
    """
    data = to_json(record).encode("ascii")
    folder = to_waiting_folder(store_path)
    path = ""
    try:
        make_waiting_folder(folder)
        if sum(status.st_size for _, status in scan_folder(folder)) + len(data) > MOST_BYTES:
            return False
        # The time first: names in order are records in order.
        path = os.path.join(folder, f"{time.time_ns() // 1000:016d}-{os.urandom(6).hex()}{SUFFIX}")
        write_record(path, data)
        if sum(status.st_size for _, status in scan_folder(folder)) > MOST_BYTES:  # others came at the same moment
            erase(path)
            return False
    except OSError:
        if path:
            erase(path + UNFINISHED)
        return False
    return True


def list_waiting(store_path: str | os.PathLike[str]) -> list[str]:
    """Return the paths of the records that wait, oldest first. Erases those that have waited too long."""
    folder = to_waiting_folder(store_path)
    now = time.time_ns() // 1_000_000
    names = []
    for name, status in scan_folder(folder):
        path = os.path.join(folder, name)
        age = now - status.st_mtime_ns // 1_000_000
        if age > (LONGEST_WAIT_MS if name.endswith(SUFFIX) else UNFINISHED_MS):
            erase(path)
        elif name.endswith(SUFFIX):
            names.append(path)
    return sorted(names)


def read_record(path: str) -> dict[str, Any] | None:
    """Return a record; None when it is gone or none of ours."""
    try:
        with open(open_regular(path, follow_links=False), "rb") as file:
            return parse_whole_object(file.read(MOST_BYTES + 1).decode("utf-8"))
    except (OSError, ValueError):
        return None


def erase(path: str) -> bool:
    """Overwrite a record with zeros, then remove it. Returns whether it is gone."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return remove_entry(path)  # a link, or no longer writable: its name at least
    try:
        left = os.fstat(handle).st_size
        while left > 0:
            left -= os.write(handle, ZEROS[:left])
        if hasattr(os, "fdatasync"):
            os.fdatasync(handle)  # else the disk may never see the zeros
    except OSError:
        pass
    finally:
        os.close(handle)
    return remove_entry(path)


def erase_containing(store_path: str | os.PathLike[str], texts: Iterable[str]) -> int:
    """Erase the records that hold one of some texts, whatever their case and line breaks. Returns how many there were.

    :param texts: contents and secrets that are purged; blank ones are ignored
    """
    needles = [folded for text in texts if (folded := fold_case_and_spaces(text))]

    def has_needle(record: dict[str, Any]) -> bool:
        return any(needle in text for text in map(fold_case_and_spaces, list_texts(record)) for needle in needles)

    return erase_matching(store_path, has_needle) if needles else 0


def erase_matching(store_path: str | os.PathLike[str], is_wanted: Callable[[dict[str, Any]], bool]) -> int:
    """Erase the records that a function picks, and those that cannot be read. Returns how many there were."""
    folder = to_waiting_folder(store_path)
    erased = 0
    for name, _ in list(scan_folder(folder)):
        path = os.path.join(folder, name)
        record = read_record(path)
        if record is None or is_wanted(record):
            erased += erase(path)
    return erased


def list_texts(value: object) -> list[str]:
    texts: list[str] = []
    left = [value]
    while left:
        current = left.pop()
        if isinstance(current, str):
            texts.append(current)
        elif isinstance(current, dict):
            left += current.values()
        elif isinstance(current, list):
            left += current
    return texts


def fold_case_and_spaces(text: str) -> str:
    return " ".join(text.casefold().split())


def to_waiting_folder(store_path: str | os.PathLike[str]) -> str:
    return os.path.realpath(os.path.expanduser(os.fspath(store_path))) + ".waiting"


def make_waiting_folder(folder: str) -> None:
    """Create the folder unless it exists. :raises OSError: it cannot be created, or is not this user's alone"""
    try:
        os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
        os.mkdir(folder, 0o700)
    except FileExistsError:
        status = os.lstat(folder)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise
        if stat.S_IMODE(status.st_mode) != 0o700:
            os.chmod(folder, 0o700)


def write_record(path: str, data: bytes) -> None:
    """Write a record under a name of its own, then give it its name. :raises OSError:"""
    handle = create_new_private(path + UNFINISHED)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)
    os.rename(path + UNFINISHED, path)


def scan_folder(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the names of records, finished or not, and what the system says of them."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.endswith((SUFFIX, UNFINISHED)):
                    continue
                try:
                    yield entry.name, entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # erased by another program since
    except OSError:
        return


def remove_entry(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
