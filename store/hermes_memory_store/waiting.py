"""What waits for a person: suspicious facts, newest first, each with why it waits and which source it came from."""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_store import sources
from hermes_memory_store.db import Db
from hermes_memory_store.model import Millis, Tier, Waiting
from hermes_memory_store.names import Names
from hermes_memory_store.records import FACTS_WITH_READS, fact_of

MOST = 1_000
"""Facts listed at once: more than anybody decides on, and few enough to be read whole."""

WHY = "quarantine:"
"""Begins what `cooled_by` says of a fact that waits; the rule it fell under follows."""

# The index alone says which wait, so that the rest of a theme is not looked at.
NEWEST = """
    SELECT f.id FROM facts f INDEXED BY facts_by_creation
    WHERE f.theme_id IN (SELECT id FROM themes WHERE ?1 IS NULL OR id = ?1) AND f.tier = ?2
    ORDER BY f.created_at DESC, f.id DESC LIMIT ?3
"""

FIRST_ROW = "SELECT at, after FROM journal WHERE uid = ? ORDER BY seq LIMIT 1"

CLIENT = "SELECT client FROM sessions WHERE theme_id = ? AND name = ?"


def waiting(db: Db, names: Names, theme: str | None) -> list[Waiting]:
    """The newest facts that wait, of one theme or of all. :raises UnknownTheme:"""
    theme_id = None if theme is None else names.theme(theme)
    with db.snapshot():
        keys = [key for (key,) in db.rows(NEWEST, (theme_id, Tier.QUARANTINED.value, MOST))]
        return [one(db, names, db.row(f"{FACTS_WITH_READS} WHERE f.id = ?", (key,)) or ()) for key in keys]


def one(db: Db, names: Names, row: tuple[Any, ...]) -> Waiting:
    """A row of `FACTS_WITH_READS` with what the journal says of its coming."""
    fact = fact_of(row, names)
    at, after = db.row(FIRST_ROW, (row[1],)) or (fact.created_at, None)
    said = json.loads(after) if after else {}
    source = said.get("source")
    if source is None and fact.actor.kind == "session":
        # Kept before sources were noted, or brought in from another store.
        source = sources.named(db.value(CLIENT, (row[2], fact.actor.name)), fact.actor.name)
    why = said.get("cooled_by") or row[15] or ""
    return Waiting(fact, why.removeprefix(WHY), source, Millis(at))
