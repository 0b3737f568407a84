"""Importer of the Model Context Protocol memory server's file: a graph of entities, observations and relations.

The format is `KnowledgeGraphManager.saveGraph` of https://github.com/modelcontextprotocol/servers,
`src/memory/index.ts`: one record per line, `{"type":"entity","name","entityType","observations":[…]}` or
`{"type":"relation","from","to","relationType"}`. Its forks name the type otherwise or not at all, and give observations
in records of their own (`entityName`, `contents`), so members tell what a record is. The answer of its tool
`read_graph`, `{"entities":[…],"relations":[…]}`, is read too. Times are those of forks.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

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

LISTS = ("", "entities", "relations", "observations")

# Members of one meaning: of the server, of calls of its tool, and of forks in Python.
NAME = ("name", "entityName", "entity_name")
KIND = ("entityType", "entity_type")
RELATION = ("relationType", "relation_type")

READ = (
    "entities have name, entityType, observations; observations entityName, contents; relations from, relationType, to"
)


def read_mcp_memory(path: Path, taken: ImportBatch) -> None:
    """Read all entities, observations and relations. :raises ImportFileError: it is another JSON"""
    document = json_lines.load_json_document(path, taken)
    members = {*document.words, *document.lists}
    is_record = "observations" not in members or members & {*NAME}
    if document.words and is_record and not members & {"entities", "relations"}:
        document = json_lines.JsonDocument(lists={"": [(1, document.words)]})  # a graph of one record
    records = [(line, record) for name in LISTS for line, record in document.records(name, taken)]
    kinds: dict[str, str] = {}
    for _, record in records:
        name, kind = first_text_field(record, *NAME).casefold(), first_text_field(record, *KIND)
        if kind not in kinds.get(name, "").split(", "):
            kinds[name] = ", ".join(filter(None, (kinds.get(name), kind)))
    taken.take_records(records, partial(take_graph_record, kinds=kinds), "a record")
    document.note_other_lists(taken, *LISTS)


def take_graph_record(taken: ImportBatch, place: SourcePlace, record: dict[str, Any], kinds: dict[str, str]) -> None:
    """Add a relation, or an entity: a value that says what it is, and a fact for each observation, by its mark."""
    name, kind = first_text_field(record, *NAME), first_text_field(record, *KIND)
    if {"from", "to", *RELATION} & record.keys() and not kind:
        names = (first_text_field(record, *names) for names in (("from",), RELATION, ("to",)))
        taken.add_relation(place, *names, required="from, relationType and to")
        return
    observed: Any = next((record[name] for name in ("observations", "contents", "content") if name in record), [])
    observed = [observed] if isinstance(observed, str) else observed
    if not name or not isinstance(observed, list) or not (kind or observed):
        taken.add_rejection(place, f"{json_lines.format_member_names(record)}; {READ}", name)
        return
    made_at = parse_source_time(record.get("createdAt"))
    # Of all its declarations at once, since one of them would replace the other.
    if kind_of_all := kinds.pop(name.casefold(), ""):
        taken.add_fact(place, "entity", FactType.VALUE, name, kind_of_all, created_at=made_at)
    for relation in record.get("relations") or ():
        taken.add_relation(
            place, name, *(first_text_field(relation, *names) for names in (RELATION, ("to",))), required=READ
        )
    for observation in observed:
        # Older servers kept what was observed as objects.
        content = observation if isinstance(observation, str) else first_text_field(observation, "content", "text")
        if content:
            aim = join_target_parts(name, text_mark(name, " ".join(content.split())))
            at = parse_source_time(first_text_field(observation, "timestamp")) or made_at
            what = f"observation of a {kind or 'thing'}"
            taken.add_fact(place, what, guess_fact_type(kind), aim, content, created_at=at)
        else:
            taken.add_skip(place, "an observation says nothing")
