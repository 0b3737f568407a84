"""The store's side of team sync: what waits to be sent, what was received, and what two machines said at once.

No network: a syncer asks `pending`, sends, says `acknowledge` or `refuse`, pulls, and hands the rows to `apply`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from hermes_memory_store import errors, uids, versions
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.deciding import Deciding, found_conflicts
from hermes_memory_store.held_back import held_back as find_held
from hermes_memory_store.held_back import let_go
from hermes_memory_store.hybrid_clock import PhysicalClocks, brought_down, descendant
from hermes_memory_store.journal import Journal
from hermes_memory_store.malformed import has_name
from hermes_memory_store.model import PERSON, Actor, Changed, Uid
from hermes_memory_store.names import Names
from hermes_memory_store.plain import Plain
from hermes_memory_store.purge import Purge
from hermes_memory_store.receiving import (
    NONE,
    OFFERED_AGAIN,
    SYNC,
    Held,
    Receiving,
    Settling,
    outrank_held,
    shade,
    waiting_for,
)
from hermes_memory_store.records import Mutation
from hermes_memory_store.scopes import changed
from hermes_memory_store.screening import NoScreen, Screen, screened
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.tiers import Tiers, present_gauge
from hermes_memory_store.travelling import (
    DELETED,
    Applied,
    Aside,
    Conflict,
    Cursor,
    Listing,
    Payload,
    Refused,
    SyncRow,
)
from hermes_memory_store.versions import KNOWN, Version, lineage, node_of, physical_clocks, rows_of, ticks
from hermes_memory_themes import Policies

__all__ = ["Applied", "Aside", "Conflict", "Cursor", "Listing", "Refused", "Sync", "SyncRow"]

NOTED_MS = 500
"""A change of the clocks' distance that is worth writing down."""

WENT_BACK_MS = 60_000
"""From where on a present that is earlier than the one before is worth looking for versions that were stamped meanwhile."""

ENROLLED_AT_ONCE = 2_000
"""Facts that get their first version in one transaction, so that others get their turn."""

IN_SHADOW = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND shadow IS NOT NULL LIMIT 1"

PENDING = f"{KNOWN} WHERE theme_id = ? AND sent = 0 AND refused IS NULL ORDER BY hlc LIMIT ?"

ACKNOWLEDGE = """
    UPDATE sync_rows SET sent = 1, seq = coalesce(?, seq), refused = NULL WHERE theme_id = ? AND uid = ? AND hlc = ?
"""

MOVE = "UPDATE sync_themes SET seq = ?, mark_seq = ?, mark_token = ? WHERE theme_id = ?"

UNLISTED = f"""
    {KNOWN} WHERE theme_id = ? AND sent = 1 AND state < 2
      AND NOT EXISTS (SELECT 1 FROM sync_listed l WHERE l.theme_id = sync_rows.theme_id AND l.uid = sync_rows.uid)
"""

TRIED_AGAIN = "UPDATE sync_rows SET refused = NULL WHERE sent = 0 AND refused IS NOT NULL"

UNSENT_AHEAD = f"{KNOWN.replace('SELECT', 'SELECT theme_id,')} WHERE sent = 0 AND hlc > ? ORDER BY hlc"

SENT_AHEAD = f"{KNOWN.replace('SELECT', 'SELECT theme_id,')} WHERE sent = 1 AND state < 2 AND hlc > ? ORDER BY hlc"
"""One that purges wins over all others whatever its clock says."""

RESTAMP = """
    UPDATE sync_rows SET hlc = ?, node = ?, ancestors = ?, sent = 0, offered = ?, refused = NULL WHERE theme_id = ? AND uid = ?
"""

LOST_AHEAD = "SELECT theme_id, uid, hlc, node, why, ancestors FROM sync_conflicts WHERE why <> 'ahead' AND hlc > ?"

RESTAMP_LOST = """
    UPDATE OR REPLACE sync_conflicts SET hlc = ?, ancestors = ?
    WHERE theme_id = ? AND uid = ? AND hlc = ? AND node = ? AND why = ?
"""

COLLECTED = "{what} FROM sync_rows WHERE theme_id = ? AND state = 1 AND sent = 1 AND seq <= ? {end}"

