"""The inbox: versions that were received, how far a theme was pulled, and what the team has no more."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping, Sequence

from hermes_memory_store import uids
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.tier_columns import REPLACED_FACTS
from hermes_memory_store.memory.tiers import Tiers, present_gauge
from hermes_memory_store.model import SYNC
from hermes_memory_store.sync.apply import (
    MARK_UNSENT,
    VersionApplier,
    find_waiting_replaced,
    shadow_versions,
    to_shadow,
)
from hermes_memory_store.sync.content_checks import check_received, check_versions
from hermes_memory_store.sync.standing import UPDATE_SHADOW, AsideReason, find_held, find_hidden, release, remember_mask
from hermes_memory_store.sync.team_origins import FORGET_LOST_ORIGINS
from hermes_memory_store.sync.tracking import NOTE_CHANGED, Tracking
from hermes_memory_store.sync.versions import SELECT_VERSIONS, Version, load_sync_rows, load_versions
from hermes_memory_store.sync.wire_format import (
    DELETED,
    ApplyResult,
    HiddenVersion,
    PullCursor,
    PullListing,
    SyncRow,
    VersionPayload,
)
from hermes_memory_store.upkeep.purge import Purge

MOVE = "UPDATE sync_themes SET seq = ?, mark_seq = ?, mark_token = ? WHERE theme_id = ?"

UNLISTED = f"""
    {SELECT_VERSIONS} WHERE theme_id = ? AND sent = 1 AND state < 2
      AND NOT EXISTS (SELECT 1 FROM sync_listed l WHERE l.theme_id = sync_rows.theme_id AND l.uid = sync_rows.uid)
"""

COLLECTED_TOMBSTONES = "FROM sync_rows WHERE theme_id = ? AND state = 1 AND sent = 1 AND seq <= ?"

NOTE_USED = f"""
    {NOTE_CHANGED} SELECT s.theme_id, s.label FROM scopes s
    WHERE s.theme_id = ? AND s.label IN (SELECT value FROM json_each(?)) AND s.status <> 'withdrawn'
      AND EXISTS (SELECT 1 FROM facts WHERE scope_id = s.id AND tier <> 'withdrawn')
