"""Captured turns that a theme shares with its team: what waits to be sent, and what came from other machines.

A turn never changes: it is there, or it was erased for good. So it has no versions and no conflicts; it travels once, and its
erasure once more. Who erases by hand erases for everybody. What a theme keeps only for a time (`turn_days`) is erased for
everybody by the machine that captured it; on the others it only leaves earlier, where they keep less.

No network: a syncer asks `pending`, sends, says `acknowledge`, pulls, and hands the rows to `apply`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermes_memory_store import errors, uids
from hermes_memory_store.chunking import in_chunks
from hermes_memory_store.clock import DAY_MS, Clock
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.malformed import moment
from hermes_memory_store.model import Actor, Uid
from hermes_memory_store.names import Names
from hermes_memory_store.schema import THEME_SHIFT
from hermes_memory_store.text_indexes import again_without_index
from hermes_memory_store.travelling import Aside
from hermes_memory_store.turn_rows import SaidTurn, checked_turn, insert_turns
from hermes_memory_store.turns import Turns, known_turns
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.sync import Sync

SYNC = Actor("sync")

MOST_CHARS = 400_000
"""Characters of the turns that are sent or taken in together: a transaction with more would keep local writers waiting."""

ENROLLED_AT_ONCE = 20_000

ELSEWHERE = "it stands in another theme of this memory"

ON, ONCE = 1, 2
"""`sync_themes.turns`: turns are shared, or were shared once; 0 where they never were."""

ENROL = """
    INSERT OR IGNORE INTO sync_turns (theme_id, uid, erased, sent)
    SELECT theme_id, uid, 0, 0 FROM turns WHERE theme_id = ? AND id BETWEEN ? AND ?
"""

WAITS = """
    FROM sync_turns y LEFT JOIN turns t ON t.uid = y.uid AND t.theme_id = y.theme_id
    WHERE y.theme_id = ? AND y.sent = 0 AND y.refused IS NULL AND (y.erased = 1 OR (? AND y.altered = 0 AND t.id IS NOT NULL))
"""

NEXT = f"SELECT y.uid, length(t.content) {WAITS} ORDER BY y.uid LIMIT ?"

PENDING = """
    SELECT y.uid, y.node, y.erased, t.role, t.content, n.name, t.at FROM sync_turns y
    LEFT JOIN turns t ON t.uid = y.uid AND t.theme_id = y.theme_id LEFT JOIN sessions n ON n.id = t.session_id
    WHERE y.theme_id = ? AND y.uid IN ({marks}) ORDER BY y.uid
"""

LEFT_OUT = """
    SELECT name, uid, refused FROM sync_turns JOIN themes ON themes.id = theme_id
    WHERE (node IS NULL) = ? AND erased = 0 AND refused IS NOT NULL AND (?2 IS NULL OR name = ?2) ORDER BY name, uid
"""

ACKNOWLEDGE = "UPDATE sync_turns SET sent = 1 WHERE theme_id = ? AND uid = ? AND erased = ?"

PASSED = """
    UPDATE sync_themes SET turn_seq = ?1, turns_whole = max(turns_whole, seq = ?1)
    WHERE theme_id = ?2 AND turn_seq = ?3 AND seq >= ?1
"""

TRIED_AGAIN = "UPDATE sync_turns SET refused = NULL WHERE sent = 0 AND node IS NULL AND refused IS NOT NULL"

UNREFUSED = "UPDATE sync_turns SET refused = NULL WHERE theme_id = ? AND uid = ?"

NOTE = """
    INSERT INTO sync_turns (theme_id, uid, node, erased, sent, altered, refused) VALUES (?, ?, ?, ?, 1, ?, ?)
    ON CONFLICT DO UPDATE SET
      node = excluded.node, erased = max(erased, excluded.erased), altered = max(altered, excluded.altered),
      sent = excluded.erased >= erased,
      refused = iif(excluded.erased, NULL, coalesce(excluded.refused, refused))
