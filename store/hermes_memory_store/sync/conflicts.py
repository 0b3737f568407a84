"""Conflicts of concurrent versions: keep the winner, restore the loser, or keep both as separate facts.

Every decision is a version that descends from both, so that no other machine asks again.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from hermes_memory_store import uids
from hermes_memory_store.intake.intake import repeat_fact
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.memory.scopes import close_scope, reopen_scope
from hermes_memory_store.model import STANDING_TIERS, FactType, Notation, Origin, ScopeStatus, Tier, Way
from hermes_memory_store.sync.row_validation import validate_row_content
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, ReceivedOrigins, to_unknown_teammate
from hermes_memory_store.sync.versions import (
    LOSING_VERSIONS,
    UNTOLD,
    Version,
    ensure_node,
    find_masked_originals,
    find_version,
    load_sync_rows,
    newest_ancestors,
    remember_mask,
    to_version_row,
)
from hermes_memory_store.sync.wire_format import (
    LIVE,
    UNCHANGED,
    CheckedVersion,
    SyncConflict,
    SyncRow,
    VersionPayload,
    comparable_content,
)

HIDDEN_TEXT = "(not shown here; `sync status` gives the reason)"
"""Stands for the content of a version that is not shown here."""

COPY_MASK = """
    INSERT OR REPLACE INTO sync_masked (theme_id, uid, shown, clear)
    SELECT theme_id, ?1, shown, clear FROM sync_masked WHERE theme_id = ?2 AND uid = ?3 AND shown = ?4
"""
"""A fact with the content of another is masked alike, and sent in clear."""

LOST_VERSIONS = """
    SELECT uid, hlc, node, why, at, other, ancestors, said FROM sync_conflicts c
    WHERE theme_id = ? AND why <> 'ahead' AND NOT EXISTS (
      SELECT 1 FROM sync_conflicts o, json_each(o.ancestors) made
      WHERE o.theme_id = c.theme_id AND o.uid = c.uid AND c.why = 'concurrent' AND o.why = 'concurrent' AND made.value = c.hlc
    ) ORDER BY at, uid, hlc
"""
"""A version from which another one was made that lost, too, is part of that."""

MARK_TOLD = """
    UPDATE sync_conflicts SET other = NULL WHERE theme_id = ? AND uid = ? AND hlc = ? AND node = ? AND why = 'concurrent'
