"""What stands here and what does not: versions that lost, are hidden or held back; and what a person decides about them.

Of a conflict the winner is kept, the loser restored, or both kept as separate facts. Every decision is a version that descends
from both, so that no other machine asks again.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from hermes_memory_store import errors, uids
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import repeat_fact
from hermes_memory_store.items.mutation import Mutation, find_standing_fact
from hermes_memory_store.items.tier_columns import IS_COOLED_BY, settled_columns, superseded_columns
from hermes_memory_store.memory.scopes import close_scope, record_change, reopen_scope
from hermes_memory_store.model import (
    PERSON,
    STANDING_TIERS,
    Actor,
    ChangeResult,
    FactType,
    Millis,
    Notation,
    Origin,
    ScopeStatus,
    Tier,
    Uid,
    UndoResult,
    Way,
)
from hermes_memory_store.sync.merge import newest_ancestors
from hermes_memory_store.sync.standing import (
    COPY_MASK,
    LOSING,
    UNCURATED,
    AsideReason,
    SetAside,
    find_held,
    find_hidden,
    find_undecided,
    format_time_span,
    release,
    remember_mask,
)
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, ReceivedOrigins, to_unknown_teammate
from hermes_memory_store.sync.teammate_undo import TeammateUndo
from hermes_memory_store.sync.tracking import NOTE_CHANGED, Tracking
from hermes_memory_store.sync.versions import (
    SELECT_VERSIONS,
    Version,
    attach_replaced,
    ensure_node,
    find_version,
    load_sync_rows,
)
from hermes_memory_store.sync.wire_format import (
    COUNTER_BITS,
    LIVE,
    HiddenVersion,
    SyncConflict,
    SyncRow,
    to_link,
    validate_row_content,
)

HELD_BACK = (
    "its clock is {} ahead of the team's; it is held back until that time has come, or until it comes with a clock"
    " that is right"
)

HIDDEN_TEXT = "(not shown here; `sync status` gives the reason)"
"""Stands for the content of a version that is not shown here."""

LEFT_SHOWN = 5
"""Reasons that one refusal repeats."""

COUNT_CHECKED = """
    SELECT count(*) FROM sync_rows r JOIN facts f ON f.uid = r.uid WHERE shadow IS NOT NULL AND {which}
