"""One file as it is and as it is to be: what every installation shows, writes, and puts back."""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change to one file, as bytes. Nothing is written by making one."""

    path: Path
    before: bytes | None
    """Its content now; None where no such file exists."""
    after: bytes | None
    """Its content then; None removes the file, and the folders that its removal leaves empty."""

    @property
    def is_needed(self) -> bool:
        return self.before != self.after


def to_file_change(path: Path, after: bytes | None) -> FileChange:
    """Return the change that gives a file this content, or that removes it.

    :raises OSError: the file exists and cannot be read
    """
    try:
        before = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        before = None
    return FileChange(path, before, after)


def show_file_change(change: FileChange) -> None:
    before, after = ((content or b"").decode().splitlines(keepends=True) for content in (change.before, change.after))
    sys.stdout.writelines(difflib.unified_diff(before, after, str(change.path), str(change.path)))


class TextFiles(Protocol):
    """Files that are read as they will be, and written later."""

    def read(self, file: Path) -> str:
        """Return a file's text; empty when there is none."""

    def write(self, file: Path, text: str | None) -> None:
        """Note what a file is to hold."""
