"""The file of the Model Context Protocol's own memory server: a graph of entities, what was observed of them, and relations.

Its form is `KnowledgeGraphManager.saveGraph` of https://github.com/modelcontextprotocol/servers, `src/memory/index.ts`: a
record a line, `{"type":"entity","name","entityType","observations":[…]}` or `{"type":"relation","from","to","relationType"}`.
What its tool `read_graph` answers, `{"entities":[…],"relations":[…]}`, is read too. It keeps no times.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_memory_store import errors
from hermes_memory_store.importers import json_places
from hermes_memory_store.importers.taking import Place, Taken, mark, named, type_of, words
from hermes_memory_store.model import FactType


def read(path: Path, taken: Taken) -> None:
    """Take all entities and relations. :raises ImportFileError: it is another JSON"""
    document = json_places.records(path, taken)
    graph = document.words
    if graph and "type" in graph:  # a graph of one record
        take(taken, Place(1), graph, str(graph["type"]))
        return
    if graph and not {"entities", "relations"} & set(document.lists):
        raise errors.ImportFileError(f"{path} is no graph of the MCP memory server", path)
    for name, kind in (("", ""), ("entities", "entity"), ("relations", "relation")):
        for line, record in document.lists.get(name, ()):
            if isinstance(record, dict):
                take(taken, Place(line), record, kind or str(record.get("type")))
            else:
                taken.refuse(Place(line), "a record is not an object", record)


def take(taken: Taken, place: Place, record: dict[str, Any], kind: str) -> None:
    """Take one record."""
    if kind == "entity":
        take_entity(taken, place, record)
    elif kind == "relation":
        take_relation(taken, place, record)
    else:
        taken.refuse(place, f"the record is of type {errors.shorten(kind)!r}; it must be entity or relation", kind)


def take_entity(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """An entity: a value that says what it is, and a fact for each observation, by its mark."""
    name, kind, observed = words(record, "name"), words(record, "entityType"), record.get("observations", [])
    if not name or not isinstance(observed, list):
        taken.refuse(place, "an entity needs a name, and a list of observations", record.get("name"))
        return
    if kind:
        taken.fact(place, "entity", FactType.VALUE, name, kind)
    for said in observed:
        # Older servers kept what was observed as objects.
        content = said if isinstance(said, str) else words(said, "content", "text")
        if content:
            aim = named(name, mark(name, " ".join(content.split())))
            taken.fact(place, f"observation of a {kind or 'thing'}", type_of(kind), aim, content)
        else:
            taken.skip(place, "an observation says nothing")


def take_relation(taken: Taken, place: Place, record: dict[str, Any]) -> None:
    """A relation: a value that says it in words."""
    one, kind, other = words(record, "from"), words(record, "relationType"), words(record, "to")
    if not (one and kind and other):
        taken.refuse(place, "a relation needs from, relationType and to", one or other)
        return
    aim = named(one, kind, mark(one, kind, other))
    taken.fact(
        place, "relation", FactType.VALUE, aim, f"{one} {kind.replace('_', ' ')} {other}", names=(one, kind, other)
    )
