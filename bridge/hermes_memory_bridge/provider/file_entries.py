"""Entries of MEMORY.md and USER.md as the host reads them, and the facts that each entry corresponds to."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = ("memory", "user")
"""The host's words for its two files."""

FILES = {"memory": "MEMORY.md", "user": "USER.md"}

DELIMITER = "\n§\n"

NOTATION = re.compile(r"\s*([CDV?✓~])\s*\[([^\[\]]*)\]\s*:(.*)", re.DOTALL)
"""`TYPE[target]: content`, as the store reads it."""

MAX_TARGET = 200

MOST_BYTES = 4 * 1024 * 1024
"""A file longer than this is no host's memory."""


class UnreadableMemoryFile(Exception):
    """The file exists but cannot be read as the host reads it; its content is unknown, which does not mean empty."""


def find_memory_file(home: str, kind: str) -> str:
    """Return the path of one of a profile's files."""
    return os.path.join(home, "memories", FILES[kind])


def find_file_signature(path: str) -> tuple[int, int, int] | None:
    """Return a value that changes whenever the file does; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def read_memory_entries(path: str) -> list[str]:
    """Read the entries of a file, none when there is no file.

    :raises UnreadableMemoryFile: it exists but cannot be read
    """
    try:
        with open(path, "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise UnreadableMemoryFile(f"{path} has more than {MOST_BYTES} bytes")
        text = content.decode("utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableMemoryFile(f"{path} cannot be read: {error}") from error
    return parse_memory_entries(text.replace("\r\n", "\n").replace("\r", "\n"))


def find_moved_entries(home: str, kind: str, since_ns: int) -> set[str]:
    """Find entries that left a file to make room and stay in memory.

    They were moved to the store by relief, or evicted by the host. Relief leaves a copy of the file beside it and
    moves notation only; hosts record evictions in ARCHIVE.jsonl.

    :param since_ns: copies older than this describe changes that were already seen
    """
    path = find_memory_file(home, kind)
    folder, name = os.path.split(path)
    moved: set[str] = set()
    try:
        copies = [file for file in os.listdir(folder) if file.startswith(f"{name}.relief.") and file.endswith(".bak")]
    except OSError:
        copies = []
    for file in copies:
        copy = os.path.join(folder, file)
        signature = find_file_signature(copy)
        if signature is not None and signature[0] >= since_ns:
            with contextlib.suppress(UnreadableMemoryFile):
                moved.update(
                    entry for entry in read_memory_entries(copy) if all(map(is_notation_line, entry.splitlines()))
                )
    for place in (folder, home):
        moved.update(load_evicted_texts(os.path.join(place, "ARCHIVE.jsonl")))
    return moved


def load_evicted_texts(path: str) -> set[str]:
    """Load every text that a host's archive contains, whatever key the host uses."""
    texts: set[str] = set()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            content = file.read(MOST_BYTES)
    except OSError:
        return texts
    for line in content.splitlines():
        with contextlib.suppress(ValueError):
            document = json.loads(line)
            values = document.values() if isinstance(document, dict) else [document]
            texts.update(value.strip() for value in values if isinstance(value, str))
    return texts


def parse_memory_entries(text: str) -> list[str]:
    """Parse the entries of a text: stripped, without empty ones, each once."""
    stripped = (entry.strip() for entry in text.split(DELIMITER))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def find_meant_entry(entries: Iterable[str], old: str) -> str | None:
    """Find the one entry that a host identifies by a part of it; None when none or more than one matches."""
    part = old.strip()
    if not part:
        return None
    matches = list(dict.fromkeys(entry for entry in entries if part in entry))
    return matches[0] if len(matches) == 1 else part if part in matches else None


def to_fact_lines(entry: str, kind: str) -> list[str]:
    """Convert an entry to facts.

    Notation is kept as it is; any other entry becomes a `V` fact whose target is derived from its text alone.
    """
    fact_lines = [line for line in entry.splitlines() if line.strip()]
    if fact_lines and all(is_notation_line(line) for line in fact_lines):
        return [" ".join(line.split()) for line in fact_lines]
    mark = hashlib.sha256(entry.encode("utf-8", "replace")).hexdigest()[:12]
    return [f"V[{kind}.{mark}]: {' '.join(entry.split())}"]


def is_notation_line(line: str) -> bool:
    match = NOTATION.fullmatch(line)
    return bool(match and match[3].strip() and 0 < len(match[2].strip()) <= MAX_TARGET)


def find_line_head(line: str) -> str:
    """Return type and target of a fact's line: of several with the same head the last one is valid."""
    match = NOTATION.fullmatch(line)
    assert match is not None
    return f"{match[1]}[{' '.join(match[2].split())}]"


def find_line_content(line: str) -> str:
    match = NOTATION.fullmatch(line)
    assert match is not None
    return match[3].strip()
