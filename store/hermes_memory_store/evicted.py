"""Entries that a host took out of MEMORY.md or USER.md to make room: read from its ARCHIVE.jsonl, and rescued as facts.

Newer hermes-agent hosts evict the oldest entries to that file instead of refusing an `add` over the limit. Which keys a
line has differs between versions, so a line is read for what it can mean, and one that means nothing is passed over.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hermes_memory_store import notation
from hermes_memory_store.errors import InputError
from hermes_memory_store.memory_files import read
from hermes_memory_store.model import Notation, format_notation
from hermes_memory_store.tokens import estimate

FILE_NAME = "ARCHIVE.jsonl"

PLACES = ("memories", ".")
"""Folders of a profile in which hosts keep it."""

TEXTS = ("content", "entry", "text", "value", "memory")
KINDS = ("target", "kind", "file", "store", "source")
TIMES = ("archived_at", "evicted_at", "timestamp", "at", "ts", "time")


@dataclass(frozen=True, slots=True)
class Evicted:
    """One entry that left a host's file."""

    text: str
    kind: str
    """`memory` or `user`; empty when the line does not say."""
    at: str
    """When, as the host wrote it or in ISO 8601; empty when it does not say."""

    @property
    def tokens(self) -> int:
        """What it cost in every turn."""
        return estimate(self.text)

    def lines(self, limit: int) -> list[Notation]:
        """The facts it becomes: as it is when it is notation, else a value about where it comes from, by its own mark.

        :param limit: characters of one fact; a longer text becomes numbered parts
        """
        facts = [line for line in self.text.splitlines() if line.strip()]
        with contextlib.suppress(InputError):
            return [notation.parse(line.strip(), limit=limit) for line in facts]
        mark = hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:8]
        target = f"{self.kind or 'memory'}.evicted.{mark}"
        return notation.split(format_notation("V", target, " ".join(self.text.split())), limit)


def archive(home: Path) -> Path | None:
    """The file of a profile, None when its host has none."""
    for place in PLACES:
        path = home / place / FILE_NAME
        if path.is_file():
            return path
    return None


def entries(home: Path) -> list[Evicted]:
    """What the host of a profile evicted, newest first, each text once. Writes nothing.

    :raises ImportFileError: when the file is not UTF-8
    """
    path = archive(home)
    if path is None:
        return []
    found = {one.text: one for one in understood(read(path).splitlines())}
    return list(found.values())[::-1]


def understood(lines: Iterable[str]) -> Iterable[Evicted]:
    """The lines that say something."""
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, str):
            said = {"content": said}
        if isinstance(said, dict):
            text = first(said, TEXTS)
            if text.strip():
                kind = first(said, KINDS).casefold()
                yield Evicted(text.strip(), "user" if "user" in kind else "memory" if kind else "", moment(said))


def first(said: dict[str, Any], names: Iterable[str]) -> str:
    """The first of these keys that holds a text."""
    return next((said[name] for name in names if isinstance(said.get(name), str)), "")


def moment(said: dict[str, Any]) -> str:
    """When it was evicted."""
    for name in TIMES:
        value = said.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()[:40]
        if isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(ValueError, OverflowError, OSError):
                seconds = value / 1000 if value > 100_000_000_000 else value
                return datetime.fromtimestamp(seconds).isoformat(" ", "minutes")
    return ""
