"""The store's side of team sync: what is pending, what was received, and conflicts between machines.

No network: a syncer calls `pending_rows`, sends, calls `acknowledge` or `mark_rejected`, pulls, and passes the
rows to `apply`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from hermes_memory_store import errors, uids
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.intake.intake import Intake
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.memory.scopes import record_change
from hermes_memory_store.memory.tiers import Tiers, present_gauge
from hermes_memory_store.model import PERSON, SYNC, Actor, ChangeResult, Uid, UndoResult
from hermes_memory_store.sync import versions
from hermes_memory_store.sync.apply import (
    MARK_UNSENT,
    NO_BULK_FACTS,
    HeldRows,
    ShadowSettler,
    VersionApplier,
    find_waiting_replaced,
    mask_version,
    replace_held_version,
    shadow_versions,
)
from hermes_memory_store.sync.bulk_apply import BulkFact
from hermes_memory_store.sync.conflicts import (
    MARK_ALL_UNTOLD,
    MARK_TOLD,
    ConflictResolver,
    find_conflicts,
    find_lost_versions,
    find_untold_versions,
)
from hermes_memory_store.sync.content_checks import ContentCheck, IntakeCheck, check_received, check_versions
from hermes_memory_store.sync.curation import UNCURATED
from hermes_memory_store.sync.held_versions import HAS_HELD, release_held_version
from hermes_memory_store.sync.held_versions import find_held_versions as find_held
from hermes_memory_store.sync.hybrid_clock import PhysicalClocks, descendant_tick, lowered_clocks
from hermes_memory_store.sync.team_origins import FORGET_LOST_ORIGINS, attach_authors, attach_origins
from hermes_memory_store.sync.teammate_undo import TeammateUndo
from hermes_memory_store.sync.versions import (
    SELECT_VERSIONS,
    Version,
    ensure_node,
    load_sync_rows,
    newest_ancestors,
    next_ticks,
    physical_clocks,
)
from hermes_memory_store.sync.wire_format import (
    DELETED,
    ApplyResult,
    CheckedVersion,
    HiddenVersion,
    PullCursor,
    PullListing,
    ReceivedVersion,
    RejectedRow,
    SyncConflict,
    SyncRow,
    VersionPayload,
    canonical_text_digest,
)
from hermes_memory_store.upkeep.purge import Purge
from hermes_memory_themes import Policies, SyncCarrier

__all__ = [
    "ApplyResult",
    "HiddenVersion",
    "PullCursor",
    "PullListing",
    "RejectedRow",
    "Sync",
    "SyncConflict",
    "SyncRow",
]

CLOCK_CHANGE_MS = 500
"""A change of the clocks' distance that is worth writing down."""

CLOCK_STEP_BACK_MS = 60_000
"""From where on a present that is earlier than the one before is worth looking for versions that were stamped meanwhile."""

ENROLLED_AT_ONCE = 2_000
"""Facts that get their first version in one transaction, so that others get their turn."""

LEFT_SHOWN = 5
"""Reasons that one refusal repeats."""

HAS_SHADOW = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND shadow IS NOT NULL LIMIT 1"

PENDING = f"{SELECT_VERSIONS} WHERE theme_id = ? AND sent = 0 AND refused IS NULL ORDER BY hlc LIMIT ?"

ACKNOWLEDGE = """
    UPDATE sync_rows SET sent = 1, seq = coalesce(?, seq), refused = NULL WHERE theme_id = ? AND uid = ? AND hlc = ?
"""

TEAM_NAMES = "SELECT name, team_name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE team_name IS NOT NULL"

MOVE = "UPDATE sync_themes SET seq = ?, mark_seq = ?, mark_token = ? WHERE theme_id = ?"

UNLISTED_ROWS = f"""
    {SELECT_VERSIONS} WHERE theme_id = ? AND sent = 1 AND state < 2
      AND NOT EXISTS (SELECT 1 FROM sync_listed l WHERE l.theme_id = sync_rows.theme_id AND l.uid = sync_rows.uid)
"""

REJECT = "UPDATE sync_rows SET refused = ? WHERE theme_id = ? AND uid = ? AND hlc = ? AND sent = 0"

UNKEPT = "it holds a secret that is not kept on this machine, so another machine has to send it"

UPDATE_DIGEST = "UPDATE sync_rows SET said = ? WHERE theme_id = ? AND uid = ? AND hlc = ?"
"""A version of this machine's making was stored without its secrets, so its digest is known once it is sent."""

RETRY_REJECTED = "UPDATE sync_rows SET refused = NULL WHERE sent = 0 AND refused IS NOT NULL"

UNSENT_AHEAD = f"{SELECT_VERSIONS.replace('SELECT', 'SELECT theme_id,')} WHERE sent = 0 AND hlc > ? ORDER BY hlc"

SENT_AHEAD = f"""
    {SELECT_VERSIONS.replace("SELECT", "SELECT theme_id,")}
    WHERE sent = 1 AND state < 2 AND hlc > ? AND theme_id NOT IN (SELECT value FROM json_each(?)) ORDER BY hlc
"""
"""One that purges wins over all others whatever its clock says."""

RESTAMP = """
    UPDATE sync_rows SET hlc = ?, node = ?, ancestors = ?, sent = 0, offered = ?, refused = NULL WHERE theme_id = ? AND uid = ?
"""

LOST_AHEAD = """
    SELECT theme_id, uid, hlc, node, why, ancestors FROM sync_conflicts
    WHERE why <> 'ahead' AND hlc > ? AND theme_id NOT IN (SELECT value FROM json_each(?))
"""

