"""Pressure: what relief would do to which facts, rehearsed by its own steps, and how full the hot tier was in the past."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from hermes_memory_store.database.db import Db
from hermes_memory_store.items.fact_pages import load_facts
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FactRow
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.memory.scopes import record_change
from hermes_memory_store.memory.tiers import (
    Tiers,
    archive_unread,
    consolidate_hot_tier,
    cool_closed_scopes,
    merge_duplicates,
)
from hermes_memory_store.model import PERSON, Actor, ChangeResult, Fact, Millis, PressureLevel, Tier

CONSOLIDATES_AT_PCT = 95.0

MAX_ROWS_SEARCHED = 50_000
"""Rows of the journal that are looked through for the history of a gauge, the newest ones."""

HISTORY = """
    SELECT j.theme_id, j.at, j.before, j.after, j.uid, f.chars FROM journal j LEFT JOIN facts f ON f.uid = j.uid
    WHERE j.seq > ? AND j.entity = 'fact' AND j.at >= ? ORDER BY j.seq DESC
"""


@dataclass(frozen=True, slots=True)
class ReliefMove:
    fact: Fact
    op: str
    tier: Tier
    columns: dict[str, Any]


class ReliefRehearsal:
    """A change that is never written: it records what the steps of relief would set."""

    def __init__(self, conn: sqlite3.Connection, now: Millis) -> None:
        self.conn = conn
        self.now = now
        self.moves: dict[bytes, tuple[FactRow, str, dict[str, Any]]] = {}

    def update_fact(self, row: FactRow, op: str, *, by: Actor | None = None, **columns: Any) -> FactRow:
        """Record a step; the first one for a fact is the one that would be taken."""
        self.moves.setdefault(row.uid, (row, op, columns))
        return row


class Pressure:
    """Plan and run relief, and reconstruct its history."""

    def __init__(self, db: Db, names: Names, journal: Journal, tiers: Tiers) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._tiers = tiers

    def plan(self, theme: str) -> dict[PressureLevel, list[ReliefMove]]:
        """Return what each level would do to which facts, each fact under the first level that moves it.

        Consolidation is planned as if the gauge were at 95 %: these are the facts that go next. Writes nothing.
        """
        with self._db.snapshot() as conn:
            theme_id = self._names.theme_or_none(theme)
            levels = {} if theme_id is None else self._rehearse(conn, theme_id)
            return {level: self._moves(rehearsal) for level, rehearsal in levels.items()}

    def relieve(self, theme: str, level: PressureLevel, *, actor: Actor = PERSON) -> ChangeResult:
        """Carry out the plan for the levels up to this one, as one change that can be undone. :raises UnknownTheme:"""
        with self._db.write_transaction() as conn:
            theme_id = self._names.theme(theme)
            change = Mutation(conn, self._names, self._journal, actor)
            for step, rehearsal in self._rehearse(conn, theme_id).items():
                for row, op, columns in rehearsal.moves.values():
                    change.update_fact(row, op, **columns)
                if step is level:
                    break
            return record_change(change)

    def history(self, theme: str, *, since: int, points: int) -> list[int]:
        """Return the characters on the gauge of one theme, as `histories`; an unknown theme was always empty."""
        return self.histories(since=since, points=points).get(self._names.find_theme_name(theme), [0] * points)

    def histories(self, *, since: int, points: int) -> dict[str, list[int]]:
        """Return the characters on every theme's gauge at `points` moments from `since` to now, the last being now.

        `since` is UTC milliseconds. Computed backwards from the present by the newest rows of the journal; anything
        older than those counts as unchanged.
        """
        now, names = self._journal.current_time(), self._names.all_themes()
        pasts = {self._names.theme(name): [self._tiers.gauge(name).used] * points for name in names}
        if points > 1 and now > since:
            used, sizes = {theme_id: past[0] for theme_id, past in pasts.items()}, dict[tuple[int, bytes], int]()
            step = (now - since) / (points - 1)
            newest = (self._journal.last_seq() - MAX_ROWS_SEARCHED, since)
            for theme_id, at, before, after, uid, chars in self._db.rows(HISTORY, newest):
                if theme_id in pasts:
                    chars = sizes.get((theme_id, uid), chars or 0)
                    gained, sizes[theme_id, uid] = gauge_effect(before, after, chars)
                    used[theme_id] = max(0, used[theme_id] - gained)
                    earlier = min(points, math.ceil((at - since) / step))
                    pasts[theme_id][:earlier] = [used[theme_id]] * earlier
        return dict(zip(names, pasts.values(), strict=True))

    def _rehearse(self, conn: sqlite3.Connection, theme_id: int) -> dict[PressureLevel, ReliefRehearsal]:
        now = self._journal.now(conn)
        gauge = self._tiers.gauge_within(conn, theme_id)
        spared: frozenset[bytes] = frozenset()
        levels = {}
        for level in (PressureLevel.MERGE, PressureLevel.ARCHIVE, PressureLevel.CONSOLIDATE):
            rehearsal = ReliefRehearsal(conn, now)
            step: Any = rehearsal
            if level is PressureLevel.MERGE:
                merge_duplicates(step, theme_id, spared)
            elif level is PressureLevel.ARCHIVE:
                cool_closed_scopes(step, theme_id)
                archive_unread(step, theme_id)
            else:
                at_consolidation = int(gauge.budget * CONSOLIDATES_AT_PCT / 100) + 1
                gauge = replace(gauge, used=max(gauge.used, at_consolidation))
                consolidate_hot_tier(step, theme_id, gauge, spared)
            for uid in spared:
                rehearsal.moves.pop(uid, None)
            spared |= frozenset(rehearsal.moves)
            levels[level] = rehearsal
        return levels

    def _moves(self, rehearsal: ReliefRehearsal) -> list[ReliefMove]:
        rows = list(rehearsal.moves.values())
        facts = {fact.id: fact for fact in load_facts(self._db, self._names, [row.id for row, _, _ in rows])}
        return [
            ReliefMove(facts[row.id], op, Tier(columns["tier"]), columns)
            for row, op, columns in rows
            if row.id in facts
        ]


def gauge_effect(before: str | None, after: str | None, chars: int) -> tuple[int, int]:
    """Return by how many characters a journal row changed the hot tier, and the fact's size before it.

    What a purge removed counts as nothing.

    :param chars: the fact's size after it
    """
    then, now = json.loads(before or "{}"), json.loads(after or "{}")
    if not then:
        return (chars if now.get("tier") == Tier.HOT else 0), chars
    if "tier" in now:
        return chars * ((now["tier"] == Tier.HOT) - (then.get("tier") == Tier.HOT)), chars
    if "content" in now:
        gained = len(now["content"]) - len(then["content"] or "")
        return gained, chars - gained
    return 0, chars
