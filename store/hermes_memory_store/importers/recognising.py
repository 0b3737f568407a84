"""Which program wrote a file, by how it begins. What nobody here writes is left to `exchange.py`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store import copies, errors, hermes_file
from hermes_memory_store.importers import basic_memory, engram, hermes_sqlite, mcp_memory, mem0, pgvector
from hermes_memory_store.importers.taking import Taken

READERS: dict[str, Callable[[Path, Taken], None]] = {
    "hermes-memory": hermes_sqlite.read,
    "pgvector": pgvector.read,
    "mcp-memory": mcp_memory.read,
    "mem0": mem0.read,
    "engram": engram.read,
    "basic-memory": basic_memory.read,
}

KINDS = tuple(READERS)
"""What can be imported, by the name that the command line takes."""

HEAD = 256 * 1024
"""Bytes that are looked at."""

OURS = re.compile(r'(?<!\\)"kind"\s*:\s*"(?:header|scope|fact|turn)"')

TELLING = (
    ("mcp-memory", re.compile(r'(?<!\\)"(?:entityType|relationType)"\s*:')),
    ("pgvector", re.compile(r'(?<!\\)"agent_identity"\s*:')),
    ("engram", re.compile(r'(?<!\\)"(?:exported_at|sync_id)"\s*:')),
    ("mem0", re.compile(r'(?<!\\)"memory"\s*:\s*"|(?<!\\)"memories"\s*:\s*\[')),
)
"""Names of members that only one of the programs writes; the first that stands in a file tells."""

DUMP = re.compile(
    r'^[ \t]*(?:COPY|INSERT[ \t]+INTO)[ \t]+(?:\S+\.)?"?(?:memory_entries|conversations)"?[\s(]',
    re.MULTILINE | re.IGNORECASE,
)


def recognise(path: str | Path) -> str | None:
    """The kind of a file or folder; None for what is none of `KINDS`. :raises ImportFileError: it cannot be read"""
    place = Path(path).expanduser()
    if place.is_dir():
        return "basic-memory"
    try:
        with place.open("rb") as said:
            head = said.read(HEAD)
    except OSError as error:
        raise errors.ImportFileError(f"{place} cannot be read: {error.strerror or error}", place) from error
    if head.startswith(b"SQLite format 3\x00"):
        return "hermes-memory" if is_hermes_file(place) else None
    text = head.decode("utf-8-sig", "replace")
    if text.lstrip()[:1] in ("{", "["):
        if OURS.search(text):
            return None
        return next((kind for kind, telling in TELLING if telling.search(text)), None)
    if pgvector.is_csv(text) or DUMP.search(text):
        return "pgvector"
    is_note = place.suffix == ".md" and basic_memory.frontmatter(text.split("\n")).first > 1
    return "basic-memory" if is_note else None


def is_hermes_file(place: Path) -> bool:
    """Whether a database is a memory of hermes-memory 0.3.0."""
    try:
        with copies.connected(place) as conn:
            return hermes_file.recognise(conn)
    except (errors.FileError, sqlite3.Error):
        return False