RESTAMP_LOST = """
    UPDATE OR REPLACE sync_conflicts SET hlc = ?, ancestors = ?
    WHERE theme_id = ? AND uid = ? AND hlc = ? AND node = ? AND why = ?
"""

COLLECTED_TOMBSTONES = "{what} FROM sync_rows WHERE theme_id = ? AND state = 1 AND sent = 1 AND seq <= ? {end}"

NOTE_USED = """
    INSERT OR IGNORE INTO sync_changed
    SELECT s.theme_id, s.label FROM scopes s
    WHERE s.theme_id = ? AND s.label IN (SELECT value FROM json_each(?)) AND s.status <> 'withdrawn'
      AND EXISTS (SELECT 1 FROM facts WHERE scope_id = s.id AND tier <> 'withdrawn')
"""
"""Scopes that are in use though their last version says they are gone."""

HIDDEN_ROWS = """
    SELECT name, uid, shadow ->> '$[0]', shadow ->> '$[4][2]' FROM sync_rows JOIN themes ON themes.id = theme_id
    WHERE shadow IS NOT NULL AND shadow ->> '$[4][2]' IS NOT NULL AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc
"""

COUNT_QUARANTINED = """
    SELECT count(*) FROM sync_rows r JOIN facts f ON f.uid = r.uid
    WHERE shadow IS NOT NULL AND shadow ->> '$[4][1]' IS NOT NULL AND f.tier = 'quarantined'
"""

COUNT_UNCURATED = """
    SELECT count(*) FROM sync_rows r JOIN facts f ON f.uid = r.uid
    WHERE shadow IS NOT NULL AND f.tier = 'cold' AND f.cooled_by = ?
"""


