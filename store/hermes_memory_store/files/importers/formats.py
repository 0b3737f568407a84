"""Detect which program wrote a file by its beginning. The store's own formats are left to `export_import.py`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.database import database_copies, driver
from hermes_memory_store.database.store_reading import query_database
from hermes_memory_store.files.importers import (
    basic_memory,
    database_memories,
    engram,
    hermes_sqlite,
    markdown_memories,
    mcp_memory,
    mem0,
    pgvector,
)
from hermes_memory_store.files.importers.import_batch import ImportBatch, decode_source_text
from hermes_memory_store.upkeep import hermes_030_file

READERS: dict[str, Callable[[Path, ImportBatch], None]] = {
    "hermes-memory": hermes_sqlite.read_hermes_sqlite,
    "pgvector": pgvector.read_pgvector,
    "mcp-memory": mcp_memory.read_mcp_memory,
    "mem0": mem0.read_mem0,
    "engram": engram.read_engram,
    "basic-memory": basic_memory.read_basic_memory,
    "claude-mem": database_memories.read_claude_mem,
    "mcp-memory-service": database_memories.read_mcp_memory_service,
    "claude-code": markdown_memories.read_markdown,
    "codex": markdown_memories.read_markdown,
}

KINDS = tuple(READERS)
"""What can be imported, by the name that the command line takes."""

USUAL_PLACES = {
    "claude-mem": ("CLAUDE_MEM_DATA_DIR", "~/.claude-mem", "claude-mem.db"),
    "mcp-memory-service": ("MCP_MEMORY_BASE_DIR", "~/.local/share/mcp-memory", "sqlite_vec.db"),
    "claude-code": ("CLAUDE_CONFIG_DIR", "~/.claude", "projects"),
    "codex": ("CODEX_HOME", "~/.codex", "memories_v2", "memories"),
}
"""Where a program keeps its memory: a variable that names the folder, the folder without it, and what may be in it."""

SQLITE = b"SQLite format 3\x00"

HEAD_BYTES = 256 * 1024
"""Bytes that are looked at."""

OWN_JSONL = re.compile(r'(?<!\\)"kind"\s*:\s*"(?:header|scope|fact|turn)"')

FORMAT_PATTERNS = (
    ("mcp-memory", re.compile(r'(?<!\\)"(?:entity_?(?:[tT]ype|[nN]ame)|relation_?[tT]ype)"\s*:')),
    ("pgvector", re.compile(r'(?<!\\)"agent_identity"\s*:')),
    ("engram", re.compile(r'(?<!\\)"(?:exported_at|sync_id)"\s*:')),
    ("mem0", re.compile(r'(?<!\\)"memory"\s*:\s*"|(?<!\\)"(?:memories|results)"\s*:\s*\[')),
    ("mcp-memory", re.compile(r'(?<!\\)"(?:entities|observations)"\s*:\s*\[')),
)
"""Names of members that only one of the programs writes; the first that stands in a file tells."""

DUMP = re.compile(
    r'^[ \t]*(?:COPY|INSERT[ \t]+INTO)[ \t]+(?:\S+\.)?"?(?:memory_entries|conversations)"?[\s(]',
    re.MULTILINE | re.IGNORECASE,
)


def find_usual_place(kind: str | None) -> Path:
    """Return where a program keeps its memory. :raises ArgumentError: it has no usual place"""
    if kind not in USUAL_PLACES:
        raise errors.ArgumentError(f"name a FILE, or a program with --from: {', '.join(USUAL_PLACES)}", kind)
    variable, home, *names = USUAL_PLACES[kind]
    places = [Path(os.environ.get(variable) or home).expanduser() / name for name in names]
    return next((place for place in places if place.exists()), places[0])


def detect_format(path: str | Path) -> str | None:
    """Detect the kind of a file or folder; None for none of `KINDS`.

    :raises ImportFileError: it cannot be read, or is a folder of something else
    """
    place = Path(path).expanduser()
    if place.is_dir():
        if kind := markdown_memories.find_folder_kind(place):
            return kind
        basic_memory.validate_project_folder(place)
        return "basic-memory"
    try:
        with place.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
        for kind, sql in database_memories.TABLES.items() if head.startswith(SQLITE) else ():
            if query_database(place, sql):
                return kind
    except OSError as error:
        raise errors.ImportFileError(f"{place} cannot be read: {error.strerror or error}", place) from error
    if head.startswith(SQLITE):
        try:
            with database_copies.connect_plainly(place) as conn:
                return "hermes-memory" if hermes_030_file.is_hermes_030(conn) else None
        except (errors.FileError, driver.Error):
            return None
    text = decode_source_text(head, on_error="replace")
    if text.lstrip()[:1] in ("{", "[") or place.suffix in (".json", ".jsonl"):
        if OWN_JSONL.search(text):
            return None
        return next((kind for kind, telling in FORMAT_PATTERNS if telling.search(text)), None)
    if pgvector.is_csv(text) or DUMP.search(text):
        return "pgvector"
    is_note = place.suffix == ".md" and basic_memory.is_basic_memory_note(text.replace("\r\n", "\n"))
    return "basic-memory" if is_note else None