"""
"""What the team says of a turn. An erasure that waits here goes on waiting when the turn itself comes once more."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as it travels; once it was erased, only its uid."""

    uid: Uid
    node: Uid
    """Which store captured it."""
    erased: bool = False
    role: str = ""
    content: str = ""
    session: str | None = None
    """The name of the session it was said in."""
    at: int = 0
    """When it was said, UTC milliseconds."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """A theme that shares its turns, or once did: what is erased of them goes on being told."""

    theme: str
    on: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """What this machine makes of a turn from another one: as it is kept, or why it is not."""

    said: SaidTurn | None = None
    altered: bool = False
    why: str | None = None


class SharedTurns:
    """Sends and receives the turns of themes whose policy says `sync_turns`."""

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
        """:param sync: whose screen looks at what other machines captured before it is kept here"""
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._turns = turns
        self._sync = sync

    def themes(self, synced: Sequence[str]) -> list[Sharing]:
        """Those of the exchanged themes that share turns, or once did. Turns are tracked from the first time this is asked."""
        tracked = dict(self._db.rows("SELECT name, turns FROM sync_themes JOIN themes ON themes.id = theme_id"))
        found = []
        for theme in synced:
            on, was = self.shares(theme), tracked.get(theme, 0)
            if on != (was == ON) and (on or was) and not self._db.read_only:
                self._enrol(theme, anew=bool(was)) if on else self._stop(theme)
            if on or was:
                found.append(Sharing(theme, on))
        return found

    def shares(self, theme: str) -> bool:
        """Whether the policy of a theme lets its turns travel. A theme that keeps no turns has none to share, and takes none."""
        policy = self._policies.for_theme(theme)
        return policy.sync and policy.sync_turns and policy.turns != "none"

    def reaches_team(self, theme: str) -> bool:
        """Whether the team knows of turns of a theme, so that erasing them erases them for everybody."""
        sql = "SELECT 1 FROM sync_themes WHERE theme_id = ? AND turns > 0"
        known = self._db.value(sql, (self._names.theme_or_none(theme),)) is not None
        return known and self._policies.for_theme(theme).sync

    def is_whole(self, theme: str) -> bool:
        """Whether all that the team has of a theme was here at some time, and what is new comes."""
        sql = "SELECT turns_whole FROM sync_themes WHERE theme_id = ? AND turns = 1"
        return self.shares(theme) and bool(self._db.value(sql, (self._names.theme_or_none(theme),)))

    def pending(self, theme: str, *, limit: int = 500) -> list[TurnRow]:
        """Turns and erasures that nobody acknowledged yet, oldest first: of `MOST_CHARS` characters in all, or one."""
        theme_id = self._names.theme(theme)
        wanted: list[bytes] = []
        chars = 0
        for uid, length in self._db.rows(NEXT, (theme_id, self.shares(theme), limit)):
            chars += length or 0
            if wanted and chars > MOST_CHARS:
                break
            wanted.append(uid)
        if not wanted:
            return []
        sql, mine = PENDING.format(marks=", ".join("?" * len(wanted))), self._sync().node
        return [row_of(row, mine) for row in self._db.rows(sql, (theme_id, *wanted))]

    def waiting(self, theme: str) -> int:
        """How many of them there are."""
        return int(self._db.value(f"SELECT count(*) {WAITS}", (self._names.theme(theme), self.shares(theme))))

    def unsent_counts(self) -> dict[str, int]:
        """The same by theme, of those that share turns or once did, where any wait: nothing is written."""
        tracked = self._db.rows("SELECT name FROM sync_themes JOIN themes ON themes.id = theme_id WHERE turns > 0")
        counts = {name: self.waiting(name) for (name,) in tracked if self._policies.for_theme(name).sync}
        return {name: count for name, count in counts.items() if count}

    def acknowledge(self, theme: str, sent: Sequence[TurnRow], *, base: int, end: int) -> None:
        """The server has these. What was erased meanwhile goes on waiting.

        :param base: its sequence before it had them; where that is how far turns were pulled, these need no pull
        :param end: its sequence with them
        """
        theme_id = self._names.theme(theme)
        with self._db.writing() as conn:
            conn.executemany(ACKNOWLEDGE, [(theme_id, uids.to_bytes(one.uid), one.erased) for one in sent])
            conn.execute(PASSED, (end, theme_id, base))

    def refuse(self, theme: str, uid: Uid, why: str) -> None:
        """The server will not have this turn: it stays here, and no longer waits."""
        sql = "UPDATE sync_turns SET refused = ? WHERE theme_id = ? AND uid = ? AND sent = 0"
        with self._db.writing() as conn:
            conn.execute(sql, (why[:1000], self._names.theme(theme), uids.to_bytes(uid)))

    def try_refused_again(self) -> int:
        """Let the turns that the server refused wait to be sent once more: it may accept them by now. How many these are."""
        if not self._db.value(
            "SELECT 1 FROM sync_turns WHERE sent = 0 AND node IS NULL AND refused IS NOT NULL LIMIT 1"
        ):
            return 0
        with self._db.writing() as conn:
            return conn.execute(TRIED_AGAIN).rowcount

    def cursor(self, theme: str) -> int:
        """How far the turns of a theme were pulled: never farther than its facts, whose mark tells what the server lost."""
        sql = "SELECT turn_seq FROM sync_themes WHERE theme_id = ?"
        return int(self._db.value(sql, (self._names.theme_or_none(theme),)) or 0)

    @again_without_index
    def apply(self, theme: str, rows: Sequence[TurnRow], *, upto: int, whole: bool = False, again: bool = False) -> int:
        """Take in turns in the order of the server, and move the cursor, in one journaled transaction; how many are new here.

        Of a theme that no longer shares its turns, only what was erased is taken in. `Turns.scrub` has to follow, once.

        :param upto: the server's sequence up to which these are all there is
        :param whole: that is all there is
        :param again: these were left out before: a keyring may be open by now, or a policy another
        """
        theme_id = self._names.theme(theme)
        mine = self._sync().node
        rows = rows if self.shares(theme) else [row for row in rows if row.erased]
        live = [uids.to_bytes(row.uid) for row in rows if not row.erased]
        with self._db.snapshot() as conn:
            known = known_turns(conn, theme_id, live, again=again)
        looked = {row.uid: self._looked(theme, row, known) for row in rows if not row.erased}
        erased = [uids.to_bytes(row.uid) for row in rows if row.erased]
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            known = known_turns(conn, theme_id, live, again=again)
            said = {one.said.uid: one.said for one in looked.values() if one.said is not None}
            new = [(uid, one) for uid, one in said.items() if uid not in known]
            if again:
                conn.executemany(UNREFUSED, [(theme_id, uid) for uid in live])
            conn.executemany(NOTE, [note(theme_id, row, mine, looked.get(row.uid, Looked())) for row in rows])
            entries = insert_turns(conn, theme_id, new, now)
            if entries:
                self._journal.append(conn, entries, actor=SYNC, at=now)
            self._turns.erase_within(conn, theme_id, held(conn, theme_id, erased), SYNC, now)
            conn.execute(
                "UPDATE sync_themes SET turn_seq = min(?, seq), turns_whole = max(turns_whole, ?) WHERE theme_id = ?",
                (upto, whole, theme_id),
            )
        return len(new)

    def left_out(self, theme: str | None = None) -> list[Aside]:
        """Turns of the team that are not kept here, with the reason."""
        return self._refused(False, theme)

    def refused(self) -> list[Aside]:
        """Turns of this machine that the server would not have, with the reason."""
        return self._refused(True, None)

    def states(self, theme: str) -> dict[Uid, bool]:
        """Whether each turn that the team knows of was erased, as this store has it."""
        return self._states(theme, sent=True)

    def unsent(self, theme: str) -> set[Uid]:
        """All turns of which the team is still to be told something, or will not be."""
        return set(self._states(theme, sent=False))

    def _states(self, theme: str, *, sent: bool) -> dict[Uid, bool]:
        sql = "SELECT uid, erased FROM sync_turns WHERE theme_id = ? AND sent = ?"
        rows = self._db.rows(sql, (self._names.theme_or_none(theme), sent))
        return {uids.to_text(uid): bool(erased) for uid, erased in rows}

    def _refused(self, mine: bool, theme: str | None) -> list[Aside]:
        kept = self._db.rows(LEFT_OUT, (mine, theme))
        return [Aside(name, uids.to_text(uid), "turn", why) for name, uid, why in kept]

    def _enrol(self, theme: str, *, anew: bool) -> None:
        """Track a theme's turns, those that are there included, in several short transactions.

        :param anew: it was tracked before: what others said meanwhile comes from the start
        """
        with self._db.writing() as conn:
            theme_id = self._names.theme_for_writing(conn, theme, self._journal.now(conn))
            conn.execute("INSERT OR IGNORE INTO sync_themes (theme_id) VALUES (?)", (theme_id,))
        low = theme_id << THEME_SHIFT
        while self._enrol_some(theme_id, low, anew=anew):
            low += ENROLLED_AT_ONCE

    def _enrol_some(self, theme_id: int, low: int, *, anew: bool) -> bool:
        """Note some turns as not sent yet, from a key on; whether there are more. Whoever captures meanwhile comes after them."""
        with self._db.writing() as conn:
            (last,) = conn.execute("SELECT max(id) FROM turns WHERE theme_id = ?", (theme_id,)).fetchone()
            conn.execute(ENROL, (theme_id, low, low + ENROLLED_AT_ONCE - 1))
            if last is not None and last >= low + ENROLLED_AT_ONCE:
                return True
            conn.execute("UPDATE sync_themes SET turns = ? WHERE theme_id = ?", (ON, theme_id))
            if anew:
                conn.execute("UPDATE sync_themes SET turn_seq = 0, turns_whole = 0 WHERE theme_id = ?", (theme_id,))
        return False

    def _stop(self, theme: str) -> None:
        with self._db.writing() as conn:
            sql = "UPDATE sync_themes SET turns = ? WHERE theme_id = ?"
            conn.execute(sql, (ONCE, self._names.theme(theme)))

    def _looked(self, theme: str, row: TurnRow, known: Collection[bytes]) -> Looked:
        """A turn as it is kept here, or why it is not; neither for one that is known, or older than turns are kept here.

        Not inside a transaction: a keyring may take its time.
        """
        days = self._policies.for_theme(theme).turn_days
        uid = uids.to_bytes(row.uid)
        try:
            if uid in known:
                return Looked()
            said = checked_turn(SaidTurn(uid, row.session, row.role, row.content, moment(row.at)))
            if days and said.at < self._clock() - days * DAY_MS:
                return Looked()
            if self._db.value("SELECT 1 FROM turns WHERE uid = ?", (uid,)) is not None:
                return Looked(why=ELSEWHERE)
            content = self._sync().screen.turn(theme, said.content)
            return Looked(replace(said, content=content), content != said.content)
        except errors.StoreError as error:
            return Looked(why=error.message)
        except (ValueError, TypeError, AttributeError):
            return Looked(why="it is malformed")


def row_of(row: Sequence[object], mine: Uid) -> TurnRow:
    """A row of `PENDING`."""
    uid, node, erased, role, content, session, at = row
    named, by = uids.to_text(uid), mine if node is None else uids.to_text(node)  # type: ignore[arg-type]
    if erased:
        return TurnRow(named, by, True)
    return TurnRow(named, by, False, role, content, session, at)  # type: ignore[arg-type]


def note(theme_id: int, row: TurnRow, mine: Uid, looked: Looked) -> tuple[object, ...]:
    """What stands in `NOTE`."""
    node = None if row.node == mine else uids.to_bytes(row.node)
    return theme_id, uids.to_bytes(row.uid), node, row.erased, looked.altered, looked.why


def held(conn: sqlite3.Connection, theme_id: int, wanted: Sequence[bytes]) -> list[tuple[int, bytes, str]]:
    """Keys, uids and contents of those of these turns that are here."""
    there: list[tuple[int, bytes, str]] = []
    for some in in_chunks(list(wanted)):
        marks = ", ".join("?" * len(some))
        there += conn.execute(
            f"SELECT id, uid, content FROM turns WHERE theme_id = ? AND uid IN ({marks})", (theme_id, *some)
        ).fetchall()
    return there
