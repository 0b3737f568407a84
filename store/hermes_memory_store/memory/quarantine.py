"""The quarantine queue: suspicious facts, newest first, each with its reason and source."""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import Admission
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import READ_COLUMNS, Mutation
from hermes_memory_store.items.name_keys import Names, ScopeKey
from hermes_memory_store.items.tier_columns import find_waiting_rule, quarantined_columns
from hermes_memory_store.memory.sources import client_source
from hermes_memory_store.model import Millis, QuarantinedFact, Tier

MAX_QUARANTINED_LISTED = 1_000
"""Facts listed at once: more than anybody decides on, and few enough to be read whole."""

# The index alone says which wait, so that the rest of a theme is not looked at. A fact that waits began by waiting, so its
# first row of the journal says how it came.
NEWEST_QUARANTINED = f"""
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


WAITING_ALREADY = """
    SELECT uid FROM facts
    WHERE scope_id = ? AND tier = 'quarantined' AND type = ? AND target = ? AND content = ?
"""


def hold_fact(
    change: Mutation,
    theme_id: int,
    scope: ScopeKey,
    admission: Admission,
    source: str | None = None,
    *,
    line: int | None = None,
) -> list[bytes]:
    """Quarantine a fact, or its parts, within a running change; return their uids. One that waits already stays."""
    assert admission.suspicion is not None
    uids_held = []
    for admitted in admission.facts:
        place = (scope.id, admitted.said.type.value, admitted.said.target, admitted.said.content)
        waiting_row = change.conn.execute(WAITING_ALREADY, place).fetchone()
        if waiting_row is None:
            columns: dict[str, Any] = quarantined_columns(admission.suspicion.rule) | {"source": source, "line": line}
            row = change.insert_fact(theme_id, scope, admitted, **columns)
            waiting_row = (row.uid,)
        uids_held.append(waiting_row[0])
    return uids_held


def load_quarantine(db: Db, names: Names, theme: str | None) -> list[QuarantinedFact]:
    theme_id = None if theme is None else names.theme(theme)
    rows = db.rows(NEWEST_QUARANTINED, (theme_id, Tier.QUARANTINED.value, MAX_QUARANTINED_LISTED))
    queue = []
    for (*columns, at, after, client), fact in zip(rows, to_facts(names, rows), strict=True):
        source = json.loads(after or "{}").get("source")
        if source is None and fact.actor.kind == "session":
            # Kept before sources were noted, or brought in from another store.
            source = client_source(client, fact.actor.name)
        rule = find_waiting_rule(FactRow(*columns[: len(FactRow._fields)])) or ""
        queue.append(QuarantinedFact(fact, rule, source, Millis(fact.created_at if at is None else at)))
    return queue
