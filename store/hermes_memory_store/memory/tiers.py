"""Tiers and pressure: how full the hot tier of a theme is, and how room is made in it.

Relief runs inside the write that crosses a level, as part of the same change: 70 % merges duplicates, 85 % moves
facts of closed scopes out, 95 % cools the least recently used, least binding facts down to 85 %. Pinned facts are
never moved; constraints leave last.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.kinds import FACT_COLUMNS, FactRow
from hermes_memory_store.items.mutation import NOTATION_MARKS, Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.tier_columns import (
    COOLED_BY_CLOSING,
    COOLED_BY_PRESSURE,
    cold_columns,
    superseded_columns,
)
from hermes_memory_store.model import RELIEF, FactType, Gauge, Notation, PressureLevel, Relief, Tier
from hermes_memory_store.notation.abbreviations import fold_abbreviations
from hermes_memory_themes import Policies, ThemePolicy

BINDING = {kind.value: rank for rank, kind in enumerate(FactType)}
"""Rank of a type by its letter, most binding first."""

CALM_AGAIN_PCT = 85.0
"""Where consolidation stops, in percent of the budget."""

UNREAD_MS = 24 * 3_600_000
"""A cold fact of a closed scope that nobody read for this long may be archived."""

ARCHIVED_AT_ONCE = 200
"""Facts one relief archives at most, so that no write waits for a large clean-up; the next relief goes on."""

LEVELS = list(PressureLevel)

GAUGE = "SELECT hot_chars, hot_tokens, hot_facts, pinned_chars FROM themes WHERE id = ?"

GAUGE_AND_LAST = "SELECT hot_chars, hot_tokens, hot_facts, pinned_chars, last_fact FROM themes WHERE id = ?"

HOT_BY_USE = """
    SELECT max(f.updated_at, coalesce(r.last_at, 0)), f.type, f.id, f.uid, f.chars
    FROM facts f LEFT JOIN reads r ON r.fact_id = f.id WHERE f.theme_id = ? AND f.tier = 'hot' AND f.pinned = 0
"""


class ResolvedTheme(NamedTuple):
    """A theme as a change needs it, looked up once."""

    id: int
    name: str
    policy: ThemePolicy


class Tiers:
    """Read the gauges and relieve pressure."""

    def __init__(self, db: Db, names: Names, journal: Journal, policies: Policies) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies

    def gauge(self, theme: str) -> Gauge:
        """Return the gauge of a theme, empty for a theme without writes. O(1) at any size."""
        theme = self._names.find_theme_name(theme)
        return self.gauge_by_key(theme, self._names.theme_or_none(theme), self._policies.for_theme(theme))

    def gauge_by_key(self, theme: str, theme_id: int | None, policy: ThemePolicy) -> Gauge:
        """`gauge`, where the theme's key and policy are known. :param theme_id: None: nothing was written to it"""
        row = None if theme_id is None else self._db.row(GAUGE, (theme_id,))
        return gauge_of(theme, policy, row or (0, 0, 0, 0))

    @retry_without_index
    def relieve(self, theme: str) -> Relief:
        """Take the relief steps of the current level now. :raises UnknownTheme: with the nearest existing names"""
        with self._db.write_transaction() as conn:
            change = Mutation(conn, self._names, self._journal, RELIEF)
            relief, _ = self.relieve_within(change, self.resolved_theme(self._names.theme(theme)), PressureLevel.CALM)
            change.record()
            return relief

    def resolved_theme(self, theme_id: int) -> ResolvedTheme:
        """Return a theme with its name and policy, for the rest of a change."""
        name = self._names.theme_name(theme_id)
        return ResolvedTheme(theme_id, name, self._policies.for_theme(name))

    def gauge_within(self, conn: sqlite3.Connection, theme_id: int) -> Gauge:
        """Return the gauge as a running change has left it."""
        return present_gauge(conn, self.resolved_theme(theme_id))

    def gauge_with_room(self, change: Mutation, theme: ResolvedTheme, facts: Iterable[Notation]) -> Gauge:
        """Return the gauge before the only facts that a change adds. :raises MemoryFull: there is no room for one of them"""
        *row, change.last_numbers[theme.id] = change.conn.execute(GAUGE_AND_LAST, (theme.id,)).fetchone()
        gauge = gauge_of(theme.name, theme.policy, row)
        for fact in facts:
            self.refuse_overfull(gauge, len(fact.target) + len(fact.content) + NOTATION_MARKS)
        return gauge

    def refuse_overfull(self, gauge: Gauge, chars: int) -> None:
        """Check that a fact can fit. :raises MemoryFull: when it finds no room even with every unpinned fact moved out"""
        if gauge.pinned + chars > gauge.budget:
            raise errors.MemoryFull(
                f"pinned facts hold {gauge.pinned} of {gauge.budget} characters of theme {gauge.theme!r}, no room for "
                f"{chars} more; unpin or archive some, or raise hot_chars in memory-themes.toml",
                gauge.theme,
            )

    def relieve_within(
        self, change: Mutation, theme: ResolvedTheme, before: PressureLevel, *, keep: Iterable[bytes] = ()
    ) -> tuple[Relief, Gauge]:
        """Relieve pressure within a running change, for every level crossed since `before`; return the gauge.

        :param keep: uids that stay hot
        """
        gauge = present_gauge(change.conn, theme)
        level = gauge.level
        crossed = find_crossed_levels(before, level)
        if not crossed and level is not PressureLevel.CONSOLIDATE:
            return Relief(), gauge
        spared = frozenset(keep)
        merged = cooled = archived = 0
        if PressureLevel.MERGE in crossed:
            merged = merge_duplicates(change, theme.id, spared)
        if PressureLevel.ARCHIVE in crossed:
            cooled = cool_closed_scopes(change, theme.id)
            archived = archive_unread(change, theme.id)
        gauge = present_gauge(change.conn, theme)
        if gauge.pct >= 95:
            cooled += consolidate_hot_tier(change, theme.id, gauge, spared)
            gauge = present_gauge(change.conn, theme)
        return Relief(merged, cooled, archived), gauge


