"""The transaction log of a client: what it sent, and what was acknowledged, one JSON document a line, on the disk at once.

What was sent and never acknowledged is sent again when the worker comes back, under the same key: it is stored once.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from hermes_memory_store.errors import FileError


class LogUnwritable(FileError):
    """The transaction log cannot be written."""

    code = "log.unwritable"


class TransactionLog:
    """One append-only file."""

    def __init__(self, path: str | Path) -> None:
        """:raises LogUnwritable:"""
        self.path = Path(path).expanduser()
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise LogUnwritable(f"{self.path} cannot be written: {error.strerror or error}", self.path) from error

    def sent(self, key: str, tool: str, arguments: dict[str, Any]) -> None:
        """A write is about to go out."""
        self._append({"key": key, "state": "sent", "tool": tool, "arguments": arguments})

    def settled(self, key: str, state: str) -> None:
        """It was acknowledged (`done`) or `refused`."""
        self._append({"key": key, "state": state})

    def open_writes(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Key, tool and arguments of what was sent and never settled, in order. A torn last line counts for nothing."""
        waiting: dict[str, tuple[str, str, dict[str, Any]]] = {}
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if said["state"] == "sent":
                waiting[said["key"]] = (said["key"], said["tool"], said["arguments"])
            else:
                waiting.pop(said["key"], None)
        return list(waiting.values())

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _append(self, said: dict[str, Any]) -> None:
        line = json.dumps({"at": round(time.time() * 1000), **said}, ensure_ascii=False)
        try:
            with self._lock:
                if self._torn():
                    line = "\n" + line
                os.write(self._handle, line.encode() + b"\n")
                os.fsync(self._handle)
        except OSError as error:
            raise LogUnwritable(f"{self.path} cannot be written: {error.strerror or error}", self.path) from error

    def _torn(self) -> bool:
        """Whether the last line was cut off when a worker died."""
        size = os.fstat(self._handle).st_size
        return size > 0 and os.pread(self._handle, 1, size - 1) != b"\n"
