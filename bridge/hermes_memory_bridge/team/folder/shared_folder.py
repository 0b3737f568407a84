"""A folder that something else carries: a file that is there is complete, or says that it is not.

Whatever stands in it may have been put there by anybody: links are not followed, nothing but plain files is opened, and
no file of another is changed.
"""

from __future__ import annotations

import json
import os
import stat
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder.folder_states import AWAY, CROWDED, UNMARKED, to_folder_error
from hermes_memory_bridge.team.folder.segment import MOST_BYTES, SegmentError
from hermes_memory_store.system.file_handles import open_regular
from hermes_memory_store.system.filesystem import atomic_write, flush_to_disk

MARK = "hermes-memory.json"
"""Stands in a folder that was chosen: an empty one may be where another is to be mounted."""

TEXT = (
    "Encrypted memory of hermes-memory-tui. No file here is for editing; one that is removed is missed by the others."
)

MARK_BYTES = 10_000

MOST_FILES = 100_000
"""Entries of a theme's folder that are looked at; a hundred machines of this program leave a tenth of that."""

UNFINISHED_S = 86_400.0
"""How old a file is that nobody is still writing."""

KEPT_BY_CARRIER = (
    "what carries this folder may keep deleted files: the trash and the versions of a cloud drive, Syncthing's file "
    "versioning, a backup. They stay encrypted; whoever has the code can read them"
)
"""What no purge reaches."""

KEPT_BY_GIT = "this folder is in a git repository, which keeps every file for ever: what is purged stays in its history"

FileStamp = tuple[int, int]
"""Size and time of the last change: when one differs, a file is read again."""


class SharedFolder:
    """A folder as it is reached now; nothing is held open."""

    listening = False
    """Nobody tells of changes: it is looked at."""

    def __init__(self, path: Path) -> None:
        """Look whether it is the one that was chosen. :raises TeamError: it is not there, or has no mark"""
        self.path = path
        self.name = self.verify()
        """What tells it from every other folder."""

    def verify(self) -> str:
        """Return the name in its mark. :raises TeamError: it is not there, or has no mark"""
        if not self.path.is_dir():
            raise TeamError(AWAY)
        try:
            document = json.loads(read_plain_file(self.path / MARK, MARK_BYTES))
            return str(uuid.UUID(document["folder"]))
        except (OSError, SegmentError, ValueError, TypeError, KeyError, AttributeError):
            raise TeamError(UNMARKED) from None

    def of_theme(self, tag: str) -> ThemeFolder:
        return ThemeFolder(self.path / tag)

    def wait_for_notification(self, themes: Sequence[str], within_s: float) -> bool:
        """Return at once: nobody tells of changes."""
        return False

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is held open."""


class ThemeFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def list(self) -> dict[str, FileStamp]:
        """Return what is there, whether it is a file or not, without what is being written.

        :raises TeamError: the folder cannot be read now, or is crowded
        """
        stamps: dict[str, FileStamp] = {}
        with folder_errors():
            self._refuse_link()
            try:
                entries = os.scandir(self.path)
            except FileNotFoundError:
                return stamps
            with entries:
                for count, entry in enumerate(entries):
                    if count == MOST_FILES:
                        raise TeamError(CROWDED)
                    if entry.name.startswith((".", "~")) or entry.name.endswith(".tmp"):
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # gone meanwhile
                    stamps[entry.name] = (status.st_size, status.st_mtime_ns)
            return stamps

    def read(self, name: str) -> bytes:
        """Return the content of a file. :raises SegmentError: it is too large, gone, or cannot be read"""
        try:
            return read_plain_file(self.path / name, MOST_BYTES)
        except OSError as error:
            raise SegmentError(f"it cannot be read ({error.strerror or error})") from error

    def write(self, name: str, data: bytes) -> None:
        """Write a new file; it is on disk when this returns. :raises TeamError: it cannot be written"""
        with folder_errors():
            self._refuse_link()
            if not self.path.is_dir():
                self.path.mkdir(mode=0o700)
                flush_to_disk(self.path.parent)
            with atomic_write(self.path / name, overwrite=False) as file:
                file.write(data)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there; a folder of its name stays. :raises TeamError: it cannot be removed"""
        path = self.path / name
        with folder_errors():
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)

    def sweep(self, machine: str) -> None:
        """Remove what this machine began to write and did not finish, and what others left so a day ago.

        :raises TeamError: it cannot be removed
        """
        with folder_errors():
            for path in self.path.glob(".*.hms.*.tmp"):
                if path.name.startswith(f".{machine}-") or time.time() - path.lstat().st_mtime > UNFINISHED_S:
                    self.remove(path.name)

    def _refuse_link(self) -> None:
        if self.path.is_symlink():
            raise NotADirectoryError(20, "a link stands where the theme's folder was", str(self.path))


def mark_folder(path: Path) -> str:
    """Mark a folder as chosen, unless it is; return the name in its mark. :raises TeamError: it cannot be written"""
    try:
        return SharedFolder(path).name
    except TeamError as error:
        if error.state.words == AWAY.words:
            raise
    name = str(uuid.uuid4())
    with folder_errors(), atomic_write(path / MARK, encoding="utf-8", mode=0o644) as file:
        json.dump({"hermes-memory": 1, "folder": name, "text": TEXT}, file, indent=1)
    return name


def is_in_repository(path: Path) -> bool:
    return any((folder / ".git").exists() for folder in (path, *path.parents))


def read_plain_file(path: Path, most: int) -> bytes:
    """Return the content of a plain file; never wait for a pipe, and never follow a link.

    :raises SegmentError: it is none, or too large
    :raises OSError: it cannot be read
    """
    if not stat.S_ISREG(os.lstat(path).st_mode):  # opening a device may do something already
        raise SegmentError("it is no plain file")
    with os.fdopen(open_regular(path, follow_links=False), "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise SegmentError("it is larger than any segment")
        return file.read(most)


@contextmanager
def folder_errors() -> Iterator[None]:
    """Raise errors of the file system in words."""
    try:
        yield
    except OSError as error:
        raise to_folder_error(error) from error
