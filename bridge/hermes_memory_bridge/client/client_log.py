"""The transaction log of a client: writes sent and acknowledged, one JSON document a line.

Each line is on disk at once. Unacknowledged writes are resent under the same key when the worker restarts, so each
is stored once.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from hermes_memory_store.errors import FileError


class TransactionLogError(FileError):
    """The transaction log could not be written."""

    code = "log.unwritable"


class ClientTransactionLog:
    """An append-only log file."""

    def __init__(self, path: str | Path) -> None:
        """Open the log.

        :raises TransactionLogError: the log cannot be written
        """
        self.path = Path(path).expanduser()
        self._lock = threading.Lock()
        self._handle: int | None = None
        self.open()

    def open(self) -> None:
        """Open the file unless it is open.

        :raises TransactionLogError: it cannot be written
        """
        if self._handle is not None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise TransactionLogError(f"{self.path} cannot be written: {error.strerror or error}", self.path) from error

    def note_request(self, key: str, tool: str, arguments: dict[str, Any]) -> None:
        """Record a write that is about to be sent."""
        self._append({"key": key, "state": "sent", "tool": tool, "arguments": arguments})

    def note_outcome(self, key: str, state: str) -> None:
        """Record that a write was acknowledged (`done`) or `refused`."""
        self._append({"key": key, "state": state})

    def open_writes(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return key, tool and arguments of writes sent but never settled, in order. A torn last line is ignored."""
        writes: dict[str, tuple[str, str, dict[str, Any]]] = {}
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if entry["state"] == "sent":
                writes[entry["key"]] = (entry["key"], entry["tool"], entry["arguments"])
            else:
                writes.pop(entry["key"], None)
        return list(writes.values())

    def close(self) -> None:
        """Close the file, if it is open."""
        with self._lock:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def _append(self, entry: dict[str, Any]) -> None:
        line = json.dumps({"at": round(time.time() * 1000), **entry}, ensure_ascii=False)
        try:
            with self._lock:
                if self._handle is None:
                    raise OSError("it is closed")
                if has_torn_line(self._handle):
                    line = "\n" + line
                os.write(self._handle, line.encode() + b"\n")
                os.fsync(self._handle)
        except OSError as error:
            raise TransactionLogError(f"{self.path} cannot be written: {error.strerror or error}", self.path) from error


def has_torn_line(handle: int) -> bool:
    """Check whether the last line of an open file was cut off when a worker died."""
    size = os.fstat(handle).st_size
    return size > 0 and os.pread(handle, 1, size - 1) != b"\n"
