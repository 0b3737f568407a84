"""Importer of mem0 memories, as JSON or JSONL.

They come from `Memory.get_all()`, `MemoryClient.get_all()` or an OpenMemory export. A memory has `id`, `memory`
(the text), `hash`, `created_at`, `updated_at`, `metadata`, `categories` and the names it was stored under:
`user_id`, `agent_id`, `app_id`, `run_id` (`_get_all_from_vector_store` in `mem0/memory/main.py` of
https://github.com/mem0ai/mem0, and https://docs.mem0.ai/cookbooks/essentials/exporting-memories). They are in
`results`, `memories` or a bare list; a graph store adds `relations` with `source`, `relationship` and `target` or
`destination`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.model import FactType, Tier
from hermes_memory_store.transfer.importers import json_lines
from hermes_memory_store.transfer.importers.import_batch import (
    ImportBatch,
    SourcePlace,
    first_text_field,
    guess_fact_type,
    join_target_parts,
    parse_source_time,
    text_mark,
)

LISTS = ("", "results", "memories", "items")

TEXTS = ("memory", "text", "content", "data")


def read_mem0(path: Path, taken: ImportBatch) -> None:
    """Read all memories and relations. :raises ImportFileError: it is another JSON"""
    document = json_lines.load_json_document(path, taken)
    if document.words and not {*LISTS, "relations"} & set(document.lists):
        if not first_text_field(document.words, *TEXTS):
            raise errors.ImportFileError(f"{path} holds no memories of mem0: neither results nor memories", path)
        document.lists[""] = [(1, document.words)]
    for name in LISTS:
        for line, record in document.lists.get(name, ()):
            if isinstance(record, dict):
                take_mem0_memory(taken, SourcePlace(line), record)
            else:
                taken.add_rejection(SourcePlace(line), "a memory is not an object", record)
    for line, record in document.lists.get("relations", ()):
        take_mem0_relation(taken, SourcePlace(line), record)


def take_mem0_memory(taken: ImportBatch, place: SourcePlace, record: dict[str, Any]) -> None:
    """Add a memory as a value about its owner, by mem0's own id."""
    extra = record.get("metadata_") or record.get("metadata")
    extra = extra if isinstance(extra, dict) else {}
    content = first_text_field(record, *TEXTS) or first_text_field(extra, *TEXTS)
    if not content:
        taken.add_rejection(place, "a memory without a text", record.get("id"))
        return
    if first_text_field(record, "state") == "deleted":
        taken.add_skip(place, "it was deleted there")
        return
    ends = parse_source_time(record.get("expiration_date"))
    if ends is not None and ends < taken.now:
        taken.add_skip(place, f"it expired there on {str(record['expiration_date'])[:40]}")
        return
    whose = (
        first_text_field(record, "user_id")
        or first_text_field(record, "agent_id")
        or first_text_field(extra, "user_id", "agent_id")
        or "mem0"
    )
    kinds = record.get("categories")
    kinds = kinds if isinstance(kinds, list) else []
    own = first_text_field(record, "id")
    taken.add_fact(
        place,
        "memory",
        guess_fact_type(*kinds, extra.get("category"), extra.get("type")),
        join_target_parts(whose, text_mark(own) if own else text_mark(content)),
        content,
        names=(own,),
        scope=first_text_field(record, "app_id", "app_name") or None,
        created_at=parse_source_time(record.get("created_at")),
        updated_at=parse_source_time(record.get("updated_at")),
        tier=Tier.ARCHIVED if first_text_field(record, "state") == "archived" else Tier.HOT,
    )


def take_mem0_relation(taken: ImportBatch, place: SourcePlace, record: Any) -> None:
    """Add a relation of the graph as a value that states it in words."""
    one, kind, other = (
        first_text_field(record, "source"),
        first_text_field(record, "relationship", "relation"),
        first_text_field(record, "target", "destination"),
    )
    if not (one and kind and other):
        taken.add_rejection(place, "a relation needs source, relationship and target", one or other)
        return
    aim = join_target_parts(one, kind, text_mark(one, kind, other))
    taken.add_fact(
        place, "relation", FactType.VALUE, aim, f"{one} {kind.replace('_', ' ')} {other}", names=(one, kind, other)
    )