"""


class Standing:
    """What stands here, and what does not. Times of the server are milliseconds."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._db = tracking.db
        self._names = tracking.names

    def hidden_versions(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return what came from the team and is malformed, refused by the theme's policy or held back, with the reason."""
        with self._db.snapshot() as conn:
            hidden = find_hidden(conn, theme)
        return hidden + self.held_versions(theme)

    def held_versions(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return the versions whose clock is ahead of what the server's time allows."""
        with self._db.snapshot() as conn:
            server_ms = self._tracking.clocks(conn).server_ms
            ahead = [(version.row, (version.row.hlc >> COUNTER_BITS) - server_ms) for version in find_held(conn, theme)]
        return [
            HiddenVersion(row.theme, row.uid, row.kind, HELD_BACK.format(format_time_span(ahead_ms)))
            for row, ahead_ms in ahead
        ]

    def quarantined_count(self) -> int:
        """Count the team's facts that are quarantined here."""
        which = "shadow ->> '$[4][1]' IS NOT NULL AND f.tier = 'quarantined'"
        return int(self._db.value(COUNT_CHECKED.format(which=which)))

    def uncurated_count(self) -> int:
        """Count the facts that are hot for others and kept cold here, since no curator made them hot."""
        which = IS_COOLED_BY
        return int(self._db.value(COUNT_CHECKED.format(which=which), (UNCURATED,)))

    def purged_uids(self, theme: str) -> set[str]:
        """Return what was purged of a theme, here or elsewhere."""
        sql = "SELECT uid FROM sync_rows WHERE theme_id = ? AND state = 2"
        return {str(uids.format_uid(uid)) for (uid,) in self._db.rows(sql, (self._names.theme_or_none(theme),))}

    def digest(self, theme: str) -> str:
        """Return the digest of all versions of a theme: equal on stores with the same versions."""
        lines = sorted(f"{uid} {digest}" for uid, digest in self.digests(theme).items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def digests(self, theme: str) -> dict[Uid, str]:
        """Return `SyncRow.digest` of every version of a theme, whether it was sent or not."""
        rows = self._db.rows(f"{SELECT_VERSIONS} WHERE theme_id = ? ORDER BY uid", (self._names.theme_or_none(theme),))
        return {uids.format_uid(version.uid): version.digest for version in itertools.starmap(Version, rows)}

    def lost_versions(self, theme: str) -> list[SyncRow]:
        """Return the undecided versions that lost, but for facts that lost their place to another, which all know."""
        with self._db.snapshot() as conn:
            undecided = find_undecided(conn, self._names.theme_or_none(theme) or 0)
            return [to_lost_row(conn, lost) for lost in undecided if lost.why is AsideReason.CONCURRENT]

    def conflicts(self, theme: str | None = None) -> list[SyncConflict]:
        """Return the undecided conflicts between machines, newest first."""
        with self._db.snapshot() as conn:
            by_theme = [find_conflicts(conn, *named) for named in self._tracking.find_tracked(conn, theme)]
        return sorted(itertools.chain(*by_theme), key=lambda conflict: (-conflict.at, conflict.uid))

    @retry_without_index
    def resolve(
        self, uid: Uid, keep: Literal["mine", "theirs", "both"], *, actor: Actor = PERSON, theme: str | None = None
    ) -> ChangeResult:
        """Resolve the conflicts of one thing: keep the winner, the loser, or both (the loser becomes a new fact).

        :raises UnknownFact: when it has no conflict
        """
        with self._db.write_transaction() as conn:
            self._tracking.stamp(conn)
            for theme_id, name in self._tracking.find_tracked(conn, theme):
                unresolved = [conflict for conflict in find_conflicts(conn, theme_id, name) if conflict.uid == uid]
                if unresolved:
                    change = Mutation(conn, self._names, self._tracking.journal, actor)
                    ConflictResolver(change, theme_id).resolve(unresolved, keep)
                    return record_change(change)
        raise errors.UnknownFact(uid, hint="it has no conflict; list them with: conflicts")

    @retry_without_index
    def undo_teammate(self, role: str, *, theme: str | None = None, actor: Actor = PERSON) -> UndoResult:
        """Take back all that a teammate wrote, in one theme or in all, as one change; what others changed since stays.

        :param role: of the team database, or a machine of a shared folder, as `by:ROLE` finds it
        :raises UnknownTheme: NothingToUndo; nothing was changed then
        """
        theme_id = None if theme is None else self._names.theme(theme)
        with self._db.write_transaction() as conn:
            mutation = Mutation(conn, self._names, self._tracking.journal, actor)
            undo = TeammateUndo(mutation, role)
            undo.take_back(theme_id)
            seqs = mutation.record()
            if not seqs:
                reasons = "; ".join(undo.left[:LEFT_SHOWN])
                nothing = (
                    f"nothing that is here was written by {errors.shorten_value(role)!r}, a role of the team database or"
                    " a machine of the shared folder"
                )
                raise errors.NothingToUndo(reasons or nothing, role)
        touched = tuple(uids.format_uid(uid) for uid in undo.touched)
        return UndoResult(tuple(sorted(undo.undone, reverse=True)), seqs, touched, tuple(undo.left))


def to_lost_row(conn: sqlite3.Connection, lost: SetAside) -> SyncRow:
    row = lost.row
    return row if row.kind == "scope" else attach_replaced(conn, uids.parse_uid(row.uid), row)


def find_conflicts(conn: sqlite3.Connection, theme_id: int, theme: str) -> list[SyncConflict]:
    conflicts = []
    for lost in find_undecided(conn, theme_id):
        winner = find_version(conn, theme_id, lost.other or uids.parse_uid(lost.row.uid))
        if winner is None:
            continue
        theirs = to_lost_row(conn, lost)
        (mine,) = load_sync_rows(conn, theme_id, theme, [winner])
        if winner.checked.hidden_because is not None:
            mine = replace(mine, content=HIDDEN_TEXT, attrs=theirs.attrs)
        reason: Literal["concurrent", "two heads"] = lost.why.value  # type: ignore[assignment]
        conflicts.append(SyncConflict(theirs.uid, theme, mine, theirs, Millis(lost.at), reason))
    return conflicts


class ConflictResolver:
    def __init__(self, change: Mutation, theme_id: int) -> None:
        self._change = change
        self._conn = change.conn
        self._theme_id = theme_id

    def resolve(self, conflicts: Sequence[SyncConflict], keep: Literal["mine", "theirs", "both"]) -> None:
        """Resolve all conflicts of one thing; of several losers the newest is restored, unless both sides are kept."""
        lost = max((conflict.theirs for conflict in conflicts), key=lambda row: row.rank)
        heads = [conflict for conflict in conflicts if conflict.why == "two heads"]
        if keep == "both":
            rows = [
                conflict.theirs
                for conflict in conflicts
                if conflict.theirs.kind == "fact" and conflict.theirs.state == LIVE
            ]
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
        lost = self._conn.execute(LOSING, (self._theme_id, uid))
        clocks = itertools.chain.from_iterable((hlc, *json.loads(lineage)) for hlc, lineage, _ in lost)
        ancestors = json.dumps(newest_ancestors(*version.ancestors, *clocks))
        self._conn.execute(
            "UPDATE sync_rows SET ancestors = ?, said = '' WHERE theme_id = ? AND uid = ?",
            (ancestors, self._theme_id, uid),
        )
        self._conn.execute(f"{NOTE_CHANGED} VALUES (?, ?)", (self._theme_id, version.local_name))
        release(self._conn, self._theme_id, [uid], AsideReason.CONCURRENT, AsideReason.OUTPLACED)

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
            self._change.update_fact(row, "supersede", **superseded_columns(by), pinned=0)

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
        link = to_link(attrs)
        if tier in STANDING_TIERS:
            link = None
            other = find_standing_fact(self._change.conn, scope.id, kind, attrs["target"], ignored=uid)
            if other is not None:
                self._change.update_fact(other, "supersede", **superseded_columns(uid), pinned=0)
        elif link is not None and (link == uid or self._change.fact_row(link) is None):
            link = None
        columns = settled_columns(tier, attrs["pinned"], link)
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