"""
"""Scopes that are in use though their last version says they are gone: without a new one, nobody would learn when they close,
are renamed or disappear."""


class TeamInbox:
    """What was received. A syncer pulls, and passes the rows to `apply`."""

    def __init__(self, tracking: Tracking, tiers: Tiers, purge: Purge) -> None:
        self._tracking = tracking
        self._db = tracking.db
        self._names = tracking.names
        self._tiers = tiers
        self._purge = purge

    @retry_without_index
    def apply(
        self,
        theme: str,
        rows: Sequence[tuple[int, SyncRow]],
        *,
        cursor: PullCursor,
        listing: PullListing | None = None,
        is_history: bool = False,
    ) -> ApplyResult:
        """Apply rows with their server sequence, and move the cursor, in one journaled transaction.

        :param listing: note the rows as listed, so far
        :param is_history: they are not what the server has now
        """
        tracking = self._tracking
        theme_id = tracking.track(theme)
        is_history = is_history or tracking.is_history(theme)
        received = check_received(self._db, self._names, tracking.content_check, theme_id, theme, rows)
        held_rows = tracking.load_held(theme_id, theme, {version.row.uid for version in received})
        with self._db.write_transaction() as conn:
            tracking.stamp(conn)
            gauged = self._tiers.resolved_theme(theme_id)
            level = present_gauge(conn, gauged).level
            clocks = tracking.clocks(conn)
            applier = VersionApplier(conn, theme_id, theme, clocks, received, held_rows, is_history=is_history)
            applier.apply()
            conn.execute("UPDATE sync_store SET clock = max(clock, ?)", (applier.newest,))
            touched = applier.touched | self._erase(conn, theme_id, applier)
            touched |= find_waiting_replaced(conn, theme_id, applier.touched)
            of_theme = [version.row for version in received if version.row.theme == theme]
            conflicts = applier.conflicts + tracking.settle(conn, theme_id, theme, touched, applier.arrived, of_theme)
            relief = Mutation(conn, self._names, tracking.journal, SYNC)
            self._tiers.relieve_within(relief, gauged, level)
            relief.record()
            move_cursor(conn, theme_id, cursor)
            if listing is not None:
                conn.executemany(
                    "INSERT OR IGNORE INTO sync_listed VALUES (?, ?)", [(theme_id, version.uid) for version in received]
                )
                head = (listing.head.seq, listing.head.mark_seq, listing.head.mark_token)
                conn.execute(
                    "INSERT OR REPLACE INTO sync_listings VALUES (?, ?, ?, ?, ?, ?)",
                    (theme_id, listing.seq, listing.gc_seq, *head),
                )
        unreached = self._purge.finish(applier.purged) if applier.purged else ()
        ignored = len(rows) - len(received) + applier.ignored
        return ApplyResult(applier.changed, conflicts, ignored, applier.hidden, unreached)

    def _erase(self, conn: sqlite3.Connection, theme_id: int, applier: VersionApplier) -> set[bytes]:
        """Erase what others purged; return the facts that were shown behind it."""
        purged = applier.purged
        if not purged:
            return set()
        sql = f"{REPLACED_FACTS} AND theme_id = ?"
        linked = {row[0] for uid in purged for row in conn.execute(sql, (uid, theme_id))} - set(purged)
        # Erasing takes their links out; whoever purged sends versions without them.
        shadow_versions(conn, theme_id, linked - applier.arrived.keys())
        self._purge.erase_within(conn, theme_id, purged, SYNC)
        return linked

    def apply_lost(self, theme: str, rows: Sequence[SyncRow]) -> int:
        """Keep versions that lost on other machines for a decision here; return how many wait now that did not before."""
        cursor = self.cursor(theme)
        with self._db.snapshot() as conn:
            named = {uids.parse_uid(row.uid) for row in rows}
            here = load_versions(conn, self._names.theme_or_none(theme) or 0, named)
        lost = [row for row in rows if (won := here.get(uids.parse_uid(row.uid))) and won.stamp.rank > row.rank]
        return self.apply(theme, [(cursor.seq, row) for row in lost], cursor=cursor, is_history=True).conflicts

    def admit_held(self) -> int:
        """Apply held versions that are allowed by now; return how many."""
        with self._db.snapshot() as conn:
            acceptable = self._tracking.clocks(conn).acceptable
            ripe = [version for version in find_held(conn) if version.row.hlc <= acceptable]
        due = [
            (version.seq, row)
            for version in ripe
            if (row := self._tracking.reveal(version.row, version.checked)) is not None
        ]
        for theme, rows in itertools.groupby(due, key=lambda pair: pair[1].theme):
            self.apply(theme, sorted(rows, key=lambda pair: pair[0]), cursor=self.cursor(theme))
        return len(due)

    def release_held(self, theme: str, there: Mapping[str, tuple[int, SyncRow]]) -> int:
        """Release held versions that the team's database no longer has under that stamp; return how many.

        Their owner deleted or repaired them there. What replaced one is applied; where nothing did, the local version
        is offered again.

        :param there: what the database has of the things held back, with its sequence numbers
        """
        with self._db.snapshot() as conn:
            stamps = {str(version.row.uid): (version.row.hlc, version.row.node) for version in find_held(conn, theme)}
        new = {uid: pair for uid, pair in there.items() if uid in stamps and (pair[1].hlc, pair[1].node) != stamps[uid]}
        if new:
            self.apply(theme, sorted(new.values(), key=lambda pair: pair[0]), cursor=self.cursor(theme))
        removed = [uids.parse_uid(uid) for uid in stamps.keys() - there.keys()]
        if removed:
            theme_id = self._tracking.track(theme)
            with self._db.write_transaction() as conn:
                release(conn, theme_id, removed, AsideReason.AHEAD)
                conn.executemany(MARK_UNSENT, [(theme_id, uid) for uid in removed])
        return len(removed) + len(new)

    @retry_without_index
    def recheck_hidden(self) -> int:
        """Recheck hidden versions, after a change of policy, rule or program; return how many are shown now."""
        count = 0
        for theme in {report.theme for report in self._find_hidden()}:
            theme_id = self._tracking.track(theme)
            with self._db.snapshot() as conn:
                hidden = {uids.parse_uid(report.uid) for report in find_hidden(conn, theme)}
                versions = list(load_versions(conn, theme_id, hidden).values())
                rows = load_sync_rows(conn, theme_id, theme, versions)
            checked = check_versions(self._db, self._names, self._tracking.content_check, theme_id, theme, rows)
            anew = {}
            for version, row, result in zip(versions, rows, checked, strict=True):
                if row.content_digest != version.content_digest:  # its secrets are kept nowhere: it is never sent
                    result = result._replace(masked_content=result.masked_content or row.content, clear_digest="")
                if result.hidden_because is None:
                    anew[version.uid] = row, result
            if not anew:
                continue
            with self._db.write_transaction() as conn:
                self._tracking.stamp(conn)
                present = load_versions(conn, theme_id, anew).values()
                still = {version.uid for version in present if version.hlc == anew[version.uid][0].hlc}
                conn.executemany(UPDATE_SHADOW, [(to_shadow(*anew[uid]), theme_id, uid) for uid in still])
                touched = still | find_waiting_replaced(conn, theme_id, still)
                self._tracking.settle(conn, theme_id, theme, touched)
            count += len(still - {uids.parse_uid(report.uid) for report in self._find_hidden(theme)})
        return count

    def _find_hidden(self, theme: str | None = None) -> list[HiddenVersion]:
        with self._db.snapshot() as conn:
            return find_hidden(conn, theme)

    def cursor(self, theme: str) -> PullCursor:
        """Return how far the theme was pulled."""
        sql = "SELECT seq, mark_seq, mark_token FROM sync_themes WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return PullCursor(*row) if row else PullCursor()

    def fetched_themes(self) -> frozenset[str]:
        """Return the themes whose first pull is complete, so that the team's facts are here."""
        sql = "SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE fetched = 1"
        return frozenset(name for (name,) in self._db.rows(sql))

    def note_fetched(self, theme: str) -> None:
        """Record that everything the server has of a theme was applied."""
        theme_id = self._tracking.track(theme)
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE sync_themes SET fetched = 1 WHERE theme_id = ?", (theme_id,))

    def load_listing(self, theme: str) -> PullListing | None:
        """Return how far an unfinished listing came."""
        sql = "SELECT seq, gc_seq, head, mark_seq, mark_token FROM sync_listings WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return PullListing(row[0], row[1], PullCursor(*row[2:])) if row else None

    def forget_listing(self, theme: str) -> None:
        """Clear the listing, so that the next one begins at the start."""
        theme_id = self._tracking.track(theme)
        with self._db.write_transaction() as conn:
            clear_listing(conn, theme_id)

    def save_listed(self, theme: str, cursor: PullCursor) -> int:
        """Keep only what a full listing of the server contains; return how many things were removed.

        For a store that was away for longer than tombstones are kept: what the server had from or for this store and no
        longer has was deleted meanwhile. It is removed from every list here.

        :param cursor: where the list ended
        """
        theme_id = self._tracking.track(theme)
        with self._db.write_transaction() as conn:
            self._tracking.stamp(conn)
            removed = [Version(*row) for row in conn.execute(UNLISTED, (theme_id,)).fetchall()]
            names = [(theme_id, version.uid) for version in removed]
            for version in removed:
                remember_mask(conn, theme_id, version.uid, version.checked)
                kind = "fact" if version.label is None else "scope"
                shadow = VersionPayload(kind, version.label, {}, DELETED).to_json()
                conn.execute(UPDATE_SHADOW, (shadow, theme_id, version.uid))
            conn.executemany("UPDATE sync_rows SET state = 1, said = '' WHERE theme_id = ? AND uid = ?", names)
            self._tracking.settle(conn, theme_id, theme, {version.uid for version in removed})
            # Nobody else has a version of them any more.
            conn.executemany("DELETE FROM sync_rows WHERE theme_id = ? AND uid = ?", names)
            release(conn, theme_id, [version.uid for version in removed], *AsideReason)
            conn.execute(FORGET_LOST_ORIGINS, (theme_id,))
            conn.execute(NOTE_USED, (theme_id, json.dumps([version.label for version in removed if version.label])))
            move_cursor(conn, theme_id, cursor)
            clear_listing(conn, theme_id)
            return len(removed)

    @retry_without_index
    def forget_deleted(self, theme: str, upto: int) -> int:
        """Forget deletions that the server removed, up to that sequence number; return how many versions."""
        name = (self._tracking.track(theme), upto)
        if not self._db.value(f"SELECT 1 {COLLECTED_TOMBSTONES} LIMIT 1", name):
            return 0
        with self._db.write_transaction() as conn:
            self._tracking.stamp(conn)
            labels = [label for (label,) in conn.execute(f"SELECT label {COLLECTED_TOMBSTONES} AND label > ''", name)]
            count = conn.execute(f"DELETE {COLLECTED_TOMBSTONES}", name).rowcount
            conn.execute(FORGET_LOST_ORIGINS, name[:1])
            conn.execute(NOTE_USED, (name[0], json.dumps(labels)))
            return count


def move_cursor(conn: sqlite3.Connection, theme_id: int, cursor: PullCursor) -> None:
    conn.execute(MOVE, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))


def clear_listing(conn: sqlite3.Connection, theme_id: int) -> None:
    """Clear a listing that is complete, or no longer valid."""
    for table in ("sync_listings", "sync_listed"):
        conn.execute(f"DELETE FROM {table} WHERE theme_id = ?", (theme_id,))
