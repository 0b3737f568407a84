"""Pressure, seen ahead and looked back on: what relief would do to which facts, and how full the hot tier was.

The plan is made by the very steps that relief takes, on a change that is only rehearsed, so the two cannot disagree.
"""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.model import PERSON, Actor, Changed, Fact, Gauge, Millis, PressureLevel, Tier
from hermes_memory_store.names import Names
from hermes_memory_store.pages import fetched
from hermes_memory_store.records import FactRow, Mutation
from hermes_memory_store.scopes import changed
from hermes_memory_store.tiers import Tiers, archive_unread, consolidate, cool_closed_scopes, merge_duplicates

CONSOLIDATES_AT_PCT = 95.0

LOOKED_BACK = 50_000
"""Rows of the journal that are looked through for the history of a gauge, the newest ones."""

HISTORY = """
    SELECT j.theme_id, j.at, j.before, j.after, j.uid, f.chars FROM journal j LEFT JOIN facts f ON f.uid = j.uid
    WHERE j.seq > ? AND j.entity = 'fact' AND j.at >= ? ORDER BY j.seq DESC
"""


@dataclass(frozen=True, slots=True)
class Move:
    """What relief would do to one fact."""

    fact: Fact
    op: str
    """`merge`, `cool` or `archive`."""
    tier: Tier
    """Where it would stand then."""
    columns: dict[str, Any]


class Rehearsal:
    """A change that is never made: takes down what the steps of relief would set."""

    def __init__(self, conn: sqlite3.Connection, now: Millis) -> None:
        self.conn = conn
        self.now = now
        self.moves: dict[bytes, tuple[FactRow, str, dict[str, Any]]] = {}

    def update_fact(self, row: FactRow, op: str, *, by: Actor | None = None, **columns: Any) -> FactRow:
        """Note a step; the first for a fact is the one that would have been taken."""
        self.moves.setdefault(row.uid, (row, op, columns))
        return row


class Past:
    """One gauge, followed backwards from the present."""

    def __init__(self, used: int, points: int) -> None:
        self.found = [used] * points
        """Characters at each moment, as far as they are known; before that, as they were at the earliest known change."""
        self._used = used
        self._sizes: dict[bytes, int] = {}

    def go_before(self, point: float, before: str | None, after: str | None, uid: bytes, chars: int | None) -> None:
        """Go back before a row of the journal. :param point: where it lies among the moments, counted from 0"""
        gained, self._sizes[uid] = effect(before, after, self._sizes.get(uid, chars or 0))
        self._used = max(0, self._used - gained)
        earlier = min(len(self.found), math.ceil(point))
        self.found[:earlier] = [self._used] * earlier


class Pressure:
    """Plans, runs and remembers relief."""

    def __init__(self, db: Db, names: Names, journal: Journal, tiers: Tiers) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._tiers = tiers

    def plan(self, theme: str) -> dict[PressureLevel, list[Move]]:
        """What each level would do to which facts, each fact under the first level that moves it.

        Consolidation is planned as if the gauge stood at 95 %: these are the facts that go next. Writes nothing.
        """
        theme_id = self._names.theme_or_none(theme)
        if theme_id is None:
            return {}
        with self._db.snapshot() as conn:
            levels = self._rehearsed(conn, theme_id)
            return {level: self._moves(rehearsal) for level, rehearsal in levels.items()}

    def relieve(self, theme: str, level: PressureLevel, *, actor: Actor = PERSON) -> Changed:
        """Do now what `plan` says of the levels up to this one, as one change that can be undone."""
        with self._db.writing() as conn:
            theme_id = self._names.theme(theme)
            change = Mutation(conn, self._names, self._journal, actor)
            for step, rehearsal in self._rehearsed(conn, theme_id).items():
                for row, op, columns in rehearsal.moves.values():
                    change.update_fact(row, op, **columns)
                if step is level:
                    break
            return changed(change)

    def history(self, theme: str, *, since: int, points: int) -> list[int]:
        """Characters on the gauge of one theme, as `histories` has them; a theme that there is not was always empty."""
        return self.histories(since=since, points=points).get(theme, [0] * points)

    def histories(self, *, since: int, points: int) -> dict[str, list[int]]:
        """Characters on the gauge of every theme at `points` moments from `since` (UTC milliseconds) to now, the last being now.

        Reckoned backwards from the present by the newest rows of the journal; what is older than those counts as unchanged.
        """
        now, names = self._journal.present(), self._names.all_themes()
        pasts = {self._names.theme(name): Past(self._tiers.gauge(name).used, points) for name in names}
        if points < 2 or now <= since:
            return {name: past.found for name, past in zip(names, pasts.values(), strict=True)}
        step = (now - since) / (points - 1)
        for theme_id, at, *row in self._db.rows(HISTORY, (self._journal.last_seq() - LOOKED_BACK, since)):
            if theme_id in pasts:
                pasts[theme_id].go_before((at - since) / step, *row)
        return {name: past.found for name, past in zip(names, pasts.values(), strict=True)}

    def _rehearsed(self, conn: sqlite3.Connection, theme_id: int) -> dict[PressureLevel, Rehearsal]:
        now = self._journal.now(conn)
        gauge = self._tiers.gauge_within(conn, theme_id)
        spared: frozenset[bytes] = frozenset()
        levels = {}
        for level in (PressureLevel.MERGE, PressureLevel.ARCHIVE, PressureLevel.CONSOLIDATE):
            rehearsal = Rehearsal(conn, now)
            step: Any = rehearsal
            if level is PressureLevel.MERGE:
                merge_duplicates(step, theme_id, spared)
            elif level is PressureLevel.ARCHIVE:
                cool_closed_scopes(step, theme_id)
                archive_unread(step, theme_id)
            else:
                consolidate(step, theme_id, as_if_full(gauge), spared)
            for uid in spared:
                rehearsal.moves.pop(uid, None)
            spared |= frozenset(rehearsal.moves)
            levels[level] = rehearsal
        return levels

    def _moves(self, rehearsal: Rehearsal) -> list[Move]:
        rows = list(rehearsal.moves.values())
        facts = {fact.id: fact for fact in fetched(self._db, self._names, [row.id for row, _, _ in rows])}
        return [Move(facts[row.id], op, Tier(columns["tier"]), columns) for row, op, columns in rows if row.id in facts]


def as_if_full(gauge: Gauge) -> Gauge:
    """The gauge as it stands when consolidation begins, or as it is when that is higher."""
    return replace(gauge, used=max(gauge.used, int(gauge.budget * CONSOLIDATES_AT_PCT / 100) + 1))


def effect(before: str | None, after: str | None, chars: int) -> tuple[int, int]:
    """By how many characters a row of the journal changed the hot tier, and the fact's own size before it.

    What a purge took out counts as nothing.

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