NOTE_USED = """
    INSERT OR IGNORE INTO sync_changed
    SELECT s.theme_id, s.label FROM scopes s
    WHERE s.theme_id = ? AND s.label IN (SELECT value FROM json_each(?)) AND s.status <> 'withdrawn'
      AND EXISTS (SELECT 1 FROM facts WHERE scope_id = s.id AND tier <> 'withdrawn')
"""
"""Scopes that are in use though their last version says they are gone."""

ASIDE = """
    SELECT name, uid, shadow ->> '$[0]', shadow ->> '$[4][2]' FROM sync_rows JOIN themes ON themes.id = theme_id
    WHERE shadow IS NOT NULL AND shadow ->> '$[4][2]' IS NOT NULL AND (?1 IS NULL OR name = ?1) ORDER BY name, hlc
"""

WAITING = """
    SELECT count(*) FROM sync_rows r JOIN facts f ON f.uid = r.uid
    WHERE shadow IS NOT NULL AND shadow ->> '$[4][1]' IS NOT NULL AND f.tier = 'quarantined'
"""


class Sync:
    """Sends and receives the versions of themes whose policy says `sync`. Times of the server are milliseconds."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        policies: Policies,
        clock: Clock,
        tiers: Tiers,
        purge: Purge,
    ) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._tiers = tiers
        self._purge = purge
        self._looked_at_ms: int | None = None
        """The highest present at which no version that had been sent ran ahead of it, as far as this process knows."""
        self.screen: Screen = NoScreen()
        """What looks at versions from other machines before they are shown; set by whoever syncs."""

    @property
    def node(self) -> Uid:
        """Name of this store among the others."""
        found = self._db.value("SELECT node FROM sync_store")
        if found is None:
            with self._db.writing() as conn:
                found = node_of(conn)
        return uids.to_text(found)

    def renew_node(self) -> Uid:
        """Take a new name: this store is a copy of one that goes on by itself. What is unsent is stamped anew."""
        with self._db.writing() as conn:
            node_of(conn)
            conn.execute("UPDATE sync_store SET node = ?", (uuid.uuid4().bytes,))
            unsent = conn.execute(UNSENT_AHEAD, (-1,)).fetchall()
            node = node_of(conn)
            for (theme_id, *row), tick in zip(unsent, ticks(conn, self._clock(), len(unsent)), strict=True):
                version = Version(*row)
                clocks = lineage(*version.ancestors, *((version.hlc,) if version.offered else ()))
                new = (descendant(tick, node, clocks), node, json.dumps(clocks), version.offered)
                conn.execute(RESTAMP, (*new, theme_id, version.uid))
        return self.node

    def themes(self) -> list[str]:
        """The themes whose policy says sync, by name. Their writes are tracked from the first time this is asked."""
        named = {*self._names.all_themes(), *self._policies.named()}
        wanted = sorted(name for name in named if self._policies.for_theme(name).sync)
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

    def pending(self, theme: str, *, limit: int = 500) -> list[SyncRow]:
        """Versions that nobody acknowledged yet, oldest first; without those the server refused."""
        theme_id = self._tracked(theme)
        waits = "SELECT 1 FROM sync_rows WHERE theme_id = ? AND sent = 0 UNION ALL SELECT 1 FROM sync_changed LIMIT 1"
        if not self._db.value(waits, (theme_id,)):
            return []
        with self._db.writing() as conn:
            self.stamp(conn)
            found = [Version(*row) for row in conn.execute(PENDING, (theme_id, limit))]
            conn.executemany(
                "UPDATE sync_rows SET offered = 1 WHERE theme_id = ? AND uid = ? AND offered = 0",
                [(theme_id, version.uid) for version in found if not version.offered],
            )
            return rows_of(conn, theme_id, theme, found)

    def pending_counts(self) -> dict[str, int]:
        """How many versions wait, by theme."""
        tracked, counts = self.themes(), self.unsent_counts()
        return {name: counts.get(name, 0) for name in tracked}

    def unsent_counts(self) -> dict[str, int]:
        """The same of those themes that are tracked already, where any wait: nothing is written."""
        counts = self._db.rows(
            "SELECT name, count(*) FROM sync_rows JOIN themes ON themes.id = theme_id"
            " WHERE sent = 0 AND refused IS NULL GROUP BY name"
        )
        return {name: count for name, count in counts if self._policies.for_theme(name).sync}

    def acknowledge(self, theme: str, sent: Sequence[tuple[Uid, int]], seqs: Sequence[int | None] = ()) -> None:
        """The server has these (uid, clock), under these sequence numbers (None: it had a newer one).

        What was changed meanwhile has another clock, and goes on waiting.
        """
        theme_id = self._tracked(theme)
        named = [(uid, hlc, seq) for (uid, hlc), seq in itertools.zip_longest(sent, seqs[: len(sent)])]
        held = self._held(theme, {uid for uid, _, seq in named if seq is not None})
        with self._db.writing() as conn:
            conn.executemany(ACKNOWLEDGE, [(seq, theme_id, uids.to_bytes(uid), hlc) for uid, hlc, seq in named])
            for version in versions.versions(conn, theme_id, held):
                (row,) = rows_of(conn, theme_id, theme, [version])
                outrank_held(conn, theme_id, row, held[version.uid], self._clocks(conn))

    def refuse(self, theme: str, uid: Uid, hlc: int, why: str) -> None:
        """The server will not have this version: it no longer waits, until the thing is changed, or it is tried again."""
        with self._db.writing() as conn:
            conn.execute(
                "UPDATE sync_rows SET refused = ? WHERE theme_id = ? AND uid = ? AND hlc = ? AND sent = 0",
                (why[:1000], self._tracked(theme), uids.to_bytes(uid), hlc),
            )

    def try_refused_again(self) -> int:
        """Let what the server refused wait to be sent once more: it may accept it by now. How many versions these are."""
        if not self._db.value("SELECT 1 FROM sync_rows WHERE sent = 0 AND refused IS NOT NULL LIMIT 1"):
            return 0
        with self._db.writing() as conn:
            return conn.execute(TRIED_AGAIN).rowcount

    def refused(self, theme: str | None = None) -> list[Refused]:
        """What the server refused, oldest first."""
        found = []
        with self._db.snapshot() as conn:
            for theme_id, name in self._tracked_themes(conn, theme):
                sql = f"{KNOWN} WHERE theme_id = ? AND sent = 0 AND refused IS NOT NULL ORDER BY hlc"
                kept = [Version(*row) for row in conn.execute(sql, (theme_id,))]
                rows = rows_of(conn, theme_id, name, kept)
                found += [Refused(row, version.refused or "") for row, version in zip(rows, kept, strict=True)]
        return found

    def aside(self, theme: str | None = None) -> list[Aside]:
        """What came from the team and is not shown here, with the reason: malformed, refused by the theme's policy, or held
        back because its clock is ahead."""
        return self._hidden(theme) + self.held_back(theme)

    def held_back(self, theme: str | None = None) -> list[Aside]:
        """Those whose clock is ahead of what the server's time allows."""
        with self._db.snapshot() as conn:
            server_ms = self._clocks(conn).server_ms
            return [one.aside(server_ms) for one in find_held(conn, theme)]

    def admit_held(self) -> int:
        """Take in what was held back and is allowed by now; how many versions."""
        with self._db.snapshot() as conn:
            acceptable = self._clocks(conn).acceptable
            due = [one for one in find_held(conn) if one.row.hlc <= acceptable]
        for theme, found in itertools.groupby(due, key=lambda one: one.row.theme):
            rows = sorted(((one.seq, one.row) for one in found), key=lambda pair: pair[0])
            self.apply(theme, rows, cursor=self.cursor(theme))
        return len(due)

    def let_go_of_held(self, theme: str, there: Mapping[str, tuple[int, SyncRow]]) -> int:
        """Let go of what is held back and what the team's database no longer has under that stamp: its owner deleted or repaired
        it there. What stands in its place is taken in; where nothing does, what is here is offered again. How many went.

        :param there: what the database has of the things held back, with its sequence numbers
        """
        with self._db.snapshot() as conn:
            held = {str(one.row.uid): (one.row.hlc, one.row.node) for one in find_held(conn, theme)}
        other = {uid: pair for uid, pair in there.items() if uid in held and (pair[1].hlc, pair[1].node) != held[uid]}
        if other:
            self.apply(theme, sorted(other.values(), key=lambda pair: pair[0]), cursor=self.cursor(theme))
        gone = held.keys() - there.keys()
        if gone:
            theme_id = self._tracked(theme)
            with self._db.writing() as conn:
                for uid in map(uids.to_bytes, gone):
                    let_go(conn, theme_id, uid)
                    conn.execute(OFFERED_AGAIN, (theme_id, uid))
        return len(gone) + len(other)

    @again_without_index
    def look_again(self) -> int:
        """Screen anew what is kept aside: a policy, a rule or this program may have changed; how many are shown now."""
        count = 0
        for theme in {one.theme for one in self._hidden()}:
            theme_id, kept = self._tracked(theme), {uids.to_bytes(one.uid) for one in self._hidden(theme)}
            with self._db.snapshot() as conn:
                found = list(versions.versions(conn, theme_id, kept))
                rows = rows_of(conn, theme_id, theme, found)
            anew = {
                uids.to_bytes(row.uid): (row, seen)
                for row, seen in zip(rows, screened(self._db, self._names, self.screen, theme, rows), strict=True)
                if seen.aside is None
            }
            if not anew:
                continue
            with self._db.writing() as conn:
                self.stamp(conn)
                still = {one.uid for one in versions.versions(conn, theme_id, anew) if one.hlc == anew[one.uid][0].hlc}
                new = [(versions.shadowed(*anew[uid]), theme_id, uid) for uid in still]
                conn.executemany(versions.LOOKED_AGAIN, new)
                self._settle(conn, theme_id, theme, still | waiting_for(conn, theme_id, still))
            count += len(still - {uids.to_bytes(one.uid) for one in self._hidden(theme)})
        return count

    def waiting(self) -> int:
        """How many facts from the team wait here for a person."""
        return int(self._db.value(WAITING))

    def cursor(self, theme: str) -> Cursor:
        """How far the theme was pulled."""
        sql = "SELECT seq, mark_seq, mark_token FROM sync_themes WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return Cursor(*row) if row else Cursor()

    def fetched(self) -> frozenset[str]:
        """The themes whose first pull came to its end: what the team said of them is here."""
        sql = "SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE fetched = 1"
        return frozenset(name for (name,) in self._db.rows(sql))

    def note_fetched(self, theme: str) -> None:
        """All that the server has of a theme was taken in."""
        theme_id = self._tracked(theme)
        with self._db.writing() as conn:
            conn.execute("UPDATE sync_themes SET fetched = 1 WHERE theme_id = ?", (theme_id,))

    @again_without_index
    def apply(
        self, theme: str, rows: Sequence[tuple[int, SyncRow]], *, cursor: Cursor, listing: Listing | None = None
    ) -> Applied:
        """Take in rows with their server sequence, and move the cursor, in one journaled transaction.

        :param listing: note the rows as listed, so far
        """
        theme_id = self._tracked(theme)
        looked = screened(self._db, self._names, self.screen, theme, [row for _, row in rows])
        found = {id(row): seen for (_, row), seen in zip(rows, looked, strict=True) if seen}
        held = self._held(theme, {row.uid for _, row in rows if has_name(row)})
        with self._db.writing() as conn:
            self.stamp(conn)
            node_of(conn)
            gauged = self._tiers.resolved_theme(theme_id)
            level = present_gauge(conn, gauged).level
            receiving = Receiving(conn, theme_id, theme, self._clocks(conn), rows, held)
            receiving.take(found)
            conn.execute("UPDATE sync_store SET clock = max(clock, ?)", (receiving.newest,))
            touched = receiving.touched | self._erase(conn, theme_id, receiving.purged)
            touched |= waiting_for(conn, theme_id, receiving.touched)
            conflicts = receiving.conflicts + self._settle(conn, theme_id, theme, touched, receiving.plain)
            relief = Mutation(conn, self._names, self._journal, SYNC)
            self._tiers.relieve_within(relief, gauged, level)
            relief.record()
            conn.execute(MOVE, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))
            if listing is not None:
                list_rows(conn, theme_id, rows, listing)
        unreached = self._purge.finish(receiving.purged) if receiving.purged else ()
        return Applied(receiving.changed, conflicts, receiving.ignored, receiving.aside, unreached)

    def offer_everything(self, theme: str) -> int:
        """The server lost its tail: everything waits again, and the theme is pulled from the start. How many wait."""
        theme_id = self._tracked(theme)
        with self._db.writing() as conn:
            bring_down(conn, self._clocks(conn))
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
            forget_listed(conn, theme_id)
            return int(conn.execute("SELECT count(*) FROM sync_rows WHERE theme_id = ?", (theme_id,)).fetchone()[0])

    def listing(self, theme: str) -> Listing | None:
        """How far a listing came that was not finished."""
        sql = "SELECT seq, gc_seq, head, mark_seq, mark_token FROM sync_listings WHERE theme_id = ?"
        row = self._db.row(sql, (self._names.theme_or_none(theme),))
        return Listing(row[0], row[1], Cursor(*row[2:])) if row else None

    def forget_listing(self, theme: str) -> None:
        """The next one begins at the start."""
        theme_id = self._tracked(theme)
        with self._db.writing() as conn:
            forget_listed(conn, theme_id)

    def keep_listed(self, theme: str, cursor: Cursor) -> int:
        """The server listed all it has to a store that was away for longer than tombstones are kept: what it had from or for
        this store and has no more was deleted meanwhile. It leaves every list here; how many things that were.

        :param cursor: where the list ended
        """
        theme_id = self._tracked(theme)
        with self._db.writing() as conn:
            self.stamp(conn)
            gone = [Version(*row) for row in conn.execute(UNLISTED, (theme_id,)).fetchall()]
            for version in gone:
                versions.remember_masked(conn, theme_id, version)
            conn.executemany(
                "UPDATE sync_rows SET state = 1, said = '', shadow = ? WHERE theme_id = ? AND uid = ?",
                [(Payload(one.kind, one.label, {}, DELETED).dumped(), theme_id, one.uid) for one in gone],
            )
            self._settle(conn, theme_id, theme, {version.uid for version in gone})
            # Nobody else has a version of them any more.
            for table in ("sync_rows", "sync_conflicts"):
                conn.executemany(
                    f"DELETE FROM {table} WHERE theme_id = ? AND uid = ?", [(theme_id, one.uid) for one in gone]
                )
            note_used(conn, theme_id, [one.label for one in gone if one.label])
            conn.execute(MOVE, (cursor.seq, cursor.mark_seq, cursor.mark_token, theme_id))
            forget_listed(conn, theme_id)
            return len(gone)

    @again_without_index
    def forget_deleted(self, theme: str, upto: int) -> int:
        """The server removed what was deleted up to that sequence number, and so does this store; how many versions."""
        theme_id = self._tracked(theme)
        if not self._db.value(COLLECTED.format(what="SELECT 1", end="LIMIT 1"), (theme_id, upto)):
            return 0
        with self._db.writing() as conn:
            self.stamp(conn)
            labels = conn.execute(
                COLLECTED.format(what="SELECT label", end="AND label > ''"), (theme_id, upto)
            ).fetchall()
            count = conn.execute(COLLECTED.format(what="DELETE", end=""), (theme_id, upto)).rowcount
            note_used(conn, theme_id, [label for (label,) in labels])
            return count

    def observe(self, server_ms: int) -> int:
        """Note the server's time; how many milliseconds it is ahead of this machine's clock."""
        ahead = server_ms - self._clock()
        if abs(ahead - (self._db.value("SELECT ahead_ms FROM sync_store") or 0)) >= NOTED_MS:
            with self._db.writing() as conn:
                node_of(conn)
                conn.execute("UPDATE sync_store SET ahead_ms = ?", (ahead,))
        return ahead

    def restamp_future(self) -> int:
        """Stamp anew what is stamped further ahead than the server accepts; how many versions. `observe` comes first: a stamp is
        only brought down by a time that the server has said just now.

        What waits gets a stamp of the present, above the versions it was made from. What had been sent, when a clock ran ahead,
        is brought down and sent again; nothing is brought down that either of the two clocks allows.
        """
        with self._db.snapshot() as conn:
            clocks = self._clocks(conn)
            unsent = conn.execute(f"{UNSENT_AHEAD} LIMIT 1", (clocks.acceptable,)).fetchone()
        present_ms = max(clocks.own_ms, clocks.server_ms)
        went_back = self._looked_at_ms is None or present_ms < self._looked_at_ms - WENT_BACK_MS
        count = 0
        if went_back or unsent is not None:
            with self._db.writing() as conn:
                self.stamp(conn)
                count = bring_down(conn, clocks) if went_back else 0
                count += restamp_unsent(conn, clocks)
        self._looked_at_ms = present_ms if went_back else max(present_ms, self._looked_at_ms or 0)
        return count

    def conflicts(self, theme: str | None = None) -> list[Conflict]:
        """What two machines said at once and nobody decided yet, newest first."""
        with self._db.snapshot() as conn:
            kept = [found_conflicts(conn, *named) for named in self._tracked_themes(conn, theme)]
        return sorted(itertools.chain(*kept), key=lambda one: (-one.at, one.uid))

    @again_without_index
    def resolve(
        self, uid: Uid, keep: Literal["mine", "theirs", "both"], *, actor: Actor = PERSON, theme: str | None = None
    ) -> Changed:
        """Decide the conflicts of one thing: what stands, what lost, or both (the loser becomes a new fact).

        :raises UnknownFact: when it has no conflict
        """
        with self._db.writing() as conn:
            self.stamp(conn)
            for theme_id, name in self._tracked_themes(conn, theme):
                met = [one for one in found_conflicts(conn, theme_id, name) if one.uid == uid]
                if not met:
                    continue
                change = Mutation(conn, self._names, self._journal, actor)
                Deciding(change, theme_id).decide(met, keep)
                return changed(change)
        raise errors.UnknownFact(uid, hint="it has no conflict; list them with: conflicts")

    def digest(self, theme: str) -> str:
        """Digest of all versions of a theme: equal on stores that know the same."""
        lines = sorted(f"{uid} {digest}" for uid, digest in self.digests(theme).items())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def digests(self, theme: str) -> dict[Uid, str]:
        """`SyncRow.digest` of every version of a theme, whether it was sent or not."""
        with self._db.snapshot() as conn:
            sql = f"{KNOWN} WHERE theme_id = ? ORDER BY uid"
            kept = [Version(*row) for row in conn.execute(sql, (self._names.theme_or_none(theme),))]
        return {uids.to_text(version.uid): version.digest for version in kept}

    def try_lease(self, holder: str, ttl_ms: int) -> bool:
        """Become, or go on being, the one syncer of this store for that long."""
        with self._db.writing() as conn:
            node_of(conn)
            now = self._clock()
            # A lease that ends later than it may was made before the clock was set back.
            taken = conn.execute(
                "UPDATE sync_store SET holder = ?1, held_until = ?2 + ?3, held_ms = ?3"
                " WHERE holder IS NULL OR holder = ?1 OR held_until <= ?2 OR held_until > ?2 + held_ms",
                (holder, now, ttl_ms),
            )
            return taken.rowcount == 1

    def release(self, holder: str) -> None:
        """Let another syncer begin at once."""
        with self._db.writing() as conn:
            conn.execute("UPDATE sync_store SET holder = NULL, held_until = 0 WHERE holder = ?", (holder,))

    def stamp(self, conn: sqlite3.Connection) -> None:
        """Give what was noted as changed its versions, at the end of the transaction that changed it."""
        noted = conn.execute(
            "SELECT DISTINCT theme_id, name FROM sync_changed JOIN themes ON themes.id = theme_id"
        ).fetchall()
        for theme_id, theme in noted:
            touched = versions.stamp(conn, theme_id, theme, self._clock())
            if conn.execute(IN_SHADOW, (theme_id,)).fetchone():
                self._settle(conn, theme_id, theme, touched)

    def unversioned(self) -> dict[int, list[bytes | str]]:
        """Things that are not what their newest version says and wait for no other, by the key of their theme."""
        found: dict[int, list[bytes | str]] = {}
        with self._db.snapshot() as conn:
            ready = "SELECT theme_id FROM sync_themes JOIN themes ON themes.id = theme_id WHERE ready = 1"
            for (theme_id,) in conn.execute(ready).fetchall():
                wrong = versions.unversioned(conn, theme_id)
                if wrong:
                    found[theme_id] = wrong
        return found

    def _settle(
        self,
        conn: sqlite3.Connection,
        theme_id: int,
        theme: str,
        touched: set[bytes],
        plain: Mapping[bytes, Plain] = NONE,
    ) -> int:
        settling = Settling(conn, self._names, self._journal, theme_id, theme, self._clock())
        settling.run(touched, plain)
        return settling.conflicts

    def _erase(self, conn: sqlite3.Connection, theme_id: int, purged: Sequence[bytes]) -> set[bytes]:
        """Erase what others purged; the facts that were shown behind it."""
        if not purged:
            return set()
        sql = "SELECT uid FROM facts WHERE superseded_by = ? AND theme_id = ?"
        linked = {row[0] for uid in purged for row in conn.execute(sql, (uid, theme_id))} - set(purged)
        # Erasing takes their links out; whoever purged sends versions without them.
        shade(conn, theme_id, list(linked))
        self._purge.erase_within(conn, theme_id, purged, SYNC)
        return linked

    def _clocks(self, conn: sqlite3.Connection) -> PhysicalClocks:
        return physical_clocks(conn, self._clock())

    def _hidden(self, theme: str | None = None) -> list[Aside]:
        """What is not shown for what it says."""
        kept = self._db.rows(ASIDE, (theme,))
        return [Aside(name, uids.to_text(uid), kind, why) for name, uid, kind, why in kept]

    def _held(self, theme: str, wanted: Collection[str]) -> Held:
        """Those of these things of which a version is held back, with what the screens make of it.

        Not inside a transaction, as `screened`.
        """
        with self._db.snapshot() as conn:
            found = [one.row for one in find_held(conn, theme) if one.row.uid in wanted]
        looked = screened(self._db, self._names, self.screen, theme, found)
        return {uids.to_bytes(row.uid): (row, seen) for row, seen in zip(found, looked, strict=True)}

    def _tracked(self, theme: str) -> int:
        """Key of a theme whose writes are tracked from now on."""
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
        """Track a theme, and give what is in it already its first version, in many short transactions."""
        done = False
        while not done:
            with self._db.writing() as conn:
                theme_id = self._names.theme_for_writing(conn, theme, self._journal.now(conn))
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


