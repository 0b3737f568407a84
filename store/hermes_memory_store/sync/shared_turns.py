"""Captured turns that a theme shares with its team: what is pending, and what came from other machines.

A turn never changes: it exists, or it was erased permanently. So it has no versions and no conflicts; it is sent
once, and its erasure once more. An erasure by hand applies to everybody. What a theme keeps only for a time
(`turn_days`) is erased for everybody by the machine that captured it; on the others it only leaves earlier, where
they keep less.

No network: a syncer calls `pending_turns`, sends, calls `acknowledge`, pulls, and passes the rows to `apply`.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import DAY_MS, Clock
from hermes_memory_store.conversations.turn_rows import PortableTurn, insert_turns, validate_turn
from hermes_memory_store.conversations.turns import Turns, find_known_turns
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.database.schema import THEME_SHIFT
from hermes_memory_store.intake.intake import AdmittedTurn
from hermes_memory_store.items.journal import Journal
from hermes_memory_store.items.name_keys import Names, to_theme_name
from hermes_memory_store.items.origin_rows import attribute_changes
from hermes_memory_store.model import SYNC, Uid
from hermes_memory_store.sync.team_origins import TEAM_ORIGIN, origin_formatter, parse_team_origin
from hermes_memory_store.sync.wire_format import LIVE, PURGED, HiddenVersion, SyncRow, validate_row_time
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.sync.team_sync import Sync

MOST_CHARS = 400_000
"""Characters of the turns that are sent or taken in together: a transaction with more would keep local writers waiting."""

ENROLLED_AT_ONCE = 20_000

IN_OTHER_THEME = "it stands in another theme of this memory"

WORDS = ("role", "content", "session", "at")

ON, ONCE = 1, 2
"""`sync_themes.turns`: turns are shared, or were shared once; 0 where they never were."""

SET_SHARING = "UPDATE sync_themes SET turns = ? WHERE theme_id = ?"

ENROL = """
    INSERT OR IGNORE INTO sync_turns (theme_id, uid, erased, sent)
    SELECT theme_id, uid, 0, 0 FROM turns WHERE theme_id = ? AND id BETWEEN ? AND ?
"""

PENDING_TURNS_FROM = """
    FROM sync_turns y LEFT JOIN turns t ON t.uid = y.uid AND t.theme_id = y.theme_id
    WHERE y.theme_id = ? AND y.sent = 0 AND y.refused IS NULL AND (y.erased = 1 OR (? AND y.altered = 0 AND t.id IS NOT NULL))
"""

NEXT = f"SELECT y.uid, length(t.content) {PENDING_TURNS_FROM} ORDER BY y.uid LIMIT ?"

PENDING = """
    SELECT y.uid, y.node, y.erased, t.role, t.content, n.name, t.at, t.origin_id, t.verdict
    FROM sync_turns y
    LEFT JOIN turns t ON t.uid = y.uid AND t.theme_id = y.theme_id LEFT JOIN sessions n ON n.id = t.session_id
    WHERE y.theme_id = ? AND y.uid IN ({marks}) ORDER BY y.uid
"""

SKIPPED_TURNS = """
    SELECT name, uid, refused FROM sync_turns JOIN themes ON themes.id = theme_id
    WHERE (node IS NULL) = ? AND erased = 0 AND refused IS NOT NULL AND (?2 IS NULL OR name = ?2) ORDER BY name, uid
"""

ACKNOWLEDGE = "UPDATE sync_turns SET sent = 1 WHERE theme_id = ? AND uid = ? AND erased = ?"

ADVANCE_TURN_CURSOR = """
    UPDATE sync_themes SET turn_seq = ?1, turns_whole = max(turns_whole, seq = ?1)
    WHERE theme_id = ?2 AND turn_seq = ?3 AND seq >= ?1
"""

RETRY_REJECTED_TURNS = "UPDATE sync_turns SET refused = NULL WHERE sent = 0 AND node IS NULL AND refused IS NOT NULL"

CLEAR_REJECTION = "UPDATE sync_turns SET refused = NULL WHERE theme_id = ? AND uid = ?"

NOTE = """
    INSERT INTO sync_turns (theme_id, uid, node, erased, sent, altered, refused) VALUES (?, ?, ?, ?, 1, ?, ?)
    ON CONFLICT DO UPDATE SET
      node = excluded.node, erased = max(erased, excluded.erased), altered = max(altered, excluded.altered),
      sent = excluded.erased >= erased,
      refused = iif(excluded.erased, NULL, coalesce(excluded.refused, refused))
