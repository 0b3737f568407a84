"""Importer of the Model Context Protocol memory server's file: a graph of entities, observations and relations.

The format is `KnowledgeGraphManager.saveGraph` of https://github.com/modelcontextprotocol/servers,
`src/memory/index.ts`: one record per line, `{"type":"entity","name","entityType","observations":[…]}` or
`{"type":"relation","from","to","relationType"}`. The answer of its tool `read_graph`,
`{"entities":[…],"relations":[…]}`, is read too. It holds no times.
"""

from __future__ import annotations

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
    text_mark,
)
from hermes_memory_store.model import FactType


def read_mcp_memory(path: Path, taken: ImportBatch) -> None:
    """Read all entities and relations. :raises ImportFileError: it is another JSON"""
    document = json_lines.load_json_document(path, taken)
    graph = document.words
    if graph and "type" in graph:  # a graph of one record
        take_graph_record(taken, SourcePlace(1), graph)
        return
    if graph and not {"entities", "relations"} & set(graph):
        raise errors.ImportFileError(f"{path} is no graph of the MCP memory server", path)
    for name, kind in (("", ""), ("entities", "entity"), ("relations", "relation")):
        take = partial(take_graph_record, kind=kind)
        taken.take_records(document.records(name, taken), take, "a record")
    document.note_other_lists(taken, "", "entities", "relations")


def take_graph_record(taken: ImportBatch, place: SourcePlace, record: dict[str, Any], kind: str = "") -> None:
    """Add one record. :param kind: what it is where it does not say so itself"""
    kind = kind or str(record.get("type"))
    if kind == "entity":
        take_graph_entity(taken, place, record)
    elif kind == "relation":
        names = (first_text_field(record, name) for name in ("from", "relationType", "to"))
        taken.add_relation(place, *names, required="from, relationType and to")
    else:
        taken.add_rejection(
            place, f"the record is of type {errors.shorten_value(kind)!r}; it must be entity or relation", kind
        )


def take_graph_entity(taken: ImportBatch, place: SourcePlace, record: dict[str, Any]) -> None:
    """Add an entity: a value that says what it is, and a fact for each observation, by its mark."""
    name, kind = first_text_field(record, "name"), first_text_field(record, "entityType")
    observed = record.get("observations", [])
    if not name or not isinstance(observed, list):
        taken.add_rejection(place, "an entity needs a name, and a list of observations", record.get("name"))
        return
    if kind:
        taken.add_fact(place, "entity", FactType.VALUE, name, kind)
    for observation in observed:
        # Older servers kept what was observed as objects.
        content = observation if isinstance(observation, str) else first_text_field(observation, "content", "text")
        if content:
            aim = join_target_parts(name, text_mark(name, " ".join(content.split())))
            taken.add_fact(place, f"observation of a {kind or 'thing'}", guess_fact_type(kind), aim, content)
        else:
            taken.add_skip(place, "an observation says nothing")
