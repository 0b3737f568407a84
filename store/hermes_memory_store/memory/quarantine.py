"""The quarantine queue: suspicious facts, newest first, each with its reason and source."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from hermes_memory_store.clock import DAY_MS, format_iso_time
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.intake import Admission
from hermes_memory_store.intake.origins import TextOrigin
from hermes_memory_store.items.fact_pages import to_facts
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import READ_COLUMNS, Mutation
from hermes_memory_store.items.name_keys import Names, ScopeKey
from hermes_memory_store.items.tier_columns import PROPOSED, find_waiting_rule, quarantined_columns
from hermes_memory_store.memory.sources import client_source
from hermes_memory_store.model import Fact, Millis, QuarantinedFact, Tier
from hermes_memory_store.uids import parse_uid
from hermes_memory_themes import Policies

MAX_QUARANTINED_LISTED = 1_000
"""Facts listed at once: more than anybody decides on, and few enough to be read whole."""

MOST_ALIKE = 3
"""Facts that wait for the same reason, from one source, and are listed each; more are folded into one line."""

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

UPGRADED_AT = "SELECT coalesce(max(unixepoch(applied_at)), 0) * 1000 FROM _sqlite_migrations"
"""When the store was last brought up to date, UTC milliseconds: the days of what waited before begin then."""

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
    **attributes: Any,
) -> list[bytes]:
    """Quarantine a fact, or its parts, within a running change; return their uids. One that waits already stays.

    :param attributes: as of `insert_fact`
    """
    assert admission.suspicion is not None
    uids_held = []
    for admitted in admission.facts:
        place = (scope.id, admitted.said.type.value, admitted.said.target, admitted.said.content)
        waiting_row = change.conn.execute(WAITING_ALREADY, place).fetchone()
        if waiting_row is None:
            columns: dict[str, Any] = quarantined_columns(admission.suspicion.rule) | {"source": source}
            row = change.insert_fact(theme_id, scope, admitted, **columns, **attributes)
            waiting_row = (row.uid,)
        uids_held.append(waiting_row[0])
    return uids_held


def load_quarantine(db: Db, names: Names, policies: Policies, theme: str | None, now: int) -> list[QuarantinedFact]:
    """:param now: UTC milliseconds"""
    upgraded_at: int = db.value(UPGRADED_AT)
    theme_id = None if theme is None else names.theme(theme)
    rows = db.rows(NEWEST_QUARANTINED, (theme_id, Tier.QUARANTINED.value, MAX_QUARANTINED_LISTED))
    queue = []
    for (*columns, at, after, client), fact in zip(rows, to_facts(names, rows), strict=True):
        source = json.loads(after or "{}").get("source")
        if source is None and fact.actor.kind == "session":
            # Kept before sources were noted, or brought in from another store.
            source = client_source(client, fact.actor.name)
        rule = find_waiting_rule(FactRow(*columns[: len(FactRow._fields)])) or ""
        since = Millis(fact.created_at if at is None else at)
        days = policies.for_theme(fact.theme).review_days
        is_overdue = days > 0 and rule != PROPOSED and max(since, upgraded_at) < now - days * DAY_MS
        said = find_said_line(db, fact) if rule == PROPOSED else ""
        queue.append(
            QuarantinedFact(fact, rule, source, since, is_cleared(rule, fact.target, fact.content), is_overdue, said)
        )
    return queue


def find_said_line(db: Db, fact: Fact) -> str:
    """Return who said, when, what a fact was proposed for: the line of the message; empty where it is erased."""
    uid = parse_uid(fact.origin.turns[0]) if fact.origin.turns else b""
    role, at, text = db.row("SELECT role, at, content FROM turns WHERE uid = ?", (uid,)) or ("", 0, "")
    line = next((line for line in text.splitlines() if fact.content in line), text)
    return f"{role}, {format_iso_time(at)[:10]}: {' '.join(line.split())[:400]}" if text else ""


def fold_waiting(queue: Iterable[QuarantinedFact]) -> list[list[QuarantinedFact]]:
    """Return what waits by its kind, each newest first: what no rule holds any more first, then what has waited long, then
    proposals."""
    kinds: dict[tuple[str, str, str, bool], list[QuarantinedFact]] = {}
    for entry in queue:
        kinds.setdefault(entry.kind, []).append(entry)
    return sorted(
        kinds.values(),
        key=lambda alike: (alike[0].why == PROPOSED, not alike[0].is_cleared, alike[0].is_overdue, -alike[0].at),
    )


@lru_cache(maxsize=MAX_QUARANTINED_LISTED)
def is_cleared(rule: str, target: str, content: str) -> bool:
    """Check whether a text waits for its score alone, and no rule of this version holds it, even as a stranger's.

    What waits for another rule may be a piece of an attack, which is found only beside the others.
    """
    return (
        rule.startswith("score:")
        and find_suspicion(Passage(TextKind.WRITE, content, target, origin=TextOrigin.HEARD)) is None
    )
