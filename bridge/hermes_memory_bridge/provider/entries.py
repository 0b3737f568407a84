"""MEMORY.md and USER.md as the host reads them, and what each entry of theirs is as facts."""

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


class Unreadable(Exception):
    """The file is there and cannot be read as the host reads it; what it holds is unknown, which is not nothing."""


def path_of(home: str, kind: str) -> str:
    """Where a profile keeps one of its files."""
    return os.path.join(home, "memories", FILES[kind])


def signature(path: str) -> tuple[int, int, int] | None:
    """What changes whenever the file does; None when there is none."""
    try:
        held = os.stat(path)
    except OSError:
        return None
    return (held.st_mtime_ns, held.st_size, held.st_ino)


def read(path: str) -> list[str]:
    """The entries of a file, none when there is no file. :raises Unreadable:"""
    try:
        with open(path, "rb") as file:
            held = file.read(MOST_BYTES + 1)
        if len(held) > MOST_BYTES:
            raise Unreadable(f"{path} has more than {MOST_BYTES} bytes")
        text = held.decode("utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    return parsed(text.replace("\r\n", "\n").replace("\r", "\n"))


def moved(home: str, kind: str, since_ns: int) -> set[str]:
    """Entries that left a file to make room and are to stay in memory: moved to the store by relief, or evicted by the host.

    Relief leaves a copy of the file beside it and moves notation only; hosts note what they evict in ARCHIVE.jsonl.

    :param since_ns: copies that are older tell of changes seen before
    """
    path = path_of(home, kind)
    folder, name = os.path.split(path)
    found: set[str] = set()
    try:
        copies = [file for file in os.listdir(folder) if file.startswith(f"{name}.relief.") and file.endswith(".bak")]
    except OSError:
        copies = []
    for file in copies:
        copy = os.path.join(folder, file)
        held = signature(copy)
        if held is not None and held[0] >= since_ns:
            with contextlib.suppress(Unreadable):
                found.update(entry for entry in read(copy) if all(map(is_notation, entry.splitlines())))
    for place in (folder, home):
        found.update(evicted(os.path.join(place, "ARCHIVE.jsonl")))
    return found


def evicted(path: str) -> set[str]:
    """Every text that a host's archive names, whatever the host calls it."""
    found: set[str] = set()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            said = file.read(MOST_BYTES)
    except OSError:
        return found
    for line in said.splitlines():
        with contextlib.suppress(ValueError):
            held = json.loads(line)
            values = held.values() if isinstance(held, dict) else [held]
            found.update(value.strip() for value in values if isinstance(value, str))
    return found


def parsed(text: str) -> list[str]:
    """The entries of a text: stripped, without empty ones, each once."""
    stripped = (entry.strip() for entry in text.split(DELIMITER))
    return list(dict.fromkeys(entry for entry in stripped if entry))


def meant(entries: Iterable[str], old: str) -> str | None:
    """The one entry that a host means by a part of it; None when there is none, or more than one."""
    part = old.strip()
    if not part:
        return None
    found = list(dict.fromkeys(entry for entry in entries if part in entry))
    return found[0] if len(found) == 1 else part if part in found else None


def lines(entry: str, kind: str) -> list[str]:
    """The facts an entry becomes: as it is where it is notation, else a value under a mark that its text alone decides."""
    said = [line for line in entry.splitlines() if line.strip()]
    if said and all(is_notation(line) for line in said):
        return [" ".join(line.split()) for line in said]
    mark = hashlib.sha256(entry.encode("utf-8", "replace")).hexdigest()[:12]
    return [f"V[{kind}.{mark}]: {' '.join(entry.split())}"]


def is_notation(line: str) -> bool:
    """Whether a line is a fact already."""
    match = NOTATION.fullmatch(line)
    return bool(match and match[3].strip() and 0 < len(match[2].strip()) <= MAX_TARGET)


def head(line: str) -> str:
    """Type and target of a fact's line: of those that share it the last one stands."""
    match = NOTATION.fullmatch(line)
    assert match is not None
    return f"{match[1]}[{' '.join(match[2].split())}]"


def content(line: str) -> str:
    """What a fact's line says."""
    match = NOTATION.fullmatch(line)
    assert match is not None
    return match[3].strip()
