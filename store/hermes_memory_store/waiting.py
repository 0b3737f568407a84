"""What waits for a person: suspicious facts, newest first, each with why it waits and which source it came from."""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_store import sources
from hermes_memory_store.db import Db
from hermes_memory_store.model import Fact, Millis, Tier, Waiting
from hermes_memory_store.names import Names
from hermes_memory_store.records import FACT_COLUMNS, READ_COLUMNS, FactRow
from hermes_memory_store.row_reader import RowReader

MOST = 1_000
"""Facts listed at once: more than anybody decides on, and few enough to be read whole."""

WHY = "quarantine:"
"""Begins what `cooled_by` says of a fact that waits; the rule it fell under follows."""

# The index alone says which wait, so that the rest of a theme is not looked at. A fact that waits began by waiting, so its
# first row of the journal says how it came.
NEWEST = f"""
    SELECT {FACT_COLUMNS}, {READ_COLUMNS}, j.at, j.after, n.client
    FROM (
      SELECT id FROM facts INDEXED BY facts_by_creation
      WHERE theme_id IN (SELECT id FROM themes WHERE ?1 IS NULL OR id = ?1) AND tier = ?2
      ORDER BY created_at DESC, id DESC LIMIT ?3
    ) w
    CROSS JOIN facts f ON f.id = w.id
    JOIN scopes s ON s.id = f.scope_id
    JOIN actors a ON a.id = f.actor_id
    LEFT JOIN reads r ON r.fact_id = f.id
    LEFT JOIN journal j ON j.seq = (SELECT min(seq) FROM journal WHERE uid = f.uid)
    LEFT JOIN sessions n ON a.kind = 'session' AND n.theme_id = f.theme_id AND n.name = a.name
    ORDER BY f.created_at DESC, f.id DESC
"""


def waiting(db: Db, names: Names, theme: str | None) -> list[Waiting]:
    """The newest facts that wait, of one theme or of all. :raises UnknownTheme:"""
    theme_id = None if theme is None else names.theme(theme)
    rows = db.rows(NEWEST, (theme_id, Tier.QUARANTINED.value, MOST))
    return [one(row, fact) for row, fact in zip(rows, RowReader(names).facts(rows), strict=True)]


def one(row: tuple[Any, ...], fact: Fact) -> Waiting:
    """A row of `NEWEST` as data."""
    *columns, at, after, client = row
    said = json.loads(after) if after else {}
    source = said.get("source")
    if source is None and fact.actor.kind == "session":
        # Kept before sources were noted, or brought in from another store.
        source = sources.named(client, fact.actor.name)
    why = FactRow(*columns[:16]).cooled_by or ""
    return Waiting(fact, why.removeprefix(WHY), source, Millis(fact.created_at if at is None else at))
