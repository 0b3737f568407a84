"""The store's side of team sync: what is to be sent, what was received, what stands here, and who this store is in its team.

No network: a syncer calls `outbox.pending_rows`, sends, calls `outbox.acknowledge` or `outbox.mark_rejected`, pulls, and passes
the rows to `inbox.apply`.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
import uuid
from collections.abc import Mapping, Sequence

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.items.tier_columns import REPLACED_FACTS
from hermes_memory_store.memory.tiers import Tiers, present_gauge
from hermes_memory_store.model import SYNC, Uid
from hermes_memory_store.sync.apply import (
    MARK_UNSENT,
    VersionApplier,
    find_waiting_replaced,
    replace_held_version,
    shadow_versions,
    to_shadow,
)
from hermes_memory_store.sync.conflicts import Standing, to_lost_row
from hermes_memory_store.sync.content_checks import check_versions
from hermes_memory_store.sync.standing import (
    UNTOLD,
    UPDATE_SHADOW,
    AsideReason,
    find_held,
    find_hidden,
    find_masks,
    find_undecided,
    mask_stored_versions,
    release,
    remember_mask,
)
from hermes_memory_store.sync.team_origins import FORGET_LOST_ORIGINS
from hermes_memory_store.sync.tracking import NOTE_CHANGED, Tracking
from hermes_memory_store.sync.versions import (
    SELECT_VERSIONS,
    UNSENT_AHEAD,
    Version,
    ensure_node,
    load_sync_rows,
    load_versions,
    lower_sent_clocks,
    restamp_unsent_versions,
)
from hermes_memory_store.sync.wire_format import (
    DELETED,
    UNCHANGED,
    UNIDENTIFIED,
    ApplyResult,
    PullCursor,
    PullListing,
    ReceivedVersion,
    RejectedRow,
    SyncRow,
    VersionPayload,
    validate_row_content,
)
from hermes_memory_store.upkeep.purge import Purge
from hermes_memory_themes import Policies, SyncCarrier

IS_PENDING = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND sent = 0 UNION ALL SELECT 1 FROM sync_changed LIMIT 1"

PENDING = f"{SELECT_VERSIONS} WHERE theme_id = ? AND sent = 0 AND refused IS NULL ORDER BY hlc LIMIT ?"

REJECTED = f"{SELECT_VERSIONS} WHERE theme_id = ? AND sent = 0 AND refused IS NOT NULL ORDER BY hlc"

COUNT_PENDING = """
    SELECT name, count(*) FROM sync_rows JOIN themes ON themes.id = theme_id WHERE sent = 0 AND refused IS NULL GROUP BY name
"""

ACKNOWLEDGE = """
    UPDATE sync_rows SET sent = 1, seq = coalesce(?, seq), refused = NULL WHERE theme_id = ? AND uid = ? AND hlc = ?
"""

REJECT = "UPDATE sync_rows SET refused = ? WHERE theme_id = ? AND uid = ? AND hlc = ? AND sent = 0"

RETRY_REJECTED = "UPDATE sync_rows SET refused = NULL WHERE sent = 0 AND refused IS NOT NULL"

UNKEPT = "it holds a secret that is not kept on this machine, so another machine has to send it"

UPDATE_DIGEST = "UPDATE sync_rows SET said = ? WHERE theme_id = ? AND uid = ? AND hlc = ?"
"""A version of this machine's making was stored without its secrets, so its digest is known once it is sent."""

MARK_TOLD = """
    UPDATE sync_conflicts SET other = NULL WHERE theme_id = ? AND uid = ? AND hlc = ? AND node = ? AND why = 'concurrent'
"""

MARK_ALL_UNSENT = (
    "UPDATE sync_rows SET sent = 0, offered = 1, seq = NULL, refused = NULL WHERE theme_id = ?",
    """
    UPDATE sync_themes SET seq = 0, turn_seq = 0, mark_seq = NULL, mark_token = NULL, fetched = 0 WHERE theme_id = ?
    """,
    "UPDATE sync_turns SET sent = 0, refused = iif(node IS NULL, NULL, refused) WHERE theme_id = ?",
    "UPDATE sync_conflicts SET other = x'' WHERE theme_id = ? AND why = 'concurrent'",
    "DELETE FROM sync_listings WHERE theme_id = ?",
    "DELETE FROM sync_listed WHERE theme_id = ?",
)

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

CLOCK_CHANGE_MS = 500
"""A change of the clocks' distance that is worth writing down."""

CLOCK_STEP_BACK_MS = 60_000
"""From where on a present that is earlier than the one before is worth looking for versions that were stamped meanwhile."""

TEAM_NAMES = "SELECT name, team_name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE team_name IS NOT NULL"

