"""Importer of mem0 memories, as JSON or JSONL.

They come from `Memory.get_all()`, `MemoryClient.get_all()` or an OpenMemory export. A memory has `id`, `memory`
(the text), `hash`, `created_at`, `updated_at`, `metadata`, `categories` and the names it was stored under:
`user_id`, `agent_id`, `app_id`, `run_id` (`_get_all_from_vector_store` in `mem0/memory/main.py` of
https://github.com/mem0ai/mem0, and https://docs.mem0.ai/cookbooks/essentials/exporting-memories). They are in
`results`, `memories` or a bare list; a graph store adds `relations` with `source`, `relationship` and `target` or
`destination`. Names become the target and the scope, categories the type or tags of the content. Whatever else a
memory has is counted and noted.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
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
    to_target,
)
from hermes_memory_store.model import FactType, Tier

LISTS = ("", "results", "memories", "items")

TEXTS = ("memory", "text", "content", "data")

OWNERS = ("user_id", "agent_id", "run_id")
"""Whose a memory is: the first of them that it has."""

APPLICATIONS = ("app_id", "app_name")

TAGS = ("categories", "category", "tags", "type")
"""Members of a memory or of its metadata that say what it is about."""

READ_MEMBERS = frozenset({"id", "created_at", "updated_at", "state", "metadata", "metadata_", *APPLICATIONS, *TAGS})

MOST_TAGS = 12
MOST_TAG = 40
"""Characters of a tag; a longer one is a text and no tag."""

MOST_NOTED = 20
"""Members that are noted by name."""


def read_mem0(path: Path, taken: ImportBatch) -> None:
    """Read all memories and relations. :raises ImportFileError: it is another JSON"""
    document = json_lines.load_json_document(path, taken)
    if document.words and not {*LISTS, "relations"} & set(document.lists):
        if not first_text_field(document.words, *TEXTS):
            raise errors.ImportFileError(f"{path} holds no memories of mem0: neither results nor memories", path)
        document.lists[""] = [(1, document.words)]
    left: Counter[str] = Counter()
    for name in LISTS:
        records = document.records(name, taken)
        if all(isinstance(text, str) for _, text in records):
            records = [(line, {"memory": text}) for line, text in records]
        taken.take_records(records, partial(take_mem0_memory, left=left), "a memory")
    for line, record in document.records("relations", taken):
        subject, other = first_text_field(record, "source"), first_text_field(record, "target", "destination")
        kind = first_text_field(record, "relationship", "relation")
        taken.add_relation(SourcePlace(line), subject, kind, other, required="source, relationship and target")
    document.note_other_lists(taken, *LISTS, "relations")
    count, present = document.words.get("count"), sum(len(document.lists.get(name, ())) for name in LISTS)
    if document.words.get("next") or (isinstance(count, int) and count > present):
        total = f" of {count:,}" if isinstance(count, int) else ""
        taken.notes.append(f"this is one page, with {present:,}{total} memories; import the other pages, too")
    if left:
        named = ", ".join(f"{errors.shorten_value(name)} ({count:,})" for name, count in left.most_common(MOST_NOTED))
        more = f" and {len(left) - MOST_NOTED:,} more" if len(left) > MOST_NOTED else ""
        taken.notes.append(f"left out of the memories, because a fact has no place for it: {named}{more}")


def take_mem0_memory(taken: ImportBatch, place: SourcePlace, record: dict[str, Any], left: Counter[str]) -> None:
    """Add a memory as a value about its owner, by mem0's own id; count what is left out of it."""
    extra = record.get("metadata_") or record.get("metadata")
    extra = extra if isinstance(extra, dict) else {}
    content = first_text_field(record, *TEXTS) or first_text_field(extra, *TEXTS)
    if not content:
        taken.add_rejection(place, f"{json_lines.format_member_names(record)} and not {', '.join(TEXTS)}")
        return
    if first_text_field(record, "state") == "deleted":
        taken.add_skip(place, "it was deleted there")
        return
    ends = parse_source_time(record.get("expiration_date"))
    if ends is not None and ends < taken.now:
        taken.add_skip(place, f"it expired there on {str(record['expiration_date'])[:40]}")
        return
    owners = {
        name: owner_name
        for name in OWNERS
        if (owner_name := first_text_field(record, name) or first_text_field(extra, name))
    }
    owner = next(iter(owners), None)
    owner_name = owners[owner] if owner else "mem0"
    application = first_text_field(record, *APPLICATIONS)
    agent = owners.get("agent_id", "") if owner == "user_id" else ""
    tags = find_mem0_tags(record, extra)
    kind = guess_fact_type(*tags)
    own = first_text_field(record, "id")
    target = join_target_parts(owner_name, text_mark(own) if own else text_mark(content))
    known, plain = kind or FactType.VALUE, " ".join(content.split())
    taken.add_fact(
        place,
        "memory",
        kind,
        target,
        " ".join([content, *(f"#{tag}" for tag in tags if guess_fact_type(tag) is None)]),
        # Of what mem0 keeps for good: its categories change, and the scope was not always taken from the agent.
        uid=taken.derive_fact_uid((own,), None, " ".join(application.split()), known, to_target(target), plain),
        scope=application or agent or None,
        created_at=parse_source_time(record.get("created_at")),
        updated_at=parse_source_time(record.get("updated_at")),
        tier=Tier.ARCHIVED if first_text_field(record, "state") == "archived" else Tier.HOT,
    )
    taken_over = {owner, "agent_id" if agent and not application else None}
    for prefix, holder in (("", record), ("metadata.", extra)):
        for name, value in holder.items():
            is_read = name in taken_over or (name in READ_MEMBERS and not is_unread_member(name, value, prefix))
            if value not in (None, "", [], {}) and not is_read and not (name in TEXTS and value == content):
                left[f"{prefix}{name}"] += 1


def find_mem0_tags(record: dict[str, Any], extra: dict[str, Any]) -> list[str]:
    """Find what a memory is about, in words without spaces, each once."""
    tags: dict[str, None] = {}
    for holder in (record, extra):
        for name in TAGS:
            value = holder.get(name)
            for tag in value if isinstance(value, list) else [value]:
                if isinstance(tag, str) and 0 < len(tag.strip()) <= MOST_TAG:
                    tags["-".join(tag.replace("#", " ").split())] = None
    return [tag for tag in tags if tag][:MOST_TAGS]


def is_unread_member(name: str, value: Any, prefix: str) -> bool:
    """Check whether a member that is usually read is of a form, or in a place, that is not."""
    if name in ("created_at", "updated_at"):
        return bool(prefix) or parse_source_time(value) is None
    if name in ("metadata", "metadata_"):
        return bool(prefix) or not isinstance(value, dict)
    if name in TAGS:
        tags = value if isinstance(value, list) else [value]
        return any(not isinstance(tag, str) or len(tag.strip()) > MOST_TAG for tag in tags) or len(tags) > MOST_TAGS
    return bool(prefix)