"""
"""What the team says of a turn. An erasure that waits here goes on waiting when the turn itself comes once more."""


@dataclass(frozen=True, slots=True)
class ThemeSharing:
    """A theme that shares its turns, or once did: their erasures are still announced."""

    theme: str
    on: bool


class CheckedTurn(NamedTuple):
    """The result of checking a turn from another machine: the text to keep, or why it is not kept."""

    said: PortableTurn | None = None
    admitted: AdmittedTurn | None = None
    why: str | None = None

    @property
    def is_altered(self) -> bool:
        return self.said is not None and self.admitted is not None and self.said.content != self.admitted.content


class SharedTurns:
    """Send and receive the turns of themes whose policy says `sync_turns`."""

    def __init__(
        self,
        db: Db,
        names: Names,
        journal: Journal,
        policies: Policies,
        clock: Clock,
        turns: Turns,
        sync: Callable[[], Sync],
    ) -> None:
        """:param sync: whose content check examines turns of other machines before they are kept here"""
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._turns = turns
        self._sync = sync

    def themes(self, synced: Sequence[str]) -> list[ThemeSharing]:
        """Return those of the synced themes that share turns, or once did. Tracks turns from the first call on."""
        tracked = dict(self._db.rows("SELECT name, turns FROM sync_themes JOIN themes ON themes.id = theme_id"))
        sharings = []
        for theme in synced:
            on, was = self.is_sharing(theme), tracked.get(theme, 0)
            if on != (was == ON) and (on or was) and not self._db.read_only:
                if on:
                    self._enrol(theme, anew=bool(was))
                else:
                    with self._db.write_transaction() as conn:
                        conn.execute(SET_SHARING, (ONCE, self._names.theme(theme)))
            if on or was:
                sharings.append(ThemeSharing(theme, on))
        return sharings

    def is_sharing(self, theme: str) -> bool:
        """Check whether a theme's policy lets its turns be shared; one that keeps none shares and accepts none."""
        policy = self._policies.for_theme(theme)
        return policy.carrier is not None and policy.sync_turns and policy.turns != "none"

    def is_known_to_team(self, theme: str) -> bool:
        """Check whether the team knows turns of a theme, so that erasing them erases them for everybody."""
        sql = "SELECT 1 FROM sync_themes WHERE theme_id = ? AND turns > 0"
        is_tracked = self._db.value(sql, (self._names.theme_or_none(theme),)) is not None
        return is_tracked and self._policies.for_theme(theme).carrier is not None

    def is_whole(self, theme: str) -> bool:
        """Check whether everything the team has of a theme was here at some time, so that only new turns come."""
        sql = "SELECT turns_whole FROM sync_themes WHERE theme_id = ? AND turns = 1"
        return self.is_sharing(theme) and bool(self._db.value(sql, (self._names.theme_or_none(theme),)))

    def pending_turns(self, theme: str, *, limit: int = 500) -> list[SyncRow]:
        """Return unacknowledged turns and erasures, oldest first: of `MOST_CHARS` characters in all, or one."""
        theme_id = self._names.theme(theme)
        names: list[bytes] = []
        chars = 0
        for uid, length in self._db.rows(NEXT, (theme_id, self.is_sharing(theme), limit)):
            chars += length or 0
            if names and chars > MOST_CHARS:
                break
            names.append(uid)
        if not names:
            return []
        sql, mine = PENDING.format(marks=", ".join("?" * len(names))), self._sync().node
        to_words = origin_formatter(self._names)
        return [
            to_turn_row(
                theme,
                uids.format_uid(uid),
                mine if node is None else uids.format_uid(node),
                is_erased=erased,
                origin=to_words(key, None, verdict),
                **dict(zip(WORDS, words, strict=True)),
            )
            for uid, node, erased, *words, key, verdict in self._db.rows(sql, (theme_id, *names))
        ]

    def pending_turn_count(self, theme: str) -> int:
        return int(
            self._db.value(f"SELECT count(*) {PENDING_TURNS_FROM}", (self._names.theme(theme), self.is_sharing(theme)))
        )

    def unsent_counts(self) -> dict[str, int]:
        """Count the pending turns by theme, of those that share turns or once did; writes nothing."""
        tracked = self._db.rows("SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE turns > 0")
        counts = {name: self.pending_turn_count(name) for (name,) in tracked if self._policies.for_theme(name).carrier}
        return {name: count for name, count in counts.items() if count}

    def acknowledge(self, theme: str, sent: Sequence[SyncRow], *, base: int, end: int) -> None:
        """Mark turns as received by the server. What was erased meanwhile stays pending.

        :param base: its sequence before it had them; where turns were pulled up to there, these need no pull
        :param end: its sequence with them
        """
        theme_id = self._names.theme(theme)
        with self._db.write_transaction() as conn:
            conn.executemany(ACKNOWLEDGE, [(theme_id, uids.parse_uid(row.uid), row.state == PURGED) for row in sent])
            conn.execute(ADVANCE_TURN_CURSOR, (end, theme_id, base))

    def mark_rejected(self, theme: str, uid: Uid, why: str) -> None:
        """Mark a turn as rejected by the server: it stays here, and is no longer pending."""
        sql = "UPDATE sync_turns SET refused = ? WHERE theme_id = ? AND uid = ? AND sent = 0"
        with self._db.write_transaction() as conn:
            conn.execute(sql, (why[:1000], self._names.theme(theme), uids.parse_uid(uid)))

    def retry_rejected(self) -> int:
        """Make rejected turns pending again, since the server may accept them by now; return how many."""
        if not self._db.value(
            "SELECT 1 FROM sync_turns WHERE sent = 0 AND node IS NULL AND refused IS NOT NULL LIMIT 1"
        ):
            return 0
        with self._db.write_transaction() as conn:
            return conn.execute(RETRY_REJECTED_TURNS).rowcount

    def cursor(self, theme: str) -> int:
        """Return how far a theme's turns were pulled: never farther than its facts, whose mark shows what the server lost."""
        sql = "SELECT turn_seq FROM sync_themes WHERE theme_id = ?"
        return int(self._db.value(sql, (self._names.theme_or_none(theme),)) or 0)

    @retry_without_index
    def apply(self, theme: str, rows: Sequence[SyncRow], *, upto: int, whole: bool = False, again: bool = False) -> int:
        """Apply turns in the server's order, and move the cursor, in one journaled transaction.

        Returns how many are new here. Of a theme that no longer shares its turns, only erasures are applied.
        `Turns.scrub` has to follow, once.

        :param upto: the server's sequence up to which these are all there is
        :param whole: that is all there is
        :param again: these were skipped before: a keyring may be open by now, or a policy changed
        """
        theme_id = self._names.theme(theme)
        mine = self._sync().node
        rows = rows if self.is_sharing(theme) else [row for row in rows if row.state == PURGED]
        live = [uids.parse_uid(row.uid) for row in rows if row.state != PURGED]
        with self._db.snapshot() as conn:
            known_turns = find_known_turns(conn, theme_id, live, again=again)
        checked_turns = {row.uid: self._check_turn(theme, row, known_turns) for row in rows if row.state != PURGED}
        erased = [uids.parse_uid(row.uid) for row in rows if row.state == PURGED]
        with self._db.write_transaction() as conn:
            now = self._journal.now(conn)
            known_turns = find_known_turns(conn, theme_id, live, again=again)
            new = [
                (checked.said.uid, checked.said, checked.admitted)
                for checked in checked_turns.values()
                if checked.said is not None and checked.admitted is not None and checked.said.uid not in known_turns
            ]
            if again:
                conn.executemany(CLEAR_REJECTION, [(theme_id, uid) for uid in live])
            for row in rows:
                checked = checked_turns.get(row.uid, CheckedTurn())
                node = None if row.node == mine else uids.parse_uid(row.node)
                name = (theme_id, uids.parse_uid(row.uid), node, row.state == PURGED)
                conn.execute(NOTE, (*name, checked.is_altered, checked.why))
            with attribute_changes(TEAM_ORIGIN):
                entries = insert_turns(conn, self._names.origins, theme_id, new, now, TEAM_ORIGIN)
                if entries:
                    self._journal.append(conn, entries, actor=SYNC, at=now)
            self._turns.erase_within(conn, theme_id, find_stored_turns(conn, theme_id, erased), SYNC, now)
            conn.execute(
                "UPDATE sync_themes SET turn_seq = min(?, seq), turns_whole = max(turns_whole, ?) WHERE theme_id = ?",
                (upto, whole, theme_id),
            )
        return len(new)

    def skipped_turns(self, theme: str | None = None) -> list[HiddenVersion]:
        """Return the team's turns that are not kept here, with the reason."""
        return self._rejected_turns(False, theme)

    def rejected_turns(self) -> list[HiddenVersion]:
        """Return this machine's turns that the server rejected, with the reason."""
        return self._rejected_turns(True, None)

    def states(self, theme: str) -> dict[Uid, bool]:
        """Return whether each turn that the team knows was erased, as this store has it."""
        return self._states(theme, sent=True)

    def unsent(self, theme: str) -> set[Uid]:
        """Return all turns about which the team lacks a message, including those it will not get."""
        return set(self._states(theme, sent=False))

    def _states(self, theme: str, *, sent: bool) -> dict[Uid, bool]:
        sql = "SELECT uid, erased FROM sync_turns WHERE theme_id = ? AND sent = ?"
        rows = self._db.rows(sql, (self._names.theme_or_none(theme), sent))
        return {uids.format_uid(uid): bool(erased) for uid, erased in rows}

    def _rejected_turns(self, mine: bool, theme: str | None) -> list[HiddenVersion]:
        rows = self._db.rows(SKIPPED_TURNS, (mine, theme))
        return [HiddenVersion(name, uids.format_uid(uid), "turn", why) for name, uid, why in rows]

    def _enrol(self, theme: str, *, anew: bool) -> None:
        """Track a theme's turns, existing ones included, in several short transactions.

        :param anew: it was tracked before: messages sent meanwhile are pulled from the start
        """
        with self._db.write_transaction() as conn:
            key = self._names.theme_or_none(theme)
            theme_id = key or self._names.theme_for_writing(conn, to_theme_name(theme), self._journal.now(conn))
            conn.execute("INSERT OR IGNORE INTO sync_themes (theme_id) VALUES (?)", (theme_id,))
        for low in itertools.count(theme_id << THEME_SHIFT, ENROLLED_AT_ONCE):
            with self._db.write_transaction() as conn:
                (last,) = conn.execute("SELECT max(id) FROM turns WHERE theme_id = ?", (theme_id,)).fetchone()
                conn.execute(ENROL, (theme_id, low, low + ENROLLED_AT_ONCE - 1))
                if last is not None and last >= low + ENROLLED_AT_ONCE:
                    continue
                conn.execute(SET_SHARING, (ON, theme_id))  # later captures come after these
                if anew:
                    conn.execute("UPDATE sync_themes SET turn_seq = 0, turns_whole = 0 WHERE theme_id = ?", (theme_id,))
                return

    def _check_turn(self, theme: str, row: SyncRow, known_turns: Collection[bytes]) -> CheckedTurn:
        """Check a turn: return the text to keep, or why not; neither for a known one or one beyond the retention.

        Not inside a transaction: a keyring may take its time.
        """
        days = self._policies.for_theme(theme).turn_days
        uid = uids.parse_uid(row.uid)
        try:
            if uid in known_turns:
                return CheckedTurn()
            origin = parse_team_origin(row.origin, row.teammate)
            turn = to_portable_turn(row.uid, row.content, row.attrs)
            turn = validate_turn(replace(turn, at=validate_row_time(turn.at), origin=origin))
            if days and turn.at < self._clock() - days * DAY_MS:
                return CheckedTurn()
            if self._db.value("SELECT 1 FROM turns WHERE uid = ?", (uid,)) is not None:
                return CheckedTurn(why=IN_OTHER_THEME)
            admitted = self._sync().content_check.turn(theme, turn)
            return CheckedTurn(turn, admitted)
        except errors.StoreError as error:
            return CheckedTurn(why=error.message)
        except (ValueError, TypeError, AttributeError):
            return CheckedTurn(why="it is malformed")