def bring_down(conn: sqlite3.Connection, clocks: PhysicalClocks) -> int:
    """Stamp versions that had been sent, and that no clock allows any more, right after what they were made from, and let them
    be sent again; how many. Every machine that has one makes the same of it. So is what lost and is kept for a person."""
    rows = conn.execute(SENT_AHEAD, (clocks.plausible,)).fetchall()
    for theme_id, *row in rows:
        version = Version(*row)
        places = brought_down((*version.ancestors, version.hlc), clocks.plausible)
        ancestors = json.dumps(lineage(*(places[clock] for clock in version.ancestors)))
        conn.execute(RESTAMP, (places[version.hlc], version.node, ancestors, 1, theme_id, version.uid))
    for theme_id, uid, hlc, node, why, ancestors in conn.execute(LOST_AHEAD, (clocks.plausible,)).fetchall():
        clocks_of = json.loads(ancestors)
        places = brought_down((*clocks_of, hlc), clocks.plausible)
        named = json.dumps([places[clock] for clock in clocks_of])
        conn.execute(RESTAMP_LOST, (places[hlc], named, theme_id, uid, hlc, node, why))
    return len(rows)


def restamp_unsent(conn: sqlite3.Connection, clocks: PhysicalClocks) -> int:
    """Stamp what waits with the present where the server would not accept its clock; how many. What was made from a version that
    the server would not accept now, either, goes on waiting."""
    found = conn.execute(UNSENT_AHEAD, (clocks.acceptable,)).fetchall()
    node = node_of(conn)
    count = 0
    for (theme_id, *row), tick in zip(found, ticks(conn, clocks.own_ms, len(found)), strict=True):
        version = Version(*row)
        seen = (*version.ancestors, *((version.hlc,) if version.offered else ()))
        places = brought_down(seen, clocks.plausible)
        ancestors = lineage(*places.values())
        hlc = descendant(tick, node, ancestors)
        if hlc < version.hlc:
            conn.execute(RESTAMP, (hlc, node, json.dumps(ancestors), version.offered, theme_id, version.uid))
            count += 1
    return count


def list_rows(conn: sqlite3.Connection, theme_id: int, rows: Sequence[tuple[int, SyncRow]], listing: Listing) -> None:
    """Note rows as listed, and how far the listing is with them."""
    listed = [(theme_id, uids.to_bytes(row.uid)) for _, row in rows if has_name(row)]
    conn.executemany("INSERT OR IGNORE INTO sync_listed VALUES (?, ?)", listed)
    head = listing.head
    conn.execute(
        "INSERT OR REPLACE INTO sync_listings VALUES (?, ?, ?, ?, ?, ?)",
        (theme_id, listing.seq, listing.gc_seq, head.seq, head.mark_seq, head.mark_token),
    )


def note_used(conn: sqlite3.Connection, theme_id: int, labels: Sequence[str]) -> None:
    """Give scopes whose versions were removed a new version where facts stand in them: without one, nobody would be told when
    they close, get another name or are gone."""
    conn.execute(NOTE_USED, (theme_id, json.dumps(labels)))


def forget_listed(conn: sqlite3.Connection, theme_id: int) -> None:
    """A listing came to its end, or counts no more."""
    for table in ("sync_listings", "sync_listed"):
        conn.execute(f"DELETE FROM {table} WHERE theme_id = ?", (theme_id,))
