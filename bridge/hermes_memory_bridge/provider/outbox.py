"""The on-disk queue of records for the bridge: one file for each process, bounded, delivered in order.

A hook returns once its record is in the file, so neither the end of the bridge nor of the agent loses it. It is
synced to disk within a second while there is no bridge, so a power cut may lose that second. The file begins with
the position up to which it is delivered. Its owner holds a lock on it; the files of dead processes are adopted by
the next.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 64 * 1024 * 1024
"""Bytes that may wait. Beyond, a record is refused and its hook says so in the host's log: the disk is not ours to fill."""

SETTLED = 256 * 1024
"""Bytes of a wholly delivered file that are kept before it is emptied."""

PREFIX, SUFFIX = "waiting-", ".jsonl"

MOST_ADOPTED = 32
"""Files of dead processes that are open at once; the host's file descriptors are not ours to use up."""

CREATE_TRIES = 8

WIDTH = 20
HEAD = WIDTH + 1

CHUNK = 1 << 16


class Outbox:
    """A file of pending records."""

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        """Open and lock a file.

        :raises BlockingIOError: its owner is alive
        :raises OSError:
        """
        self.path = path
        self.limit = limit
        self.lock = threading.Lock()
        flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self.handle = os.open(path, flags, 0o600)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.adding = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except BaseException:
            os.close(self.handle)
            raise
        self.size = os.fstat(self.handle).st_size
        if self.size < HEAD:
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, to_position_header(HEAD), 0)
            self.size = HEAD
        self.position = min(self.size, self._position())
        self.synced = self.size
        self.closed = False
        self._head: dict[str, Any] | None = None
        """The oldest record, once it was read."""

    @classmethod
    def create(cls, folder: str, limit: int = LIMIT) -> Outbox:
        """Create a new file for this process. :raises OSError: it cannot be created"""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for _ in range(CREATE_TRIES):
            path = os.path.join(folder, f"{PREFIX}{os.getpid()}-{os.urandom(6).hex()}{SUFFIX}")
            try:
                box = cls(path, limit)
            except (BlockingIOError, FileNotFoundError):
                continue  # between its creation and its lock, another process took it for an abandoned one
            if os.fstat(box.handle).st_nlink:
                return box
            box.close()
        raise BlockingIOError(f"{folder}: no file of our own could be locked")

    @classmethod
    def find_abandoned(cls, folder: str, limit: int = MOST_ADOPTED) -> list[Outbox]:
        """Adopt the files that dead processes left, oldest first, and at most so many."""
        try:
            names = [name for name in os.listdir(folder) if name.startswith(PREFIX) and name.endswith(SUFFIX)]
        except OSError:
            return []
        boxes: list[Outbox] = []
        for path in sorted((os.path.join(folder, name) for name in names), key=find_modification_time):
            if len(boxes) >= limit:
                break
            try:
                box = cls(path)
            except OSError:
                continue
            if os.fstat(box.handle).st_nlink and box.has_records:
                boxes.append(box)
            else:
                box.discard()
        return boxes

    @property
    def has_records(self) -> bool:
        """Check whether anything is still to be delivered."""
        return self.position < self.size

    def add(self, record: dict[str, Any]) -> bool:
        """Append a record; return False when there is no room for it."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        with self.lock:
            if self.closed or self.size - self.position + len(line) > self.limit:
                return False
            try:
                written = os.write(self.adding, line)
            except OSError:
                written = 0
            if written != len(line):
                with contextlib.suppress(OSError):
                    os.ftruncate(self.handle, self.size)
                return False
            self.size += written
        return True

    def peek(self) -> dict[str, Any] | None:
        """Return the oldest pending record; unreadable ones are skipped."""
        while self._head is None:
            line = self._line()
            if line is None:
                return None
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if isinstance(record, dict):
                self._head = record
            else:
                self.drop_oldest()
        return self._head

    def drop_oldest(self) -> None:
        """Remove the oldest record once it is delivered."""
        self._head = None
        line = self._line()
        if line is None:
            return
        with self.lock:
            self.position += len(line)
            if self.position >= self.size and self.size > SETTLED:
                # In this order: a position behind the end means that nothing waits.
                os.ftruncate(self.handle, HEAD)
                self.size = self.position = self.synced = HEAD
            os.pwrite(self.handle, to_position_header(self.position), 0)

    def sync(self) -> None:
        """Sync the added records to disk."""
        size = self.size
        if self.synced < size:
            with contextlib.suppress(OSError):
                os.fdatasync(self.handle) if hasattr(os, "fdatasync") else os.fsync(self.handle)
            self.synced = size

    def close(self) -> None:
        """Close the file, and delete it when nothing in it is pending."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            if not self.has_records:
                with contextlib.suppress(OSError):
                    os.unlink(self.path)
            os.close(self.adding)
            os.close(self.handle)

    def discard(self) -> None:
        """Close and delete the file."""
        self.position = self.size
        self.close()

    def _position(self) -> int:
        try:
            return max(HEAD, int(os.pread(self.handle, WIDTH, 0)))
        except ValueError:
            return HEAD

    def _line(self) -> bytes | None:
        """Return the line at the position, with its newline; None when it is incomplete."""
        line = bytearray()
        at = self.position
        while at < self.size:
            chunk = os.pread(self.handle, CHUNK, at)
            if not chunk:
                break
            end = chunk.find(b"\n")
            if end >= 0:
                line += chunk[: end + 1]
                return bytes(line)
            line += chunk
            at += len(chunk)
        if line:  # a process died while it wrote this: nobody was told that it is kept
            with self.lock:
                self.position = max(self.position, at)
        return None


def find_modification_time(path: str) -> float:
    """Return when a file was last changed; 0 when its owner has just deleted it."""
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0


def to_position_header(position: int) -> bytes:
    """Return the first line of a file: the position up to which it is delivered."""
    return b"%0*d\n" % (WIDTH, position)