def present_gauge(conn: sqlite3.Connection, theme: ResolvedTheme) -> Gauge:
    return gauge_of(theme.name, theme.policy, conn.execute(GAUGE, (theme.id,)).fetchone())


def gauge_of(theme: str, policy: ThemePolicy, row: Sequence[int]) -> Gauge:
    used, tokens, facts, pinned = row
    return Gauge(theme, used, policy.hot_chars, tokens, facts, pinned)


def find_crossed_levels(before: PressureLevel, now: PressureLevel) -> list[PressureLevel]:
    return LEVELS[LEVELS.index(before) + 1 : LEVELS.index(now) + 1]


def merge_duplicates(change: Mutation, theme_id: int, spared: frozenset[bytes]) -> int:
    """Supersede hot duplicates, which are the same once abbreviations and case are folded; the newest stays."""
    newest: dict[tuple[int, str, str, str], FactRow] = {}
    merged = 0
    sql = f"SELECT {FACT_COLUMNS} FROM facts f WHERE theme_id = ? AND tier = 'hot' ORDER BY updated_at DESC, id DESC"
    for row in map(FactRow._make, change.conn.execute(sql, (theme_id,)).fetchall()):
        place = (row.scope_id, row.type, fold_abbreviations(row.target), fold_abbreviations(row.content))
        newer = newest.setdefault(place, row)
        if newer is not row and row.uid not in spared and not row.pinned:
            change.update_fact(row, "merge", by=RELIEF, **superseded_columns(newer.uid))
            merged += 1
    return merged


def cool_closed_scopes(change: Mutation, theme_id: int) -> int:
    sql = f"""
        SELECT {FACT_COLUMNS} FROM scopes s JOIN facts f ON f.scope_id = s.id AND f.tier = 'hot'
        WHERE s.theme_id = ? AND s.status = 'closed' AND f.pinned = 0 ORDER BY f.updated_at DESC, f.id DESC
    """
    rows = change.conn.execute(sql, (theme_id,)).fetchall()
    for row in rows:
        change.update_fact(FactRow(*row), "cool", by=RELIEF, keep_time=True, **cold_columns(COOLED_BY_CLOSING))
    return len(rows)


def archive_unread(change: Mutation, theme_id: int) -> int:
    """Archive cold facts of closed scopes that were neither written nor read for a day."""
    sql = f"""
        SELECT {FACT_COLUMNS} FROM scopes s JOIN facts f ON f.scope_id = s.id AND f.tier = 'cold'
        LEFT JOIN reads r ON r.fact_id = f.id
        WHERE s.theme_id = ? AND s.status = 'closed' AND f.pinned = 0
          AND max(f.updated_at, s.closed_at, coalesce(r.last_at, 0)) < ?
        LIMIT ?
    """
    rows = change.conn.execute(sql, (theme_id, change.now - UNREAD_MS, ARCHIVED_AT_ONCE)).fetchall()
    for row in rows:
        change.update_fact(FactRow(*row), "archive", by=RELIEF, keep_time=True, tier=Tier.ARCHIVED.value)
    return len(rows)


def consolidate_hot_tier(change: Mutation, theme_id: int, gauge: Gauge, spared: frozenset[bytes]) -> int:
    """Cool the least recently used facts, least binding type first, until the gauge is down to 85 %."""
    rows = change.conn.execute(HOT_BY_USE, (theme_id,)).fetchall()
    movable = sorted((-BINDING[kind], used_at, *row) for used_at, kind, *row in rows if row[1] not in spared)
    used, moving = gauge.used, []
    for _, _, key, _, chars in movable:
        if 100.0 * used / gauge.budget <= CALM_AGAIN_PCT:
            break
        moving.append(key)
        used -= chars
    facts: dict[int, FactRow] = {}
    for chunk in in_chunks(moving):
        sql = f"SELECT {FACT_COLUMNS} FROM facts f WHERE id IN ({', '.join('?' * len(chunk))})"
        facts |= {row[0]: FactRow(*row) for row in change.conn.execute(sql, list(chunk))}
    for key in moving:
        change.update_fact(facts[key], "cool", by=RELIEF, keep_time=True, **cold_columns(COOLED_BY_PRESSURE))
    return len(moving)