class Sync:
    """Send and receive the versions of themes whose policy says `sync`. Times of the server are milliseconds."""

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
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._tiers = tiers
        self._purge = purge
        self._checked_at_ms: int | None = None
        """The highest present at which no version that had been sent ran ahead of it, as far as this process knows."""
        self.content_check: ContentCheck = IntakeCheck(intake)
        """What checks versions from other machines before they are shown."""

    @property
    def node(self) -> Uid:
        """Return the name of this store among the others."""
        found = self._db.value("SELECT node FROM sync_store")
        if found is None:
            with self._db.write_transaction() as conn:
                found = ensure_node(conn)
        return uids.format_uid(found)

    def renew_node(self) -> Uid:
        """Take a new name: this store is a copy of one that continues by itself. Unsent versions are restamped."""
        with self._db.write_transaction() as conn:
            ensure_node(conn)
            conn.execute("UPDATE sync_store SET node = ?", (uuid.uuid4().bytes,))
            unsent = conn.execute(UNSENT_AHEAD, (-1,)).fetchall()
            node = ensure_node(conn)
            for (theme_id, *row), tick in zip(unsent, next_ticks(conn, self._clock(), len(unsent)), strict=True):
                version = Version(*row)
                clocks = newest_ancestors(*version.ancestors, *((version.hlc,) if version.offered else ()))
                new = (descendant_tick(tick, node, clocks), node, json.dumps(clocks), version.offered)
                conn.execute(RESTAMP, (*new, theme_id, version.uid))
        return self.node

    def themes(self, carrier: SyncCarrier | None = None) -> list[str]:
        """Return the themes whose policy says sync, by name. Tracks their writes from the first call on.

        :param carrier: only those that are exchanged this way
        """
        named = {*self._names.all_themes(), *self._policies.theme_names()}
        carriers = {name: self._policies.for_theme(name).carrier for name in named}
        wanted = sorted(name for name, by in carriers.items() if by is not None and carrier in (None, by))
        ready = {
            name
            for (name,) in self._db.rows(
                "SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE ready = 1"
            )
        }
        for name in wanted:
            if name not in ready and not self._db.read_only:
                self._enrol(name)
        return wanted

    def team_names(self) -> dict[str, str]:
        """Return the names that themes have in the team's database, of those that have another one there."""
        return dict(self._db.rows(TEAM_NAMES))

    def set_team_name(self, theme: str, name: str) -> None:
        """Set the name that a theme has in the team's database. Here it keeps its own; what was exchanged is offered anew."""
        theme_id = self._track_theme(theme)
        with self._db.write_transaction() as conn:
            sql = "UPDATE sync_themes SET team_name = nullif(?, (SELECT name FROM themes WHERE id = theme_id)) WHERE theme_id = ?"
            conn.execute(sql, (to_theme_name(name), theme_id))
            if self.cursor(theme).seq:
                self.mark_all_unsent(theme)

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
        if self.cursor(theme).seq:
            raise errors.ArgumentError(
                f"theme {theme} is exchanged as {names.get(theme, theme)} already, and stays it", theme
            )
        if name in {names.get(other, other) for other in shared if other != theme}:
            raise errors.ArgumentError(f"another theme of this machine is exchanged as {name}", name)
        self.set_team_name(theme, name)
        return name

    def pending_rows(self, theme: str, *, limit: int = 500, author: str = "") -> list[SyncRow]:
        """Return unacknowledged versions, oldest first; without those the server rejected.

        :param author: what this machine is called, where the rows themselves say whose they are
        """
        theme_id = self._track_theme(theme)
        waits = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND sent = 0 UNION ALL SELECT 1 FROM sync_changed LIMIT 1"
        if not self._db.value(waits, (theme_id,)):
            return []
        with self._db.write_transaction() as conn:
            self.stamp(conn)
            found = [Version(*row) for row in conn.execute(PENDING, (theme_id, limit))]
            conn.executemany(
                "UPDATE sync_rows SET offered = 1 WHERE theme_id = ? AND uid = ? AND offered = 0",
                [(theme_id, version.uid) for version in found if not version.offered],
            )
            masked = self._to_outgoing(conn, theme_id, load_sync_rows(conn, theme_id, theme, found), author)
        rows = self._reveal_rows(theme_id, found, masked)
        # Where none of these can be sent, others may.
        return rows if rows or not found else self.pending_rows(theme, limit=limit, author=author)

    def pending_counts(self) -> dict[str, int]:
        """Count the pending versions by theme."""
        tracked, counts = self.themes(), self.unsent_counts()
        return {name: counts.get(name, 0) for name in tracked}

    def unsent_counts(self) -> dict[str, int]:
        """Count the pending versions of the themes that are tracked already; writes nothing."""
        counts = self._db.rows(
            "SELECT name, count(*) FROM sync_rows JOIN themes ON themes.id = theme_id"
            " WHERE sent = 0 AND refused IS NULL GROUP BY name"
        )
        return {name: count for name, count in counts if self._policies.for_theme(name).carrier}

    def was_offered(self, theme: str) -> bool:
        """Check whether any version of a theme was offered to anybody, or came from somebody, whatever carried it."""
        sql = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND (sent = 1 OR offered = 1) LIMIT 1"
        return self._db.value(sql, (self._names.theme_or_none(theme) or 0,)) is not None

    def acknowledge(self, theme: str, sent: Sequence[tuple[Uid, int]], seqs: Sequence[int | None] = ()) -> None:
        """Mark versions (uid, clock) as received, under these sequence numbers (None: the server had a newer one).

        What was changed meanwhile has another clock, and stays pending.
        """
        theme_id = self._track_theme(theme)
        named = [(uid, hlc, seq) for (uid, hlc), seq in itertools.zip_longest(sent, seqs[: len(sent)])]
        held = self._load_held(theme_id, theme, {uid for uid, _, seq in named if seq is not None})
        with self._db.write_transaction() as conn:
            conn.executemany(ACKNOWLEDGE, [(seq, theme_id, uids.parse_uid(uid), hlc) for uid, hlc, seq in named])
            for version in versions.load_versions(conn, theme_id, held).values():
                (row,) = load_sync_rows(conn, theme_id, theme, [version])
                for one in held[version.uid]:
                    replace_held_version(conn, theme_id, row, one, self._clocks(conn))

    def mark_rejected(self, theme: str, uid: Uid, hlc: int, why: str) -> None:
        """Mark a version as rejected by the server: it is not pending until the thing is changed, or it is retried."""
        with self._db.write_transaction() as conn:
            conn.execute(REJECT, (why[:1000], self._track_theme(theme), uids.parse_uid(uid), hlc))

    def retry_rejected(self) -> int:
        """Make rejected versions pending again, since the server may accept them by now; return how many."""
        if not self._db.value("SELECT 1 FROM sync_rows WHERE sent = 0 AND refused IS NOT NULL LIMIT 1"):
            return 0
        with self._db.write_transaction() as conn:
            return conn.execute(RETRY_REJECTED).rowcount

    def rejected_rows(self, theme: str | None = None) -> list[RejectedRow]:
        """Return what the server rejected, oldest first."""
        found = []
        with self._db.snapshot() as conn:
            for theme_id, name in self._tracked_themes(conn, theme):
                sql = f"{SELECT_VERSIONS} WHERE theme_id = ? AND sent = 0 AND refused IS NOT NULL ORDER BY hlc"
                kept = [Version(*row) for row in conn.execute(sql, (theme_id,))]
                rows = load_sync_rows(conn, theme_id, name, kept)
                found += [RejectedRow(row, version.refused or "") for row, version in zip(rows, kept, strict=True)]
        return found

    def hidden_versions(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return what came from the team and is not shown here, with the reason.

        It is malformed, refused by the theme's policy, or held back because its clock is ahead.
        """
        return self._hidden_versions(theme) + self.held_versions(theme)

    def held_versions(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return the versions whose clock is ahead of what the server's time allows."""
        with self._db.snapshot() as conn:
            server_ms = self._clocks(conn).server_ms
            return [one.to_hidden_version(server_ms) for one in find_held(conn, theme)]

    def held_rows(self, theme: str, author: str) -> list[SyncRow]:
        """Return the versions of a theme whose clock is ahead, to send them on. :param author: as of `pending_rows`"""
        with self._db.snapshot() as conn:
            held = find_held(conn, theme)
            theme_id = self._names.theme_or_none(theme)
            rows = self._to_outgoing(conn, theme_id, [one.row for one in held], author) if theme_id and held else []
        return [row for row in map(self._reveal, rows, [one.checked for one in held]) if row is not None]

    def admit_held(self) -> int:
        """Apply held versions that are allowed by now; return how many."""
        with self._db.snapshot() as conn:
            acceptable = self._clocks(conn).acceptable
            ripe = [one for one in find_held(conn) if one.row.hlc <= acceptable]
        due = [(one.seq, row) for one in ripe if (row := self._reveal(one.row, one.checked)) is not None]
        for theme, found in itertools.groupby(due, key=lambda pair: pair[1].theme):
            rows = sorted(found, key=lambda pair: pair[0])
            self.apply(theme, rows, cursor=self.cursor(theme))
        return len(due)

    def release_held(self, theme: str, there: Mapping[str, tuple[int, SyncRow]]) -> int:
        """Release held versions that the team's database no longer has under that stamp; return how many.

        Their owner deleted or repaired them there. What replaced one is applied; where nothing did, the local version
        is offered again.

        :param there: what the database has of the things held back, with its sequence numbers
        """
        with self._db.snapshot() as conn:
            held = {str(one.row.uid): (one.row.hlc, one.row.node) for one in find_held(conn, theme)}
        other = {uid: pair for uid, pair in there.items() if uid in held and (pair[1].hlc, pair[1].node) != held[uid]}
        if other:
            self.apply(theme, sorted(other.values(), key=lambda pair: pair[0]), cursor=self.cursor(theme))
        gone = held.keys() - there.keys()
        if gone:
            theme_id = self._track_theme(theme)
            with self._db.write_transaction() as conn:
                for uid in map(uids.parse_uid, gone):
                    release_held_version(conn, theme_id, uid)
                    conn.execute(MARK_UNSENT, (theme_id, uid))
        return len(gone) + len(other)

    @retry_without_index
    def recheck_hidden(self) -> int:
        """Recheck hidden versions, after a change of policy, rule or program; return how many are shown now."""
        count = 0
        for theme in {one.theme for one in self._hidden_versions()}:
            theme_id, kept = self._track_theme(theme), {uids.parse_uid(one.uid) for one in self._hidden_versions(theme)}
            with self._db.snapshot() as conn:
                found = list(versions.load_versions(conn, theme_id, kept).values())
                rows = load_sync_rows(conn, theme_id, theme, found)
            checked = check_versions(self._db, self._names, self.content_check, theme_id, theme, rows)
            anew = {}
            for version, row, result in zip(found, rows, checked, strict=True):
                if row.content_digest != version.content_digest:  # its secrets are kept nowhere: it is never sent
                    result = replace(result, masked_content=result.masked_content or row.content, clear_digest="")
                if result.hidden_because is None:
                    anew[version.uid] = row, result
            if not anew:
                continue
            with self._db.write_transaction() as conn:
                self.stamp(conn)
                present = versions.load_versions(conn, theme_id, anew).values()
                still = {one.uid for one in present if one.hlc == anew[one.uid][0].hlc}
                new = [(versions.to_shadow(*anew[uid]), theme_id, uid) for uid in still]
                conn.executemany(versions.UPDATE_SHADOW, new)
                self._settle(conn, theme_id, theme, still | find_waiting_replaced(conn, theme_id, still))
            count += len(still - {uids.parse_uid(one.uid) for one in self._hidden_versions(theme)})
        return count

    def quarantined_count(self) -> int:
        """Count the team's facts that are quarantined here."""
        return int(self._db.value(COUNT_QUARANTINED))

    def uncurated_count(self) -> int:
        """Count the facts that are hot for others and kept cold here, since no curator made them hot."""
        return int(self._db.value(COUNT_UNCURATED, (UNCURATED,)))

    def cursor(self, theme: str) -> PullCursor:
        """Return how far the theme was pulled."""
        sql = "SELECT seq, mark_seq, mark_token FROM sync_themes WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return PullCursor(*row) if row else PullCursor()

    def purged_uids(self, theme: str) -> set[str]:
        """Return what was purged of a theme, here or elsewhere."""
        sql = "SELECT uid FROM sync_rows WHERE theme_id = ? AND state = 2"
        return {str(uids.format_uid(uid)) for (uid,) in self._db.rows(sql, (self._names.theme_or_none(theme),))}

    def fetched_themes(self) -> frozenset[str]:
        """Return the themes whose first pull is complete, so that the team's facts are here."""
        sql = "SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE fetched = 1"
        return frozenset(name for (name,) in self._db.rows(sql))

    def note_fetched(self, theme: str) -> None:
        """Record that everything the server has of a theme was applied."""
        theme_id = self._track_theme(theme)
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE sync_themes SET fetched = 1 WHERE theme_id = ?", (theme_id,))

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
        theme_id = self._track_theme(theme)
        is_history = is_history or self._is_history(theme)
        received = check_received(self._db, self._names, self.content_check, theme_id, theme, rows)
        held = self._load_held(theme_id, theme, {one.row.uid for one in received})
        with self._db.write_transaction() as conn:
            self.stamp(conn)
            gauged = self._tiers.resolved_theme(theme_id)
            level = present_gauge(conn, gauged).level
            applier = VersionApplier(conn, theme_id, theme, self._clocks(conn), received, held, is_history=is_history)
            applier.apply()
            conn.execute("UPDATE sync_store SET clock = max(clock, ?)", (applier.newest,))
            touched = applier.touched | self._erase(conn, theme_id, applier.purged)
            touched |= find_waiting_replaced(conn, theme_id, applier.touched)
            conflicts = applier.conflicts + self._settle(
                conn, theme_id, theme, touched, applier.bulk, [one.row for one in received if one.row.theme == theme]
            )
            relief = Mutation(conn, self._names, self._journal, SYNC)
            self._tiers.relieve_within(relief, gauged, level)
            relief.record()
            conn.execute(MOVE, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))
            if listing is not None:
                note_listed_versions(conn, theme_id, received, listing)
        unreached = self._purge.finish(applier.purged) if applier.purged else ()
        ignored = len(rows) - len(received) + applier.ignored
        return ApplyResult(applier.changed, conflicts, ignored, applier.hidden, unreached)

    def lost_versions(self, theme: str) -> list[SyncRow]:
        """Return the versions that lost against one that did not know of them, and that nobody has decided about."""
        with self._db.snapshot() as conn:
            return find_lost_versions(conn, self._names.theme_or_none(theme) or 0, theme)

    def untold_versions(self, theme: str, author: str) -> list[SyncRow]:
        """Return the versions that lost before any other machine had them. :param author: as of `pending_rows`"""
        theme_id = self._names.theme_or_none(theme) or 0
        with self._db.snapshot() as conn:
            lost, checked = find_untold_versions(conn, theme_id, theme)
            rows = self._to_outgoing(conn, theme_id, lost, author) if lost else []
        return [row for row in map(self._reveal, rows, checked) if row is not None]

    def acknowledge_lost(self, theme: str, rows: Sequence[SyncRow]) -> None:
        """Mark losing versions as sent."""
        theme_id = self._track_theme(theme)
        names = [(theme_id, uids.parse_uid(row.uid), row.hlc, uids.parse_uid(row.node)) for row in rows]
        with self._db.write_transaction() as conn:
            conn.executemany(MARK_TOLD, names)

    def apply_lost(self, theme: str, rows: Sequence[SyncRow]) -> int:
        """Keep versions that lost on other machines for a decision here; return how many wait now that did not before."""
        cursor = self.cursor(theme)
        with self._db.snapshot() as conn:
            named = {uids.parse_uid(row.uid) for row in rows}
            here = versions.load_versions(conn, self._names.theme_or_none(theme) or 0, named)
        lost = [row for row in rows if (won := here.get(uids.parse_uid(row.uid))) is not None and won.rank > row.rank]
        return self.apply(theme, [(cursor.seq, row) for row in lost], cursor=cursor, is_history=True).conflicts

    def mark_all_unsent(self, theme: str) -> int:
        """Mark everything as pending, and pull the theme from the start; return how many are pending.

        For a server that has lost its newest rows.
        """
        theme_id = self._track_theme(theme)
        with self._db.write_transaction() as conn:
            lower_sent_clocks(conn, self._clocks(conn), self._find_folder_themes(conn))
            conn.execute(
                "UPDATE sync_rows SET sent = 0, offered = 1, seq = NULL, refused = NULL WHERE theme_id = ?", (theme_id,)
            )
            conn.execute(
                "UPDATE sync_themes SET seq = 0, turn_seq = 0, mark_seq = NULL, mark_token = NULL, fetched = 0"
                " WHERE theme_id = ?",
                (theme_id,),
            )
            conn.execute(
                "UPDATE sync_turns SET sent = 0, refused = iif(node IS NULL, NULL, refused) WHERE theme_id = ?",
                (theme_id,),
            )
            conn.execute(MARK_ALL_UNTOLD, (theme_id,))
            clear_listing(conn, theme_id)
            return int(conn.execute("SELECT count(*) FROM sync_rows WHERE theme_id = ?", (theme_id,)).fetchone()[0])

    def load_listing(self, theme: str) -> PullListing | None:
        """Return how far an unfinished listing came."""
        sql = "SELECT seq, gc_seq, head, mark_seq, mark_token FROM sync_listings WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return PullListing(row[0], row[1], PullCursor(*row[2:])) if row else None

    def forget_listing(self, theme: str) -> None:
        """Clear the listing, so that the next one begins at the start."""
        theme_id = self._track_theme(theme)
        with self._db.write_transaction() as conn:
            clear_listing(conn, theme_id)

    def save_listed(self, theme: str, cursor: PullCursor) -> int:
        """Keep only what a full listing of the server contains; return how many things were removed.

        For a store that was away for longer than tombstones are kept: what the server had from or for this store and no
        longer has was deleted meanwhile. It is removed from every list here.

        :param cursor: where the list ended
        """
        theme_id = self._track_theme(theme)
        with self._db.write_transaction() as conn:
            self.stamp(conn)
            gone = [Version(*row) for row in conn.execute(UNLISTED_ROWS, (theme_id,)).fetchall()]
            for version in gone:
                versions.remember_mask(conn, theme_id, version.uid, version.checked)
            conn.executemany(
                "UPDATE sync_rows SET state = 1, said = '', shadow = ? WHERE theme_id = ? AND uid = ?",
                [(VersionPayload(one.kind, one.label, {}, DELETED).to_json(), theme_id, one.uid) for one in gone],
            )
            self._settle(conn, theme_id, theme, {version.uid for version in gone})
            # Nobody else has a version of them any more.
            for table in ("sync_rows", "sync_conflicts"):
                conn.executemany(
                    f"DELETE FROM {table} WHERE theme_id = ? AND uid = ?", [(theme_id, one.uid) for one in gone]
                )
            conn.execute(FORGET_LOST_ORIGINS, (theme_id,))
            restamp_used_scopes(conn, theme_id, [one.label for one in gone if one.label])
            conn.execute(MOVE, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))
            clear_listing(conn, theme_id)
            return len(gone)

    @retry_without_index
    def forget_deleted(self, theme: str, upto: int) -> int:
        """Forget deletions that the server removed, up to that sequence number; return how many versions."""
        theme_id = self._track_theme(theme)
        if not self._db.value(COLLECTED_TOMBSTONES.format(what="SELECT 1", end="LIMIT 1"), (theme_id, upto)):
            return 0
        with self._db.write_transaction() as conn:
            self.stamp(conn)
            labels = conn.execute(
                COLLECTED_TOMBSTONES.format(what="SELECT label", end="AND label > ''"), (theme_id, upto)
            ).fetchall()
            count = conn.execute(COLLECTED_TOMBSTONES.format(what="DELETE", end=""), (theme_id, upto)).rowcount
            conn.execute(FORGET_LOST_ORIGINS, (theme_id,))
            restamp_used_scopes(conn, theme_id, [label for (label,) in labels])
            return count

    def note_server_time(self, server_ms: int) -> int:
        """Note the server's time; return how many milliseconds it is ahead of this machine's clock."""
        ahead = server_ms - self._clock()
        if abs(ahead - (self._db.value("SELECT ahead_ms FROM sync_store") or 0)) >= CLOCK_CHANGE_MS:
            with self._db.write_transaction() as conn:
                ensure_node(conn)
                conn.execute("UPDATE sync_store SET ahead_ms = ?", (ahead,))
        return ahead

    def restamp_future(self) -> int:
        """Restamp versions stamped further ahead than the server accepts; return how many.

        `note_server_time` comes first: a stamp is only lowered by a time that the server has reported just now. Pending
        versions get a stamp of the present, above the versions they were made from. Versions sent while a clock ran
        ahead are lowered and sent again; nothing is lowered that either of the two clocks allows.
        """
        with self._db.snapshot() as conn:
            clocks = self._clocks(conn)
            unsent = conn.execute(f"{UNSENT_AHEAD} LIMIT 1", (clocks.acceptable,)).fetchone()
        present_ms = max(clocks.own_ms, clocks.server_ms)
        went_back = self._checked_at_ms is None or present_ms < self._checked_at_ms - CLOCK_STEP_BACK_MS
        count = 0
        if went_back or unsent is not None:
            with self._db.write_transaction() as conn:
                self.stamp(conn)
                count = lower_sent_clocks(conn, clocks, self._find_folder_themes(conn)) if went_back else 0
                count += restamp_unsent_versions(conn, clocks, self._find_folder_themes(conn))
        self._checked_at_ms = present_ms if went_back else max(present_ms, self._checked_at_ms or 0)
        return count

    def conflicts(self, theme: str | None = None) -> list[SyncConflict]:
        """Return the undecided conflicts between machines, newest first."""
        with self._db.snapshot() as conn:
            kept = [find_conflicts(conn, *named) for named in self._tracked_themes(conn, theme)]
        return sorted(itertools.chain(*kept), key=lambda one: (-one.at, one.uid))

    @retry_without_index
    def resolve(
        self, uid: Uid, keep: Literal["mine", "theirs", "both"], *, actor: Actor = PERSON, theme: str | None = None
    ) -> ChangeResult:
        """Resolve the conflicts of one thing: keep the winner, the loser, or both (the loser becomes a new fact).

        :raises UnknownFact: when it has no conflict
        """
        with self._db.write_transaction() as conn:
            self.stamp(conn)
            for theme_id, name in self._tracked_themes(conn, theme):
                unresolved = [one for one in find_conflicts(conn, theme_id, name) if one.uid == uid]
                if not unresolved:
                    continue
                change = Mutation(conn, self._names, self._journal, actor)
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
            mutation = Mutation(conn, self._names, self._journal, actor)
            undo = TeammateUndo(mutation, role)
            undo.take_back(theme_id)
            seqs = mutation.record()
            if not seqs:
                why = "; ".join(undo.left[:LEFT_SHOWN])
                nothing = (
                    f"nothing that is here was written by {errors.shorten_value(role)!r}, a role of the team database or"
                    " a machine of the shared folder"
                )
                raise errors.NothingToUndo(why or nothing, role)
        touched = tuple(uids.format_uid(uid) for uid in undo.touched)
        return UndoResult(tuple(sorted(undo.undone, reverse=True)), seqs, touched, tuple(undo.left))

    def digest(self, theme: str) -> str:
        """Return the digest of all versions of a theme: equal on stores with the same versions."""
        lines = sorted(f"{uid} {digest}" for uid, digest in self.digests(theme).items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def digests(self, theme: str) -> dict[Uid, str]:
        """Return `SyncRow.digest` of every version of a theme, whether it was sent or not."""
        with self._db.snapshot() as conn:
            sql = f"{SELECT_VERSIONS} WHERE theme_id = ? ORDER BY uid"
            kept = [Version(*row) for row in conn.execute(sql, (self._names.theme_or_none(theme),))]
        return {uids.format_uid(version.uid): version.digest for version in kept}

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        """Become, or remain, the only syncer of this store for that long."""
        with self._db.write_transaction() as conn:
            ensure_node(conn)
            now = self._clock()
            # A lease that ends later than it may was made before the clock was set back.
            taken = conn.execute(
                "UPDATE sync_store SET holder = ?1, held_until = ?2 + ?3, held_ms = ?3"
                " WHERE holder IS NULL OR holder = ?1 OR held_until <= ?2 OR held_until > ?2 + held_ms",
                (holder, now, ttl_ms),
            )
            return taken.rowcount == 1

    def release_lease(self, holder: str) -> None:
        """Release the lease, so that another syncer may begin at once."""
        with self._db.write_transaction() as conn:
            conn.execute("UPDATE sync_store SET holder = NULL, held_until = 0 WHERE holder = ?", (holder,))

    def stamp(self, conn: sqlite3.Connection) -> None:
        """Give what was noted as changed its versions, at the end of the transaction that changed it."""
        noted = conn.execute(
            "SELECT DISTINCT theme_id, name FROM sync_changed JOIN themes ON themes.id = theme_id"
        ).fetchall()
        for theme_id, theme in noted:
            touched = versions.stamp_versions(conn, theme_id, theme, self._clock(), is_history=self._is_history(theme))
            if conn.execute(HAS_SHADOW, (theme_id,)).fetchone():
                self._settle(conn, theme_id, theme, touched)

    def find_unversioned(self) -> dict[int, list[bytes | str]]:
        """Find things that differ from their newest version without a pending one, by the key of their theme."""
        found: dict[int, list[bytes | str]] = {}
        with self._db.snapshot() as conn:
            ready = "SELECT theme_id FROM sync_themes JOIN themes ON themes.id = theme_id WHERE ready = 1"
            for (theme_id,) in conn.execute(ready).fetchall():
                wrong = versions.find_unversioned_things(conn, theme_id)
                if wrong:
                    found[theme_id] = wrong
        return found

    def _settle(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        touched: set[bytes],
        bulk: Mapping[bytes, BulkFact] = NO_BULK_FACTS,
        rows: Iterable[SyncRow] = (),
    ) -> int:
        settler = ShadowSettler(conn, self._names, self._journal, theme_id, theme, self._clock(), rows)
        settler.settle(touched, bulk)
        return settler.conflicts

    def _erase(self, conn: sqlite3.Connection, theme_id: int, purged: Sequence[bytes]) -> set[bytes]:
        """Erase what others purged; return the facts that were shown behind it."""
        if not purged:
            return set()
        sql = "SELECT uid FROM facts WHERE superseded_by = ? AND theme_id = ?"
        linked = {row[0] for uid in purged for row in conn.execute(sql, (uid, theme_id))} - set(purged)
        # Erasing takes their links out; whoever purged sends versions without them.
        shadow_versions(conn, theme_id, list(linked))
        self._purge.erase_within(conn, theme_id, purged, SYNC)
        return linked

    def _is_history(self, theme: str) -> bool:
        """Check whether old versions of a theme may come again: a folder keeps them, a database has what stands now."""
        return self._policies.for_theme(theme).carrier is SyncCarrier.FOLDER

    def _to_outgoing(self, conn: sqlite3.Connection, theme_id: int, rows: list[SyncRow], author: str) -> list[SyncRow]:
        """Return rows to send with their origins, and with whose they are where the carrier cannot say it."""
        rows = attach_origins(conn, self._names, theme_id, rows)
        return attach_authors(conn, theme_id, rows, author) if author else rows

    def _reveal(self, row: SyncRow, checked: CheckedVersion) -> SyncRow | None:
        """Return a version with the secrets that are masked here; None where they are kept no more.

        Not inside a transaction, as `check_versions`.
        """
        if checked.hidden_because is not None:
            return row if row.content_digest == checked.clear_digest else None
        if checked.masked_content is None:
            return row
        try:
            clear = self.content_check.reveal(row.theme, checked.masked_content)
        except errors.FileError:  # the vault does not answer now
            return None
        return replace(row, content=clear) if canonical_text_digest(clear) == checked.clear_digest else None

    def _reveal_rows(self, theme_id: int, wanted: Sequence[Version], masked: Sequence[SyncRow]) -> list[SyncRow]:
        """Return versions as they are sent; the others wait as rejected ones until their secrets are kept here."""
        rows, changes = [], []
        for version, row in zip(wanted, masked, strict=True):
            checked, name = version.checked, (theme_id, version.uid, version.hlc)
            if checked.hidden_because is not None:
                checked = replace(checked, clear_digest=version.content_digest)
            clear = self._reveal(row, checked)
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

    def mask_stored(self) -> tuple[str, ...]:
        """Take the clear texts out that earlier versions stored; return the copies of the store that still hold them."""
        with self._db.snapshot() as conn:
            if not versions.find_clear_versions(conn) and not conn.execute(versions.CLEAR_MASKS).fetchone():
                return ()
        self._purge.finish(())  # the copies first: who is cut off finds the store as it was, and begins again
        with self._db.write_transaction() as conn:
            versions.mask_stored_versions(conn, ("sync_rows", "sync_masked"))
        return self._purge.finish(())

    def _find_folder_themes(self, conn: sqlite3.Connection) -> list[int]:
        """Return the keys of the themes that travel through a folder."""
        tracked = self._tracked_themes(conn, None)
        return [key for key, name in tracked if self._is_history(name)]

    def _clocks(self, conn: sqlite3.Connection) -> PhysicalClocks:
        return physical_clocks(conn, self._clock())

    def _hidden_versions(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return the versions that are not shown as they are."""
        kept = self._db.rows(HIDDEN_ROWS, (theme,))
        return [HiddenVersion(name, uids.format_uid(uid), kind, why) for name, uid, kind, why in kept]

    def _load_held(self, theme_id: int, theme: str, wanted: Collection[str]) -> HeldRows:
        """Return those of these things that have a held version, with the results of its content check.

        Not inside a transaction, as `check_versions`.
        """
        if not self._db.value(HAS_HELD, (theme_id,)):
            return {}
        with self._db.snapshot() as conn:
            held = [one for one in find_held(conn, theme) if one.row.uid in wanted]
        clear = [self._reveal(one.row, one.checked) for one in held]
        rows = [row or one.row for row, one in zip(clear, held, strict=True)]
        checked = check_versions(self._db, self._names, self.content_check, theme_id, theme, rows)
        found: dict[bytes, list[tuple[SyncRow, CheckedVersion]]] = {}
        for one, row, result in zip(held, clear, checked, strict=True):
            shown = one.row if row is None else mask_version(row, result.masked_content)
            found.setdefault(uids.parse_uid(one.row.uid), []).append((shown, one.checked if row is None else result))
        return found

    def _track_theme(self, theme: str) -> int:
        """Return the key of a theme; its writes are tracked from now on."""
        theme_id = self._names.theme_or_none(theme)
        known = "SELECT 1 FROM sync_themes WHERE theme_id = ? AND ready = 1"
        if theme_id is not None and self._db.value(known, (theme_id,)):
            return theme_id
        return self._enrol(theme)

    def _tracked_themes(self, conn: sqlite3.Connection, theme: str | None) -> Iterable[tuple[int, str]]:
        sql = (
            "SELECT theme_id, name FROM sync_themes JOIN themes ON themes.id = theme_id"
            " WHERE ?1 IS NULL OR name = ?1 ORDER BY name"
        )
        return conn.execute(sql, (theme,)).fetchall()

    def _enrol(self, theme: str) -> int:
        """Track a theme, and give its existing content a first version, in many short transactions."""
        done = False
        while not done:
            with self._db.write_transaction() as conn:
                known = self._names.theme_or_none(theme)
                theme_id = known or self._names.theme_for_writing(conn, to_theme_name(theme), self._journal.now(conn))
                conn.execute("INSERT OR IGNORE INTO sync_themes (theme_id) VALUES (?)", (theme_id,))
                done = self._enrol_some(conn, theme_id)
        return theme_id

    def _enrol_some(self, conn: sqlite3.Connection, theme_id: int) -> bool:
        (last,) = conn.execute("SELECT enrolled FROM sync_themes WHERE theme_id = ?", (theme_id,)).fetchone()
        found = conn.execute(
            "SELECT id, uid FROM facts WHERE id > ? AND theme_id = ? ORDER BY id LIMIT ?",
            (max(last, theme_id << 40), theme_id, ENROLLED_AT_ONCE),
        ).fetchall()
        note = "INSERT OR IGNORE INTO sync_changed VALUES (?, ?)"
        conn.executemany(note, [(theme_id, uid) for _, uid in found])
        if len(found) == ENROLLED_AT_ONCE:
            conn.execute("UPDATE sync_themes SET enrolled = ? WHERE theme_id = ?", (found[-1][0], theme_id))
            return False
        for things in ("SELECT theme_id, label FROM scopes WHERE label <> ''", "SELECT theme_id, uid FROM tombstones"):
            word = "AND" if "WHERE" in things else "WHERE"
            conn.execute(f"INSERT OR IGNORE INTO sync_changed {things} {word} theme_id = ?", (theme_id,))
        conn.execute("UPDATE sync_themes SET ready = 1 WHERE theme_id = ?", (theme_id,))
        return True


def lower_sent_clocks(conn: sqlite3.Connection, clocks: PhysicalClocks, spared: Sequence[int]) -> int:
    """Lower the clocks of sent versions that no physical clock allows any more; return how many.

    Not those of themes without a server, whose time would tell whether the clock ran ahead then or is behind now.

    They are stamped right after what they were made from, and sent again. Every machine that has one makes the same of
    it. Losing versions kept for a person are lowered likewise.
    """
    beyond = clocks.plausible, json.dumps(spared)
    rows = conn.execute(SENT_AHEAD, beyond).fetchall()
    for theme_id, *row in rows:
        version = Version(*row)
        places = lowered_clocks((*version.ancestors, version.hlc), clocks.plausible)
        ancestors = json.dumps(newest_ancestors(*(places[clock] for clock in version.ancestors)))
        conn.execute(RESTAMP, (places[version.hlc], version.node, ancestors, 1, theme_id, version.uid))
    for theme_id, uid, hlc, node, why, ancestors in conn.execute(LOST_AHEAD, beyond).fetchall():
        clocks_of = json.loads(ancestors)
        places = lowered_clocks((*clocks_of, hlc), clocks.plausible)
        named = json.dumps([places[clock] for clock in clocks_of])
        conn.execute(RESTAMP_LOST, (places[hlc], named, theme_id, uid, hlc, node, why))
    return len(rows)


def restamp_unsent_versions(conn: sqlite3.Connection, clocks: PhysicalClocks, spared: Sequence[int]) -> int:
    """Restamp pending versions whose clock the server would not accept with the current time; return how many.

    A version made from one that the server would not accept now, either, stays pending. Of themes without a server, whose
    versions are not lowered once they were sent, the ancestors stay as they are.
    """
    found = conn.execute(UNSENT_AHEAD, (clocks.acceptable,)).fetchall()
    node = ensure_node(conn)
    count = 0
    for (theme_id, *row), tick in zip(found, next_ticks(conn, clocks.own_ms, len(found)), strict=True):
        version = Version(*row)
        seen = (*version.ancestors, *((version.hlc,) if version.offered else ()))
        places = seen if theme_id in spared else lowered_clocks(seen, clocks.plausible).values()
        ancestors = newest_ancestors(*places)
        hlc = descendant_tick(tick, node, ancestors)
        if hlc < version.hlc:
            conn.execute(RESTAMP, (hlc, node, json.dumps(ancestors), version.offered, theme_id, version.uid))
            count += 1
    return count


def note_listed_versions(
    conn: sqlite3.Connection, theme_id: int, received: Iterable[ReceivedVersion], listing: PullListing
) -> None:
    """Note versions as listed, and how far the listing is with them."""
    listed = [(theme_id, one.uid) for one in received]
    conn.executemany("INSERT OR IGNORE INTO sync_listed VALUES (?, ?)", listed)
    head = listing.head
    conn.execute(
        "INSERT OR REPLACE INTO sync_listings VALUES (?, ?, ?, ?, ?, ?)",
        (theme_id, listing.seq, listing.gc_seq, head.seq, head.mark_seq, head.mark_token),
    )


def restamp_used_scopes(conn: sqlite3.Connection, theme_id: int, labels: Sequence[str]) -> None:
    """Give scopes whose versions were removed a new version where facts stand in them.

    Without one, nobody would learn when they close, are renamed or disappear.
    """
    conn.execute(NOTE_USED, (theme_id, json.dumps(labels)))


def clear_listing(conn: sqlite3.Connection, theme_id: int) -> None:
    """Clear a listing that is complete, or no longer valid."""
    for table in ("sync_listings", "sync_listed"):
        conn.execute(f"DELETE FROM {table} WHERE theme_id = ?", (theme_id,))
