"""Bulk writing: many facts in few transactions, by the same rules as single writes.

Most lines of an import are independent: no fact stands in their place, and no other line of the batch is about
their target. Those are inserted together. Every other line is written like a single fact.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hermes_memory_store import errors
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.memory.scopes import validate_label
from hermes_memory_store.memory.tiers import Tiers
from hermes_memory_store.memory.write_rules import write_fact
from hermes_memory_store.model import Actor, FactType, Notation, Origin, ScopeStatus, Tier
from hermes_memory_store.notation import memory_spec
from hermes_memory_store.rows.journal import Journal
from hermes_memory_store.rows.mutation import STANDS, Mutation, count_notation_chars
from hermes_memory_store.rows.name_keys import Names, ScopeKey, to_theme_name
from hermes_memory_themes import Policies, ThemeName

BATCH = 2_000
"""Facts one transaction holds: long enough to be fast, short enough (about 0.2 s) that others get their turn."""

HOT_FILL_LIMIT_PCT = 85.0
"""A bulk write fills the hot tier up to here; what comes after starts cold, and nothing that was hot is pushed out."""

Line = tuple[str | Notation, str | None]
"""A notation, and the label of its scope."""

FACTS_IN_PLACE = f"""
    SELECT j.key FROM (
      SELECT key, value ->> 0 AS scope_id, value ->> 1 AS type, value ->> 2 AS target FROM json_each(?)
    ) j
    CROSS JOIN facts f ON f.scope_id = j.scope_id AND f.type IN (j.type, '?', '~') AND f.target = j.target
      AND f.{STANDS}
"""
"""Which of these lines meet a fact that stands in their place, asks about their target or calls it obsolete."""


@dataclass(slots=True)
class BulkResult:
    """The result of a bulk write: counts, and the index and error of every refused line."""

    created: int = 0
    deduplicated: int = 0
    errors: list[tuple[int, errors.StoreError]] = field(default_factory=list)


@dataclass(slots=True)
class AcceptedLine:
    """One accepted line."""

    said: Notation
    scope: ScopeKey
    line: int | None
    """Of the imported file."""

    @property
    def place(self) -> tuple[int, str]:
        """The scope, type and target it is about."""
        return self.scope.id, self.said.target.lower()


class BulkWriter:
    """Write many facts of one theme."""

    def __init__(self, db: Db, names: Names, journal: Journal, policies: Policies, tiers: Tiers) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._tiers = tiers

    def write(
        self,
        theme: str,
        lines: Sequence[Line],
        *,
        actor: Actor,
        progress: Callable[[int], None] | None = None,
        origin: Origin | None = None,
        numbers: Sequence[int] | None = None,
    ) -> BulkResult:
        """Write facts; see `Facts.write_many`."""
        called = to_theme_name(theme)
        result = BulkResult()
        for start in range(0, len(lines), BATCH):
            some = [] if numbers is None else numbers[start : start + BATCH]
            self._write_batch(called, lines[start : start + BATCH], start, actor, result, origin, some)
            if progress is not None:
                progress(min(start + BATCH, len(lines)))
        return result

    @retry_without_index
    def _write_batch(
        self,
        theme: ThemeName,
        lines: Sequence[Line],
        start: int,
        actor: Actor,
        result: BulkResult,
        origin: Origin | None,
        numbers: Sequence[int],
    ) -> None:
        refused: list[tuple[int, errors.StoreError]] = []
        created = deduplicated = 0
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, actor, origin)
            theme_id = self._names.theme_for_writing(conn, theme, change.now)
            items = self._accept_lines(change, theme_id, theme, lines, start, refused, numbers)
            gauge = self._tiers.gauge_within(conn, theme_id)
            room = int(gauge.budget * HOT_FILL_LIMIT_PCT / 100) - gauge.used
            fresh, others = split_independent_lines(conn, items)
            tiers = []
            for item in fresh:
                chars = count_notation_chars(item.said.target, item.said.content)
                tiers.append(Tier.HOT if room >= chars else Tier.COLD)
                room -= chars if room >= chars else 0
            change.insert_facts(
                theme_id, [(one.said, one.scope, tier, one.line) for one, tier in zip(fresh, tiers, strict=True)]
            )
            created += len(fresh)
            for item in others:
                scope = change.scope_for_writing(theme_id, item.scope.label)
                chars = count_notation_chars(item.said.target, item.said.content)
                tier = Tier.HOT if room >= chars else Tier.COLD
                written = write_fact(change, theme_id, scope, item.said, tier=tier, line=item.line)
                room -= chars if written.row.tier == Tier.HOT else 0
                created += written.created
                deduplicated += not written.created
            change.record()
        result.errors += refused
        result.created += created
        result.deduplicated += deduplicated

    def _accept_lines(
        self,
        change: Mutation,
        theme_id: int,
        theme: str,
        lines: Sequence[Line],
        start: int,
        refused: list[tuple[int, errors.StoreError]],
        numbers: Sequence[int],
    ) -> list[AcceptedLine]:
        limit = self._policies.for_theme(theme).fact_chars
        scopes: dict[str | None, ScopeKey] = {}
        items = []
        for index, (line, label) in enumerate(lines, start):
            try:
                said = line if isinstance(line, Notation) else memory_spec.parse_notation(line, limit=limit)
                scope = scopes.get(label)
                if scope is None:
                    scope = change.scope_for_writing(theme_id, None if label is None else validate_label(label))
                    scopes[label] = scope
            except errors.StoreError as error:
                refused.append((index, error))
            else:
                items.append(AcceptedLine(said, scope, numbers[index - start] if numbers else None))
        return items


def split_independent_lines(
    conn: sqlite3.Connection, items: Sequence[AcceptedLine]
) -> tuple[list[AcceptedLine], list[AcceptedLine]]:
    """Split lines into independent ones and others, each in their order."""
    spoken = Counter(item.place for item in items)
    ordinary = (FactType.DONE, FactType.OBSOLETE)
    closing = {item.scope.id for item in items if item.said.type in ordinary}
    alone = [
        spoken[item.place] == 1 and item.scope.id not in closing and item.scope.status == ScopeStatus.OPEN
        for item in items
    ]
    asked = [(item.scope.id, item.said.type.value, item.said.target) for item in items]
    for (key,) in conn.execute(FACTS_IN_PLACE, (json.dumps(asked, ensure_ascii=False),)):
        alone[key] = False
    fresh = [item for item, free in zip(items, alone, strict=True) if free]
    others = [item for item, free in zip(items, alone, strict=True) if not free]
    return fresh, others