SET_TEAM_NAME = """
    UPDATE sync_themes SET team_name = nullif(?, (SELECT name FROM themes WHERE id = theme_id)) WHERE theme_id = ?
"""

TAKE_LEASE = """
    UPDATE sync_store SET holder = ?1, held_until = ?2 + ?3, held_ms = ?3
    WHERE holder IS NULL OR holder = ?1 OR held_until <= ?2 OR held_until > ?2 + held_ms
"""
"""A lease that ends later than it may was made before the clock was set back."""

MASKED_TABLES = ("sync_rows", "sync_masked")


class TeamOutbox:
    """What is to be sent. A syncer calls `pending_rows`, sends, and calls `acknowledge` or `mark_rejected`."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._db = tracking.db

    def pending_rows(self, theme: str, *, limit: int = 500, author: str = "") -> list[SyncRow]:
        """Return unacknowledged versions, oldest first; without those the server rejected.

        :param author: what this machine is called, where the rows themselves say whose they are
        """
        theme_id = self._tracking.track(theme)
        if not self._db.value(IS_PENDING, (theme_id,)):
            return []
        with self._db.write_transaction() as conn:
            self._tracking.stamp(conn)
            pending = [Version(*row) for row in conn.execute(PENDING, (theme_id, limit))]
            conn.executemany(
                "UPDATE sync_rows SET offered = 1 WHERE theme_id = ? AND uid = ? AND offered = 0",
                [(theme_id, version.uid) for version in pending if not version.offered],
            )
            masked = load_sync_rows(conn, theme_id, theme, pending)
            masked = self._tracking.to_outgoing(conn, theme_id, masked, author)
        rows = self._reveal_pending(theme_id, pending, masked)
        # Where none of these can be sent, others may.
        return rows if rows or not pending else self.pending_rows(theme, limit=limit, author=author)

    def _reveal_pending(self, theme_id: int, pending: Sequence[Version], masked: Sequence[SyncRow]) -> list[SyncRow]:
        """Return versions as they are sent; the others wait as rejected ones until their secrets are kept here."""
        rows, changes = [], []
        for version, row in zip(pending, masked, strict=True):
            checked, name = version.checked, (theme_id, version.uid, version.hlc)
            if checked.hidden_because is not None:
                checked = checked._replace(clear_digest=version.content_digest)
            clear = self._tracking.reveal(row, checked)
            if clear is None:
                changes.append((REJECT, (UNKEPT, *name)))
                continue
            rows.append(clear)
            if clear.content_digest != version.content_digest:
                changes.append((UPDATE_DIGEST, (clear.content_digest, *name)))
        if changes:
            with self._db.write_transaction() as conn:
                for change in changes:
                    conn.execute(*change)
        return rows

    def pending_counts(self) -> dict[str, int]:
        shared, counts = self._tracking.themes(), self.unsent_counts()
        return {name: counts.get(name, 0) for name in shared}

    def unsent_counts(self) -> dict[str, int]:
        """Count the pending versions of the themes that are tracked already; writes nothing."""
        counts = self._db.rows(COUNT_PENDING)
        return {name: count for name, count in counts if self._tracking.policies.for_theme(name).carrier}

    def was_offered(self, theme: str) -> bool:
        """Check whether any version of a theme was offered to anybody, or came from somebody, whatever carried it."""
        sql = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND (sent = 1 OR offered = 1) LIMIT 1"
        return self._db.value(sql, (self._tracking.names.theme_or_none(theme) or 0,)) is not None

    def acknowledge(self, theme: str, sent: Sequence[tuple[Uid, int]], seqs: Sequence[int | None] = ()) -> None:
        """Mark versions (uid, clock) as received, under these sequence numbers (None: the server had a newer one).

        What was changed meanwhile has another clock, and stays pending.
        """
        theme_id = self._tracking.track(theme)
        named = [(uid, hlc, seq) for (uid, hlc), seq in itertools.zip_longest(sent, seqs[: len(sent)])]
        held_rows = self._tracking.load_held(theme_id, theme, {uid for uid, _, seq in named if seq is not None})
        with self._db.write_transaction() as conn:
            conn.executemany(ACKNOWLEDGE, [(seq, theme_id, uids.parse_uid(uid), hlc) for uid, hlc, seq in named])
            for version in load_versions(conn, theme_id, held_rows).values():
                (row,) = load_sync_rows(conn, theme_id, theme, [version])
                for ahead in held_rows[version.uid]:
                    replace_held_version(conn, theme_id, row, ahead, self._tracking.clocks(conn))

    def mark_rejected(self, theme: str, uid: Uid, hlc: int, why: str) -> None:
        """Mark a version as rejected by the server: it is not pending until the thing is changed, or it is retried."""
        with self._db.write_transaction() as conn:
            conn.execute(REJECT, (why[:1000], self._tracking.track(theme), uids.parse_uid(uid), hlc))

    def retry_rejected(self) -> int:
        """Make rejected versions pending again, since the server may accept them by now; return how many."""
        if not self._db.value("SELECT 1 FROM sync_rows WHERE sent = 0 AND refused IS NOT NULL LIMIT 1"):
            return 0
        with self._db.write_transaction() as conn:
            return conn.execute(RETRY_REJECTED).rowcount

    def rejected_rows(self, theme: str | None = None) -> list[RejectedRow]:
        """Return what the server rejected, oldest first."""
        result = []
        with self._db.snapshot() as conn:
            for theme_id, name in self._tracking.find_tracked(conn, theme):
                rejected = [Version(*row) for row in conn.execute(REJECTED, (theme_id,))]
                rows = load_sync_rows(conn, theme_id, name, rejected)
                result += [RejectedRow(row, version.refused or "") for row, version in zip(rows, rejected, strict=True)]
        return result

    def held_rows(self, theme: str, author: str) -> list[SyncRow]:
        """Return the versions of a theme whose clock is ahead, to send them on. :param author: as of `pending_rows`"""
        theme_id = self._tracking.names.theme_or_none(theme) or 0
        with self._db.snapshot() as conn:
            ahead = find_held(conn, theme) if theme_id else []
            rows = (
                self._tracking.to_outgoing(conn, theme_id, [version.row for version in ahead], author) if ahead else []
            )
        return self._tracking.reveal_all(rows, [version.checked for version in ahead])

    def untold_versions(self, theme: str, author: str) -> list[SyncRow]:
        """Return the versions that lost before any other machine had them. :param author: as of `pending_rows`"""
        theme_id = self._tracking.names.theme_or_none(theme) or 0
        with self._db.snapshot() as conn:
            undecided = [version for version in find_undecided(conn, theme_id) if version.other == UNTOLD]
            lost = [to_lost_row(conn, version) for version in undecided]
            names = [(uids.parse_uid(row.uid), row.content and validate_row_content(row.content)) for row in lost]
            masks = find_masks(conn, theme_id, {uid for uid, _ in names})
            rows = self._tracking.to_outgoing(conn, theme_id, lost, author) if lost else []
        return self._tracking.reveal_all(rows, [masks.get(name, UNCHANGED) for name in names])

    def acknowledge_lost(self, theme: str, rows: Sequence[SyncRow]) -> None:
        """Mark losing versions as sent."""
        theme_id = self._tracking.track(theme)
        names = [(theme_id, uids.parse_uid(row.uid), row.hlc, uids.parse_uid(row.node)) for row in rows]
        with self._db.write_transaction() as conn:
            conn.executemany(MARK_TOLD, names)

    def mark_all_unsent(self, theme: str) -> int:
        """Mark everything as pending for a server that lost its newest rows, and pull from the start; return how many."""
        theme_id = self._tracking.track(theme)
        with self._db.write_transaction() as conn:
            lower_sent_clocks(conn, self._tracking.clocks(conn), self._tracking.find_folder_themes(conn))
            for sql in MARK_ALL_UNSENT:
                conn.execute(sql, (theme_id,))
            return int(conn.execute("SELECT count(*) FROM sync_rows WHERE theme_id = ?", (theme_id,)).fetchone()[0])


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
        checked = check_versions(
            self._db, self._names, tracking.content_check, theme_id, theme, [row for _, row in rows]
        )
        received = [
            ReceivedVersion(seq, uids.parse_uid(row.uid), row, result)
            for (seq, row), result in zip(rows, checked, strict=True)
            if result.hidden_because != UNIDENTIFIED
        ]
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
        with self._db.snapshot() as conn:
            themes = {report.theme for report in find_hidden(conn)}
        for theme in themes:
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
            with self._db.snapshot() as conn:
                count += len(still - {uids.parse_uid(report.uid) for report in find_hidden(conn, theme)})
        return count

    def cursor(self, theme: str) -> PullCursor:
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
    sql = "UPDATE sync_themes SET seq = ?, mark_seq = ?, mark_token = ? WHERE theme_id = ?"
    conn.execute(sql, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))


def clear_listing(conn: sqlite3.Connection, theme_id: int) -> None:
    for table in ("sync_listings", "sync_listed"):
        conn.execute(f"DELETE FROM {table} WHERE theme_id = ?", (theme_id,))


class Sync(Tracking):
    """This store among the others that share themes. Times of the server are milliseconds."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        policies: Policies,
        clock: Clock,
        tiers: Tiers,
        purge: Purge,
        intake: Intake,
    ) -> None:
        super().__init__(db, names, journal, policies, clock, intake)
        self.outbox = TeamOutbox(self)
        """What is to be sent."""
        self.inbox = TeamInbox(self, tiers, purge)
        """What was received."""
        self.standing = Standing(self)
        """What stands here, and what does not."""
        self._purge = purge
        self._checked_at_ms: int | None = None
        """The highest present at which no version that had been sent ran ahead of it, as far as this process knows."""

    def renew_node(self) -> Uid:
        """Take a new name: this store is a copy of one that continues by itself. Unsent versions are restamped."""
        with self.db.write_transaction() as conn:
            ensure_node(conn)
            conn.execute("UPDATE sync_store SET node = ?", (uuid.uuid4().bytes,))
            restamp_unsent_versions(conn, self.clocks(conn), (), is_renamed=True)
        return self.node

    def team_names(self) -> dict[str, str]:
        """Return the names that themes have in the team's database, of those that have another one there."""
        return dict(self.db.rows(TEAM_NAMES))

    def set_team_name(self, theme: str, name: str) -> None:
        """Set the name that a theme has in the team's database. Here it keeps its own; what was exchanged is offered anew."""
        theme_id = self.track(theme)
        with self.db.write_transaction() as conn:
            conn.execute(SET_TEAM_NAME, (to_theme_name(name), theme_id))
            if self.inbox.cursor(theme).seq:
                self.outbox.mark_all_unsent(theme)

    def rename_in_team(self, theme: str, name: str) -> str:
        """Choose the name under which a theme is exchanged with the team's database; return its normal form.

        :raises ArgumentError: it is not exchanged that way, was exchanged under a name already, or another theme has that one
        """
        name = to_theme_name(name)
        shared, names = self.themes(SyncCarrier.DATABASE), self.team_names()
        if theme not in shared:
            raise errors.ArgumentError(
                f"theme {theme} is not exchanged with a team database: see memory-themes.toml", theme
            )
        if self.inbox.cursor(theme).seq:
            raise errors.ArgumentError(
                f"theme {theme} is exchanged as {names.get(theme, theme)} already, and stays it", theme
            )
        if name in {names.get(other, other) for other in shared if other != theme}:
            raise errors.ArgumentError(f"another theme of this machine is exchanged as {name}", name)
        self.set_team_name(theme, name)
        return name

    def note_server_time(self, server_ms: int) -> int:
        """Note the server's time; return how many milliseconds it is ahead of this machine's clock."""
        ahead = server_ms - self.clock()
        if abs(ahead - (self.db.value("SELECT ahead_ms FROM sync_store") or 0)) >= CLOCK_CHANGE_MS:
            with self.db.write_transaction() as conn:
                ensure_node(conn)
                conn.execute("UPDATE sync_store SET ahead_ms = ?", (ahead,))
        return ahead

    def restamp_future(self) -> int:
        """Restamp versions stamped further ahead than the server accepts; return how many.

        `note_server_time` comes first: a stamp is only lowered by a time that the server has reported just now. Pending
        versions get a stamp of the present, above the versions they were made from. Versions sent while a clock ran
        ahead are lowered and sent again; nothing is lowered that either of the two clocks allows.
        """
        with self.db.snapshot() as conn:
            clocks = self.clocks(conn)
            unsent = conn.execute(f"{UNSENT_AHEAD} LIMIT 1", (clocks.acceptable,)).fetchone()
        present_ms = max(clocks.own_ms, clocks.server_ms)
        went_back = self._checked_at_ms is None or present_ms < self._checked_at_ms - CLOCK_STEP_BACK_MS
        count = 0
        if went_back or unsent is not None:
            with self.db.write_transaction() as conn:
                self.stamp(conn)
                count = lower_sent_clocks(conn, clocks, self.find_folder_themes(conn)) if went_back else 0
                count += restamp_unsent_versions(conn, clocks, self.find_folder_themes(conn))
        self._checked_at_ms = present_ms if went_back else max(present_ms, self._checked_at_ms or 0)
        return count

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        """Become, or remain, the only syncer of this store for that long."""
        with self.db.write_transaction() as conn:
            ensure_node(conn)
            return conn.execute(TAKE_LEASE, (holder, self.clock(), ttl_ms)).rowcount == 1

    def release_lease(self, holder: str) -> None:
        """Release the lease, so that another syncer may begin at once."""
        with self.db.write_transaction() as conn:
            conn.execute("UPDATE sync_store SET holder = NULL, held_until = 0 WHERE holder = ?", (holder,))

    def mask_stored(self) -> tuple[str, ...]:
        """Take the clear texts out that earlier versions stored; return the copies of the store that still hold them."""
        with self.db.snapshot() as conn:
            if not mask_stored_versions(conn, MASKED_TABLES, is_trial=True):
                return ()
        self._purge.finish(())  # the copies first: who is cut off finds the store as it was, and begins again
        with self.db.write_transaction() as conn:
            mask_stored_versions(conn, MASKED_TABLES)
        return self._purge.finish(())
