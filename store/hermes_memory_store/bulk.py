"""Bulk writing: many facts in few transactions, by the same rules as one at a time.

Most lines of an import meet nothing: no fact stands in their place, and no other line of the batch speaks about their
target. Those go in as whole columns at once. Every other line takes the ordinary way.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hermes_memory_store import errors, notation
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import Actor, FactType, Notation, ScopeStatus, Tier
from hermes_memory_store.names import Names, ScopeKey
from hermes_memory_store.records import STANDS, Mutation, notation_chars
from hermes_memory_store.scopes import checked_label
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.tiers import Tiers
from hermes_memory_store.writing import write_fact
from hermes_memory_themes import Policies

BATCH = 2_000
"""Facts one transaction holds: long enough to be fast, short enough (about 0.2 s) that others get their turn."""

ROOM_PCT = 85.0
"""A bulk write fills the hot tier up to here; what comes after starts cold, and nothing that was hot is pushed out."""

Line = tuple[str | Notation, str | None]
"""A notation, and the label of its scope."""

MET = f"""
    SELECT j.key FROM (
      SELECT key, value ->> 0 AS scope_id, value ->> 1 AS type, value ->> 2 AS target FROM json_each(?)
    ) j
    CROSS JOIN facts f ON f.scope_id = j.scope_id AND f.type IN (j.type, '?', '~') AND f.target = j.target
      AND f.{STANDS}
"""
"""Which of these lines meet a fact that stands in their place, asks about their target or calls it obsolete."""


@dataclass(slots=True)
class BulkResult:
    """What a bulk write did: counts, and the index and error of every line that was refused."""

    created: int = 0
    deduplicated: int = 0
    errors: list[tuple[int, errors.StoreError]] = field(default_factory=list)


@dataclass(slots=True)
class Item:
    """One accepted line."""

    said: Notation
    scope: ScopeKey

    @property
    def place(self) -> tuple[int, str]:
        """What it speaks about."""
        return self.scope.id, self.said.target.lower()


class Bulk:
    """Writes many facts of one theme."""

    def __init__(self, db: Db, names: Names, journal: Journal, policies: Policies, tiers: Tiers) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._tiers = tiers

    def write(
        self, theme: str, lines: Sequence[Line], *, actor: Actor, progress: Callable[[int], None] | None = None
    ) -> BulkResult:
        """See `Facts.write_many`."""
        result = BulkResult()
        for start in range(0, len(lines), BATCH):
            self._write_batch(theme, lines[start : start + BATCH], start, actor, result)
            if progress is not None:
                progress(min(start + BATCH, len(lines)))
        return result

    @again_without_index
    def _write_batch(self, theme: str, lines: Sequence[Line], start: int, actor: Actor, result: BulkResult) -> None:
        refused: list[tuple[int, errors.StoreError]] = []
        created = deduplicated = 0
        with self._db.writing() as conn:
            change = Mutation(conn, self._names, self._journal, actor)
            theme_id = self._names.theme_for_writing(conn, theme, change.now)
            items = self._accepted(change, theme_id, theme, lines, start, refused)
            gauge = self._tiers.gauge_within(conn, theme_id)
            room = int(gauge.budget * ROOM_PCT / 100) - gauge.used
            fresh, others = apart(conn, items)
            tiers = []
            for item in fresh:
                chars = notation_chars(item.said.target, item.said.content)
                tiers.append(Tier.HOT if room >= chars else Tier.COLD)
                room -= chars if room >= chars else 0
            change.insert_facts(theme_id, [(one.said, one.scope, tier) for one, tier in zip(fresh, tiers, strict=True)])
            created += len(fresh)
            for item in others:
                scope = change.scope_for_writing(theme_id, item.scope.label)
                chars = notation_chars(item.said.target, item.said.content)
                tier = Tier.HOT if room >= chars else Tier.COLD
                written = write_fact(change, theme_id, scope, item.said, tier=tier)
                room -= chars if written.row.tier == Tier.HOT else 0
                created += written.created
                deduplicated += not written.created
            change.record()
        result.errors += refused
        result.created += created
        result.deduplicated += deduplicated

    def _accepted(
        self,
        change: Mutation,
        theme_id: int,
        theme: str,
        lines: Sequence[Line],
        start: int,
        refused: list[tuple[int, errors.StoreError]],
    ) -> list[Item]:
        limit = self._policies.for_theme(theme).fact_chars
        scopes: dict[str | None, ScopeKey] = {}
        items = []
        for index, (line, label) in enumerate(lines, start):
            try:
                said = line if isinstance(line, Notation) else notation.parse(line, limit=limit)
                scope = scopes.get(label)
                if scope is None:
                    scope = change.scope_for_writing(theme_id, None if label is None else checked_label(label))
                    scopes[label] = scope
            except errors.StoreError as error:
                refused.append((index, error))
            else:
                items.append(Item(said, scope))
        return items


def apart(conn: sqlite3.Connection, items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """Lines that meet nothing, and the others, each in their order."""
    spoken = Counter(item.place for item in items)
    ordinary = (FactType.DONE, FactType.OBSOLETE)
    closing = {item.scope.id for item in items if item.said.type in ordinary}
    alone = [
        spoken[item.place] == 1 and item.scope.id not in closing and item.scope.status == ScopeStatus.OPEN
        for item in items
    ]
    asked = [(item.scope.id, item.said.type.value, item.said.target) for item in items]
    for (key,) in conn.execute(MET, (json.dumps(asked, ensure_ascii=False),)):
        alone[key] = False
    fresh = [item for item, free in zip(items, alone, strict=True) if free]
    others = [item for item, free in zip(items, alone, strict=True) if not free]
    return fresh, others