def to_turn_row(
    theme: str,
    uid: Uid,
    node: Uid,
    *,
    is_erased: bool,
    role: str,
    content: str,
    session: str | None,
    at: int,
    origin: dict[str, Any] | None = None,
    teammate: str | None = None,
) -> SyncRow:
    """Return a turn as the team keeps it: its only version, so it has no clock; once it was erased, only its name."""
    if is_erased:
        return SyncRow(theme, uid, "turn", None, {}, PURGED, 0, node)
    attrs = {"session": session, "role": role, "said_at": at}
    return SyncRow(theme, uid, "turn", content, attrs, LIVE, 0, node, origin=origin, teammate=teammate)


def to_portable_turn(uid: Uid, content: str | None, attrs: Mapping[str, Any]) -> PortableTurn:
    """Return what a turn of the team database says, which is not validated yet."""
    return PortableTurn(
        uids.parse_uid(uid), attrs.get("session"), attrs.get("role", ""), content or "", attrs.get("said_at", 0)
    )


def find_stored_turns(conn: sqlite3.Connection, theme_id: int, turns: Sequence[bytes]) -> list[tuple[int, bytes, str]]:
    there: list[tuple[int, bytes, str]] = []
    for some in in_chunks(list(turns)):
        marks = ", ".join("?" * len(some))
        there += conn.execute(
            f"SELECT id, uid, content FROM turns WHERE theme_id = ? AND uid IN ({marks})", (theme_id, *some)
        ).fetchall()
    return there