"""

MARK_ALL_UNTOLD = "UPDATE sync_conflicts SET other = x'' WHERE theme_id = ? AND why = 'concurrent'"


def find_lost_versions(conn: sqlite3.Connection, theme_id: int, theme: str) -> list[SyncRow]:
    """Find the versions that lost and that wait for a decision; not facts that lost their place to another, which all know."""
    return [to_lost_row(conn, theme, row) for row in find_undecided(conn, theme_id) if row[3] == "concurrent"]


def find_undecided(conn: sqlite3.Connection, theme_id: int) -> list[tuple[Any, ...]]:
    """Return the rows of `LOST_VERSIONS`, of versions of one thing that say the same the newest."""
    rows = conn.execute(LOST_VERSIONS, (theme_id,)).fetchall()
    said = [
        (uid, why, other or b"", comparable_content(VersionPayload.from_json(text)))
        for uid, _, _, why, _, other, _, text in rows
    ]
    newest: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for name, row in zip(said, rows, strict=True):
        newest[name] = max(newest.get(name, row), row, key=lambda one: one[1:3])
    return [row for name, row in zip(said, rows, strict=True) if newest[name] is row]


def find_untold_versions(
    conn: sqlite3.Connection, theme_id: int, theme: str
) -> tuple[list[SyncRow], list[CheckedVersion]]:
    """Find those of them that no other machine has, and the masks by which they are kept."""
    lost = [row for row in find_undecided(conn, theme_id) if row[5] == UNTOLD]
    masks = find_masked_originals(conn, theme_id, {row[0] for row in lost})
    rows = [to_lost_row(conn, theme, row) for row in lost]
    names = [
        (uid, row.content and validate_row_content(row.content)) for (uid, *_), row in zip(lost, rows, strict=True)
    ]
    return rows, [masks.get(name, UNCHANGED) for name in names]


def to_lost_row(conn: sqlite3.Connection, theme: str, row: Sequence[Any]) -> SyncRow:
    """Return a row of `LOST_VERSIONS` in its wire format."""
    uid, hlc, node, _, _, _, ancestors, text = row
    payload = VersionPayload.from_json(text)
    label = payload.content if payload.kind == "scope" else None
    lost = Version(uid, label, payload.state, hlc, node, ancestors, "", 0, 0, None, None, None)
    return to_version_row(conn, theme, lost, payload)


def find_conflicts(conn: sqlite3.Connection, theme_id: int, theme: str) -> list[SyncConflict]:
    """Find the undecided conflicts of one theme, oldest first."""
    found = []
    for row in find_undecided(conn, theme_id):
        uid, _, _, why, at, other, *_ = row
        winner = find_version(conn, theme_id, other or uid)
        if winner is None:
            continue
        theirs = to_lost_row(conn, theme, row)
        (mine,) = load_sync_rows(conn, theme_id, theme, [winner])
        if winner.checked.hidden_because is not None:
            mine = replace(mine, content=HIDDEN_TEXT, attrs=theirs.attrs)
        found.append(SyncConflict(uids.format_uid(uid), theme, mine, theirs, at, why))
    return found


DELETE_DECIDED = "DELETE FROM sync_conflicts WHERE theme_id = ? AND uid = ? AND why <> 'ahead'"


class ConflictResolver:
    """Carry out a decision within a running change."""

    def __init__(self, change: Mutation, theme_id: int) -> None:
        self._change = change
        self._conn = change.conn
        self._theme_id = theme_id

    def resolve(self, conflicts: Sequence[SyncConflict], keep: Literal["mine", "theirs", "both"]) -> None:
        """Resolve all conflicts of one thing; of several losers the newest is restored, unless both sides are kept."""
        lost = max((one.theirs for one in conflicts), key=lambda row: row.rank)
        heads = [one for one in conflicts if one.why == "two heads"]
        if keep == "both":
            rows = [one.theirs for one in conflicts if one.theirs.kind == "fact" and one.theirs.state == LIVE]
            made = [self._keep_both(row) for row in rows]
            if heads and made:
                self._replace(heads[0].uid, made[-1])
        elif keep == "theirs" and lost.kind == "scope":
            self._scope(lost)
        elif keep == "theirs":
            self._bring_back(lost)
        self._make_descendant(conflicts)

    def _make_descendant(self, conflicts: Sequence[SyncConflict]) -> None:
        """Make a version that descends from both, even where nothing changes: it records that both were known."""
        uid = uids.parse_uid(conflicts[0].uid)
        version = find_version(self._conn, self._theme_id, uid)
        assert version is not None
        lost = self._conn.execute(LOSING_VERSIONS, (self._theme_id, uid))
        known = itertools.chain.from_iterable((hlc, *json.loads(lineage)) for hlc, lineage, _ in lost)
        clocks = newest_ancestors(*version.ancestors, *known)
        self._conn.execute(
            "UPDATE sync_rows SET ancestors = ?, said = '' WHERE theme_id = ? AND uid = ?",
            (json.dumps(clocks), self._theme_id, uid),
        )
        self._conn.execute("INSERT OR IGNORE INTO sync_changed VALUES (?, ?)", (self._theme_id, version.local_name))
        self._conn.execute(DELETE_DECIDED, (self._theme_id, uid))

    def _keep_both(self, row: SyncRow) -> bytes:
        """Insert a fact with the losing content, under a free target."""
        scope = self._change.scope_for_writing(self._theme_id, row.attrs["scope"])
        kind, target, number = FactType(row.attrs["type"]), row.attrs["target"], 2
        while find_standing_fact(self._change.conn, scope.id, kind, f"{target}.{number}") is not None:
            number += 1
        notation = Notation(kind, f"{target}.{number}", validate_row_content(row.content))
        tier = Tier.COLD if scope.status == ScopeStatus.CLOSED else Tier.HOT
        origin = self._find_origin(row)
        made = self._change.insert_fact(
            self._theme_id, scope, repeat_fact(notation), tier=tier.value, origin=origin
        ).uid
        former = find_version(self._conn, self._theme_id, uids.parse_uid(row.uid))
        if former is not None:
            remember_mask(self._conn, self._theme_id, former.uid, former.checked)
        self._conn.execute(COPY_MASK, (made, self._theme_id, uids.parse_uid(row.uid), notation.content))
        return made

    def _find_origin(self, lost: SyncRow) -> Origin:
        """Return where a losing text came from: from a teammate, whoever decides for it here."""
        uid, origins = uids.parse_uid(lost.uid), self._change.names.origins
        row = self._change.fact_row(uid)
        if row is None:
            origin = ReceivedOrigins(self._conn, self._change.names, self._theme_id, self._change.now).find(uid)
        else:
            origin = origins.by_key(row.origin_id, row.origin_detail)
        if uids.parse_uid(lost.node) == ensure_node(self._conn):
            return self._change.origin if origin.way is Way.TEAM else origin
        return origin if origin.way is Way.TEAM else replace(TEAM_ORIGIN, teammate=to_unknown_teammate(lost.node))

    def _replace(self, name: str, by: bytes) -> None:
        row = self._change.fact_row(uids.parse_uid(name))
        if row is not None:
            self._change.update_fact(row, "supersede", tier=Tier.SUPERSEDED.value, superseded_by=by, pinned=0)

    def _bring_back(self, lost: SyncRow) -> None:
        uid = uids.parse_uid(lost.uid)
        row = self._change.fact_row(uid)
        if lost.state != LIVE:
            if row is not None:
                self._change.update_fact(row, "resolve", tier=Tier.WITHDRAWN.value)
            return
        attrs = lost.attrs
        scope = self._change.scope_for_writing(self._theme_id, attrs["scope"])
        kind, tier = FactType(attrs["type"]), attrs["tier"]
        link = None if attrs["superseded_by"] is None else uids.parse_uid(attrs["superseded_by"])
        if tier in STANDING_TIERS:
            link = None
            other = find_standing_fact(self._change.conn, scope.id, kind, attrs["target"], besides=uid)
            if other is not None:
                self._change.update_fact(other, "supersede", tier=Tier.SUPERSEDED.value, superseded_by=uid, pinned=0)
        elif link is not None and (link == uid or self._change.fact_row(link) is None):
            link = None
        columns = {"tier": tier, "pinned": int(attrs["pinned"]), "superseded_by": link, "cooled_by": None}
        if row is None:
            notation = Notation(kind, attrs["target"], validate_row_content(lost.content))
            origin = self._find_origin(lost)
            self._change.insert_fact(self._theme_id, scope, repeat_fact(notation), uid=uid, origin=origin, **columns)
            return
        content = validate_row_content(lost.content)
        if content != row.content:
            columns["content"] = repeat_fact(Notation(kind, row.target, content))
        if scope.id != row.scope_id:
            columns["scope"] = scope
        self._change.update_fact(row, "resolve", **columns)

    def _scope(self, lost: SyncRow) -> None:
        key = self._change.names.scope_or_none(self._theme_id, lost.content)
        if key is None or lost.state != LIVE:
            return
        if lost.attrs["status"] == ScopeStatus.CLOSED:
            close_scope(self._change, key, why=str(self._change.actor))
        elif key.status == ScopeStatus.WITHDRAWN:
            self._change.update_scope(key.id, "open", status=ScopeStatus.OPEN)
        else:
            reopen_scope(self._change, key)
