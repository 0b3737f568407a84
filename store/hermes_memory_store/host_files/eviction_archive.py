"""Entries that a host evicted from MEMORY.md or USER.md: read from its ARCHIVE.jsonl, and rescued as facts.

Newer hermes-agent hosts evict the oldest entries to that file instead of refusing an `add` over the limit. The
keys of a line differ between versions, so a line is read for what it can mean, and one without meaning is skipped.
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

from hermes_memory_store.errors import InputError
from hermes_memory_store.host_files.memory_files import read_memory_text
from hermes_memory_store.model import Notation, format_notation
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.notation.token_estimate import estimate_tokens

FILE_NAME = "ARCHIVE.jsonl"

PLACES = ("memories", ".")
"""Folders of a profile in which hosts keep it."""

TEXTS = ("content", "entry", "text", "value", "memory")
KINDS = ("target", "kind", "file", "store", "source")
TIMES = ("archived_at", "evicted_at", "timestamp", "at", "ts", "time")


@dataclass(frozen=True, slots=True)
class EvictedEntry:
    """One entry evicted from a host's file."""

    text: str
    kind: str
    """`memory` or `user`; empty when the line does not say."""
    at: str
    """When, as the host wrote it or in ISO 8601; empty when it does not say."""

    @property
    def tokens(self) -> int:
        return estimate_tokens(self.text)

    def lines(self, limit: int) -> list[Notation]:
        """Return the entry as facts: unchanged when it is notation, else as a value named by source and mark.

        :param limit: characters of one fact; a longer text becomes numbered parts
        """
        facts = [line for line in self.text.splitlines() if line.strip()]
        with contextlib.suppress(InputError):
            return [memory_spec.parse_notation(line.strip(), limit=limit) for line in facts]
        mark = hashlib.sha256(self.text.encode("utf-8", "replace")).hexdigest()[:8]
        target = f"{self.kind or 'memory'}.evicted.{mark}"
        return memory_spec.split_notation(format_notation("V", target, " ".join(self.text.split())), limit)


def find_archive_file(home: Path) -> Path | None:
    return next((path for place in PLACES if (path := home / place / FILE_NAME).is_file()), None)


def load_evicted_entries(home: Path) -> list[EvictedEntry]:
    """Load what a profile's host evicted, newest first, each text once. :raises ImportFileError: the file is not UTF-8"""
    path = find_archive_file(home)
    if path is None:
        return []
    entries = {entry.text: entry for entry in parse_archive_lines(read_memory_text(path).splitlines())}
    return list(entries.values())[::-1]


def parse_archive_lines(lines: Iterable[str]) -> Iterable[EvictedEntry]:
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, str):
            record = {"content": record}
        text = first_text_value(record, TEXTS).strip() if isinstance(record, dict) else ""
        if text:
            kind = first_text_value(record, KINDS).casefold()
            yield EvictedEntry(text, "user" if "user" in kind else "memory" if kind else "", eviction_time(record))


def first_text_value(record: dict[str, Any], names: Iterable[str]) -> str:
    return next((record[name] for name in names if isinstance(record.get(name), str)), "")


def eviction_time(record: dict[str, Any]) -> str:
    for name in TIMES:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()[:40]
        if isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(ValueError, OverflowError, OSError):
                seconds = value / 1000 if value > 100_000_000_000 else value
                return datetime.fromtimestamp(seconds).isoformat(" ", "minutes")
    return ""
