"""What mem0 gives out: `Memory.get_all()`, `MemoryClient.get_all()`, or an OpenMemory export, written down as JSON or JSONL.

A memory has `id`, `memory` (the text), `hash`, `created_at`, `updated_at`, `metadata`, `categories` and the names it was kept
under: `user_id`, `agent_id`, `app_id`, `run_id` (`_get_all_from_vector_store` in `mem0/memory/main.py` of
https://github.com/mem0ai/mem0, and https://docs.mem0.ai/cookbooks/essentials/exporting-memories). They stand in `results`,
`memories` or a bare list; a graph store adds `relations` with `source`, `relationship` and `target` or `destination`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.importers import json_places
from hermes_memory_store.importers.taking import Place, Taken, mark, moment, named, type_of, words
from hermes_memory_store.model import FactType, Tier

LISTS = ("", "results", "memories", "items")

TEXTS = ("memory", "text", "content", "data")


def read(path: Path, taken: Taken) -> None:
    """Take all memories and relations. :raises ImportFileError: it is another JSON"""
    document = json_places.records(path, taken)
    if document.words and not {*LISTS, "relations"} & set(document.lists):
        if not words(document.words, *TEXTS):
            raise errors.ImportFileError(f"{path} holds no memories of mem0: neither results nor memories", path)
        document.lists[""] = [(1, document.words)]
    for name in LISTS:
        for line, record in document.lists.get(name, ()):
            if isinstance(record, dict):
                take_memory(taken, Place(line), record)
            else:
                taken.refuse(Place(line), "a memory is not an object", record)
    for line, record in document.lists.get("relations", ()):
        take_relation(taken, Place(line), record)


def take_memory(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """A memory: a value about whom it was kept for, by mem0's own id of it."""
    extra = record.get("metadata_") or record.get("metadata")
    extra = extra if isinstance(extra, dict) else {}
    content = words(record, *TEXTS) or words(extra, *TEXTS)
    if not content:
        taken.refuse(place, "a memory without a text", record.get("id"))
        return
    if words(record, "state") == "deleted":
        taken.skip(place, "it was deleted there")
        return
    ends = moment(record.get("expiration_date"))
    if ends is not None and ends < taken.now:
        taken.skip(place, f"it expired there on {str(record['expiration_date'])[:40]}")
        return
    whose = words(record, "user_id") or words(record, "agent_id") or words(extra, "user_id", "agent_id") or "mem0"
    kinds = record.get("categories")
    kinds = kinds if isinstance(kinds, list) else []
    own = words(record, "id")
    taken.fact(
        place,
        "memory",
        type_of(*kinds, extra.get("category"), extra.get("type")),
        named(whose, mark(own) if own else mark(content)),
        content,
        names=(own,),
        scope=words(record, "app_id", "app_name") or None,
        created_at=moment(record.get("created_at")),
        updated_at=moment(record.get("updated_at")),
        tier=Tier.ARCHIVED if words(record, "state") == "archived" else Tier.HOT,
    )


def take_relation(taken: Taken, place: Place, record: Any) -> None:
    """A relation of the graph: a value that says it in words."""
    one, kind, other = (
        words(record, "source"),
        words(record, "relationship", "relation"),
        words(record, "target", "destination"),
    )
    if not (one and kind and other):
        taken.refuse(place, "a relation needs source, relationship and target", one or other)
        return
    aim = named(one, kind, mark(one, kind, other))
    taken.fact(
        place, "relation", FactType.VALUE, aim, f"{one} {kind.replace('_', ' ')} {other}", names=(one, kind, other)
    )
