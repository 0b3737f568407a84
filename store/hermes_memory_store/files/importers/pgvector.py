"""Importer of the tables of hermes-memory-pgvector: from a dump, or a JSON, JSONL or CSV export of their rows.

Their columns are those of its migrations 001 and 002 (https://github.com/andreab67/hermes-memory-pgvector,
`hermes_pgvector/migrations/`): `memory_entries` holds hermes-agent's built-in memory, by agent and file;
`conversations` the messages. Vectors are not imported: they are recomputed where they are wanted.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.files.importers import json_lines, postgres_text
from hermes_memory_store.files.importers.import_batch import (
    ImportBatch,
    SourcePlace,
    first_text_field,
    join_target_parts,
    parse_source_time,
    text_mark,
)
from hermes_memory_store.model import FactType
from hermes_memory_store.notation import memory_spec

ENTRIES, TURNS = "memory_entries", "conversations"

LAYOUTS = {
    ENTRIES: ("id", "agent_identity", "target", "content", "embedding", "created_at", "updated_at", "metadata"),
    TURNS: (
        "id", "session_id", "agent_identity", "role", "content", "ts", "embedding", "metadata", "parent_session_id",
    ),
}  # fmt: skip

KINDS = ("memory", "user")
"""The host's two files."""

Record = tuple[int, str, Mapping[str, Any]]
"""A row: its line, its table, its columns."""


def read_pgvector(path: Path, taken: ImportBatch) -> None:
    """Read all entries and messages. :raises ImportFileError: it holds neither, or is incomplete"""
    entries = 0
    for line, table, columns in read_pgvector_rows(path, taken):
        entries += 1
        if table == ENTRIES:
            take_entry(taken, SourcePlace(line), columns)
            continue
        at = first_text_field(columns, "ts", "created_at")
        taken.add_turn(
            SourcePlace(line),
            "message",
            first_text_field(columns, "role"),
            first_text_field(columns, "content"),
            session=first_text_field(columns, "session_id") or None,
            theme=first_text_field(columns, "agent_identity") or None,
            at=parse_source_time(columns.get("ts", columns.get("created_at"))),
            names=(at,),
        )
    if not entries and not taken.refusals:
        raise errors.ImportFileError(f"{path} holds no rows of {ENTRIES} or {TURNS}", path)


def read_pgvector_rows(path: Path, taken: ImportBatch) -> Iterator[Record]:
    """Read the rows of both tables from any of the formats."""
    text = json_lines.read_json_text(path)
    if text.lstrip()[:1] in ("{", "["):
        document = json_lines.load_json_document(path, taken)
        if document.words and not document.lists:
            document.lists[""] = [(1, document.words)]
        for name, listed in document.lists.items():
            for line, record in listed:
                if isinstance(record, dict):
                    yield line, name if name in LAYOUTS else find_row_table(record), record
                else:
                    taken.add_rejection(SourcePlace(line), "a row is not an object", record)
    elif is_csv(text):
        yield from read_csv_rows(text)
    else:
        yield from postgres_text.read_dump_rows(text, LAYOUTS)


def is_csv(text: str) -> bool:
    """Check whether the first line names columns of these tables."""
    header = text.partition("\n")[0].replace('"', "").strip().split(",")
    return {"agent_identity", "content"} <= set(header)


def read_csv_rows(text: str) -> Iterator[Record]:
    """Yield the rows of `\\copy … CSV HEADER`."""
    most = csv.field_size_limit(len(text) + 1)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        line = 2
        for record in reader:
            clean = {name: value for name, value in record.items() if isinstance(name, str)}
            yield line, find_row_table(clean), clean
            line = reader.line_num + 1
    except csv.Error as error:
        raise errors.ImportFileError(
            f"line {reader.line_num}: {error}; the file is not whole", reader.line_num
        ) from error
    finally:
        csv.field_size_limit(most)


def find_row_table(record: Mapping[str, Any]) -> str:
    return TURNS if "role" in record or "session_id" in record else ENTRIES


def take_entry(taken: ImportBatch, place: SourcePlace, columns: Mapping[str, Any]) -> None:
    """Add an entry: its facts when it is MEMORY_SPEC, else a value of the host's file, by its mark."""
    content, kind = first_text_field(columns, "content"), first_text_field(columns, "target") or "memory"
    if kind not in KINDS:
        taken.add_rejection(
            place, f"an entry has target {errors.shorten_value(kind)!r}; it must be memory or user", kind
        )
        return
    if not content:
        taken.add_skip(place, "the entry says nothing")
        return
    made_at, changed_at = parse_source_time(columns.get("created_at")), parse_source_time(columns.get("updated_at"))
    facts: list[tuple[FactType | None, str, str]] = [(None, join_target_parts(kind, text_mark(content)), content)]
    with contextlib.suppress(errors.InputError):
        lines = [line for line in content.splitlines() if line.strip()]
        parsed = (memory_spec.parse_notation(line, limit=memory_spec.MAX_LINE) for line in lines)
        facts = [(fact.type, fact.target, fact.content) for fact in parsed]
    for fact in facts:
        taken.add_fact(
            place,
            f"{kind} entry",
            *fact,
            names=(kind,),
            theme=first_text_field(columns, "agent_identity") or None,
            created_at=made_at,
            updated_at=changed_at,
        )
