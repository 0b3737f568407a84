"""The outbox: versions that are to be sent, and what became of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hermes_memory_store import uids
from hermes_memory_store.model import Uid
from hermes_memory_store.sync.apply import replace_held_version
from hermes_memory_store.sync.conflicts import find_untold
from hermes_memory_store.sync.standing import find_held
from hermes_memory_store.sync.tracking import Tracking
from hermes_memory_store.sync.versions import SELECT_VERSIONS, Version, load_sync_rows, load_versions, lower_sent_clocks
from hermes_memory_store.sync.wire_format import RejectedRow, SyncRow

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
        """Count the pending versions by theme."""
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
        theme_id = self._tracking.names.theme_or_none(theme)
        with self._db.snapshot() as conn:
            ahead = find_held(conn, theme) if theme_id else []
            rows = (
                self._tracking.to_outgoing(conn, theme_id or 0, [version.row for version in ahead], author)
                if ahead
                else []
            )
        return self._tracking.reveal_all(rows, [version.checked for version in ahead])

    def untold_versions(self, theme: str, author: str) -> list[SyncRow]:
        """Return the versions that lost before any other machine had them. :param author: as of `pending_rows`"""
        theme_id = self._tracking.names.theme_or_none(theme) or 0
        with self._db.snapshot() as conn:
            lost, checked = find_untold(conn, theme_id)
            rows = self._tracking.to_outgoing(conn, theme_id, lost, author) if lost else []
        return self._tracking.reveal_all(rows, checked)

    def acknowledge_lost(self, theme: str, rows: Sequence[SyncRow]) -> None:
        """Mark losing versions as sent."""
        theme_id = self._tracking.track(theme)
        names = [(theme_id, uids.parse_uid(row.uid), row.hlc, uids.parse_uid(row.node)) for row in rows]
        with self._db.write_transaction() as conn:
            conn.executemany(MARK_TOLD, names)

    def mark_all_unsent(self, theme: str) -> int:
        """Mark everything as pending, and pull the theme from the start; return how many are pending.

        For a server that has lost its newest rows.
        """
        theme_id = self._tracking.track(theme)
        with self._db.write_transaction() as conn:
            lower_sent_clocks(conn, self._tracking.clocks(conn), self._tracking.find_folder_themes(conn))
            for sql in MARK_ALL_UNSENT:
                conn.execute(sql, (theme_id,))
            return int(conn.execute("SELECT count(*) FROM sync_rows WHERE theme_id = ?", (theme_id,)).fetchone()[0])
