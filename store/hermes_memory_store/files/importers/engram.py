"""Importer of `engram export`: sessions, observations and prompts.

The format is `ExportData` of https://github.com/Gentleman-Programming/engram, `internal/store/store.go`:
`version`, `exported_at`, `sessions` (`id`, `project`, `started_at`, `summary`), `observations` (`sync_id`,
`session_id`, `type`, `title`, `content`, `project`, `scope`, `topic_key`, `created_at`, `updated_at`,
`deleted_at`, and `pinned` in later versions) and `prompts`. Times are SQLite's, in UTC.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.files.importers import json_lines
from hermes_memory_store.files.importers.import_batch import (
    ImportBatch,
    SourcePlace,
    first_text_field,
    guess_fact_type,
    join_target_parts,
    parse_source_time,
    text_mark,
)
from hermes_memory_store.model import FactType

RECORD_LISTS = ("sessions", "observations", "prompts")


def read_engram(path: Path, taken: ImportBatch) -> None:
    """Read all observations, prompts and summaries. :raises ImportFileError: it is another JSON"""
    document = json_lines.load_json_document(path, taken)
    if not {"observations", "prompts"} & set(document.words):
        raise errors.ImportFileError(f"{path} is no export of engram: it has neither observations nor prompts", path)
    for name, take in zip(RECORD_LISTS, (take_session, take_observation, take_prompt), strict=True):
        taken.take_records(document.records(name, taken), take, f"a record of {name}")
    document.note_other_lists(taken, *RECORD_LISTS)


def take_session(taken: ImportBatch, place: SourcePlace, record: dict[str, Any]) -> None:
    summary = first_text_field(record, "summary")
    if not summary:
        return
    name = first_text_field(record, "id")
    taken.add_fact(
        place,
        "summary of a session",
        FactType.VALUE,
        join_target_parts("session", text_mark(name)),
        summary,
        names=(name,),
        scope=first_text_field(record, "project") or None,
        created_at=parse_source_time(record.get("started_at")),
        updated_at=parse_source_time(record.get("ended_at")),
    )


def take_observation(taken: ImportBatch, place: SourcePlace, record: dict[str, Any]) -> None:
    """Add an observation as a fact of its topic, where a later one replaces it as in engram, else by its title and id."""
    title, content = first_text_field(record, "title"), first_text_field(record, "content")
    if record.get("deleted_at"):
        taken.add_skip(place, "it was deleted there")
        return
    if not title and not content:
        taken.add_rejection(place, "an observation needs a title or a content", record.get("id"))
        return
    kind = first_text_field(record, "type")
    own = first_text_field(record, "sync_id", "id")
    personal = first_text_field(record, "scope") == "personal"
    text = content if not title or content.lstrip().startswith(title) else f"{title}: {content}".rstrip(": ")
    taken.add_fact(
        place,
        f"observation [{kind or 'none'}]",
        guess_fact_type(kind),
        first_text_field(record, "topic_key")
        or join_target_parts(title or kind or "observation", text_mark(own or text)),
        text,
        names=(own,),
        scope=None if personal else first_text_field(record, "project") or None,
        created_at=parse_source_time(record.get("created_at")),
        updated_at=parse_source_time(record.get("updated_at")),
        pinned=record.get("pinned") is True,
    )


def take_prompt(taken: ImportBatch, place: SourcePlace, record: dict[str, Any]) -> None:
    taken.add_turn(
        place,
        "prompt",
        "user",
        first_text_field(record, "content"),
        session=first_text_field(record, "session_id") or None,
        at=parse_source_time(record.get("created_at")),
        names=(first_text_field(record, "sync_id", "id"),),
    )
