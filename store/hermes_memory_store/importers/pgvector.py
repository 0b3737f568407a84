"""The tables of hermes-memory-pgvector: from a dump, or from an export of their rows as JSON, JSONL or CSV.

Their columns are those of its migrations 001 and 002 (https://github.com/andreab67/hermes-memory-pgvector,
`hermes_pgvector/migrations/`): `memory_entries` holds what hermes-agent's built-in memory keeps, by agent and file;
`conversations` the messages. Vectors are not taken: they are made anew where they are wanted.
"""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes_memory_store import errors, notation
from hermes_memory_store.importers import json_places, postgres_text
from hermes_memory_store.importers.taking import Place, Taken, mark, moment, named, words
from hermes_memory_store.model import FactType, Notation

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


def read(path: Path, taken: Taken) -> None:
    """Take all entries and messages. :raises ImportFileError: it holds neither, or is not whole"""
    found = 0
    for line, table, columns in rows(path, taken):
        found += 1
        if table == ENTRIES:
            take_entry(taken, Place(line), columns)
        else:
            take_turn(taken, Place(line), columns)
    if not found and not taken.refusals:
        raise errors.ImportFileError(f"{path} holds no rows of {ENTRIES} or {TURNS}", path)


def rows(path: Path, taken: Taken) -> Iterator[Record]:
    """The rows of both tables, in whichever form they were written."""
    text = json_places.text_of(path)
    begins = text.lstrip()[:1]
    if begins in ("{", "["):
        document = json_places.records(path, taken)
        if document.words and not document.lists:
            document.lists[""] = [(1, document.words)]
        for name, listed in document.lists.items():
            for line, record in listed:
                if isinstance(record, dict):
                    yield line, name if name in LAYOUTS else table_of(record), record
                else:
                    taken.refuse(Place(line), "a row is not an object", record)
    elif is_csv(text):
        yield from csv_rows(text)
    else:
        for row in postgres_text.rows(text, LAYOUTS):
            yield row.line, row.table, row.columns


def is_csv(text: str) -> bool:
    """Whether the first line names columns of these tables."""
    header = text.partition("\n")[0].replace('"', "").strip().split(",")
    return {"agent_identity", "content"} <= set(header)


def csv_rows(text: str) -> Iterator[Record]:
    """The rows of `\\copy … CSV HEADER`."""
    most = csv.field_size_limit(len(text) + 1)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        line = 2
        for record in reader:
            clean = {name: value for name, value in record.items() if isinstance(name, str)}
            yield line, table_of(clean), clean
            line = reader.line_num + 1
    except csv.Error as error:
        raise errors.ImportFileError(
            f"line {reader.line_num}: {error}; the file is not whole", reader.line_num
        ) from error
    finally:
        csv.field_size_limit(most)


def table_of(record: Mapping[str, Any]) -> str:
    """Which table a row is of, by its columns."""
    return TURNS if "role" in record or "session_id" in record else ENTRIES


def take_entry(taken: Taken, place: Place, columns: Mapping[str, Any]) -> None:
    """An entry: the facts it notes in MEMORY_SPEC, else a value of the host's file, by its mark."""
    content, kind = words(columns, "content"), words(columns, "target") or "memory"
    if kind not in KINDS:
        taken.refuse(place, f"an entry has target {errors.shorten(kind)!r}; it must be memory or user", kind)
        return
    if not content:
        taken.skip(place, "the entry says nothing")
        return
    made_at, changed_at = moment(columns.get("created_at")), moment(columns.get("updated_at"))
    for said in facts_in(content) or [Notation(FactType.VALUE, named(kind, mark(content)), content)]:
        taken.fact(
            place,
            f"{kind} entry",
            said.type,
            said.target,
            said.content,
            names=(kind,),
            theme=words(columns, "agent_identity") or None,
            created_at=made_at,
            updated_at=changed_at,
        )


def facts_in(content: str) -> list[Notation]:
    """The facts of an entry all of whose lines are notation; none of any other."""
    with contextlib.suppress(errors.InputError):
        lines = [line for line in content.splitlines() if line.strip()]
        return [notation.parse(line, limit=notation.MAX_LINE) for line in lines]
    return []


def take_turn(taken: Taken, place: Place, columns: Mapping[str, Any]) -> None:
    """A message."""
    at = words(columns, "ts", "created_at")
    taken.turn(
        place,
        "message",
        words(columns, "role"),
        words(columns, "content"),
        session=words(columns, "session_id") or None,
        theme=words(columns, "agent_identity") or None,
        at=moment(columns.get("ts", columns.get("created_at"))),
        names=(at,),
    )
