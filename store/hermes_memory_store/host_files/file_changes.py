"""Changes of a host's memory file: written whole or not at all, and told in words that take them back byte for byte."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.host_files.memory_entries import find_line_number
from hermes_memory_store.host_files.memory_files import host_file_lock, translate_file_errors
from hermes_memory_store.system.filesystem import atomic_write

FILE = "file"
"""Entity of the journal: a memory file of a host."""

AROUND = 120
"""Characters before and after a change that are told with it, so that it is found where the file has changed elsewhere."""

Words = dict[str, Any]


def describe_file_change(path: Path, before: str, after: str) -> tuple[Words, Words]:
    """Return what the journal holds of a change: the text that differs and a little around it, where it is, and digests."""
    start = len(os.path.commonprefix((before, after)))  # noqa: RUF071 - characters are what is compared
    end = len(os.path.commonprefix((before[start:][::-1], after[start:][::-1])))  # noqa: RUF071
    first, line = max(0, start - AROUND), find_line_number(before, start)
    words = []
    for text in (before, after):
        last = min(len(text), len(text) - end + AROUND)
        words.append(
            {"path": os.fspath(path), "line": line, "at": first, "text": text[first:last], "digest": to_digest(text)}
        )
    return words[0], words[1]


def to_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def put_text_back(text: str, present: Words, former: Words) -> str | None:
    """Return a file's text with a change taken back, or None where what was changed does not stand in it once any more."""
    digest = to_digest(text)
    if digest == former["digest"]:
        return text
    if digest == present["digest"]:
        start: int = present["at"]
        return text[:start] + str(former["text"]) + text[start + len(present["text"]) :]
    if not present["text"] or text.count(present["text"]) != 1:
        return None
    return text.replace(present["text"], former["text"])


class PendingFiles:
    """New contents of files, written together at the end of a transaction."""

    def __init__(self, unwritten: Path | None = None) -> None:
        """:param unwritten: a file that a change in the journal never reached"""
        self._contents: dict[Path, tuple[bytes, bytes]] = {}
        self.unwritten = unwritten

    def read(self, path: Path) -> bytes:
        """Return a file's content as it will be. :raises UndoConflict: there is no such file"""
        if path in self._contents:
            return self._contents[path][1]
        try:
            return path.read_bytes()
        except OSError as error:
            raise errors.UndoConflict(f"{path} cannot be read: {error.strerror or error}", path) from error

    def put(self, path: Path, content: bytes) -> None:
        expected = self._contents[path][0] if path in self._contents else self.read(path)
        self._contents[path] = expected, content

    @contextmanager
    def kept_on_success(self) -> Iterator[None]:
        """Forget what is put within, where it ends with an error."""
        contents = dict(self._contents)
        try:
            yield
        except BaseException:
            self._contents = contents
            raise

    def write(self) -> tuple[Path, ...]:
        """Write what differs, all or none; return those files. :raises Conflict: FileError; a file has changed meanwhile"""
        written: list[Path] = []
        try:
            for path, (expected, content) in self._contents.items():
                if content != expected:
                    replace_text_file(path, content, expected=expected)
                    written.append(path)
        except errors.StoreError:
            for path in written:
                replace_text_file(path, self._contents[path][0], expected=self._contents[path][1])
            raise
        return tuple(written)


def replace_text_file(path: Path, content: bytes, *, expected: bytes) -> None:
    """Replace the content of a file, which keeps its rights, its links and its other names.

    A host that takes a lock has left a lock file beside it, and that lock is held.

    :raises Conflict: the file holds something else by now; it was left alone
    """

    def confirm() -> None:
        if path.read_bytes() != expected:
            raise errors.Conflict(f"{path} was changed by another program meanwhile; it was left alone", path)

    is_locked = path.with_name(f"{path.name}.lock").exists()
    with translate_file_errors(path), host_file_lock(path) if is_locked else nullcontext():
        status = path.stat()
        if status.st_nlink == 1:
            with atomic_write(path, mode=status.st_mode & 0o7777, confirm=confirm) as file:
                file.write(content)
            return
        with path.open("r+b") as file:  # a new file would no longer be the one that has the other names
            confirm()
            file.write(content)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
