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
from hermes_memory_store.clock import Clock
from hermes_memory_store.db import Db
from hermes_memory_store.journal import Journal
from hermes_memory_store.malformed import moment
from hermes_memory_store.model import Actor, Uid
from hermes_memory_store.names import Names
from hermes_memory_store.pages import chunks
from hermes_memory_store.portable import SaidTurn
from hermes_memory_store.restoring_turns import bring_within, checked_turn
from hermes_memory_store.travelling import Aside
from hermes_memory_themes import Policies

if TYPE_CHECKING:
    from hermes_memory_store.screening import Screen
    from hermes_memory_store.turns import Turns

SYNC = Actor("sync")

DAY_MS = 86_400_000

MOST_CHARS = 1_000_000
"""Characters of the turns that are sent together."""

AT_ONCE = 500

ENROL = "INSERT OR IGNORE INTO sync_turns SELECT theme_id, uid, 1, 0, 0, NULL FROM turns WHERE theme_id = ?"

PENDING = """
    SELECT y.uid, y.erased, t.role, t.content, n.name, t.at FROM sync_turns y
    LEFT JOIN turns t ON t.uid = y.uid AND t.theme_id = y.theme_id LEFT JOIN sessions n ON n.id = t.session_id
    WHERE y.theme_id = ? AND y.sent = 0 AND y.refused IS NULL AND (y.erased = 1 OR (? AND t.id IS NOT NULL))
    ORDER BY y.uid LIMIT ?
"""

WAITING = """
    SELECT count(*) FROM sync_turns y
    WHERE theme_id = ? AND sent = 0 AND refused IS NULL
      AND (erased = 1 OR (? AND EXISTS (SELECT 1 FROM turns t WHERE t.uid = y.uid AND t.theme_id = y.theme_id)))
"""

LEFT_OUT = """
    SELECT name, uid, refused FROM sync_turns JOIN themes ON themes.id = theme_id
    WHERE own = 0 AND refused IS NOT NULL ORDER BY name, uid
"""

ACKNOWLEDGE = "UPDATE sync_turns SET sent = 1 WHERE theme_id = ? AND uid = ? AND erased = ?"

PASSED = "UPDATE sync_themes SET turn_seq = ? WHERE theme_id = ? AND turn_seq = ?"

NOTE = """
    INSERT INTO sync_turns (theme_id, uid, own, erased, sent, refused) VALUES (?, ?, 0, ?, 1, ?)
    ON CONFLICT DO UPDATE SET erased = max(erased, excluded.erased), sent = excluded.erased >= erased
"""
"""What the team says of a turn. An erasure that waits here goes on waiting when the turn itself comes once more."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as it travels; once it was erased, only its uid."""

    uid: Uid
    erased: bool = False
    role: str = ""
    content: str = ""
    session: str | None = None
    """The name of the session it was said in."""
    at: int = 0
    """When it was said, UTC milliseconds."""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """What came of turns that were pulled."""

    added: int = 0
    erased: int = 0
    left_out: int = 0
    """Malformed, or refused by the theme's policy."""
    unreached: tuple[str, ...] = ()
    """Backups that still hold what was erased, since they could not be opened or changed."""


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
        screen: Callable[[], Screen],
    ) -> None:
        """:param screen: looks at what other machines captured before it is kept here"""
        self._db = db
        self._names = names
        self._journal = journal
        self._policies = policies
        self._clock = clock
        self._turns = turns
        self._screen = screen

    def themes(self, synced: Sequence[str]) -> list[str]:
        """Those of the exchanged themes that share turns, or once did: what is erased of them goes on being told.

        Their turns are tracked from the first time this is asked.
        """
        tracked = dict(self._db.rows("SELECT name, turns FROM sync_themes JOIN themes ON themes.id = theme_id"))
        found = []
        for theme in synced:
            if self._shares(theme) and not tracked.get(theme) and not self._db.read_only:
                self._enrol(theme)
            if self._shares(theme) or tracked.get(theme):
                found.append(theme)
        return found

    def reaches_team(self, theme: str) -> bool:
        """Whether the team knows of turns of a theme, so that erasing them erases them for everybody."""
        sql = "SELECT 1 FROM sync_turns WHERE theme_id = ? LIMIT 1"
        return self._db.value(sql, (self._names.theme_or_none(theme),)) is not None

    def pending(self, theme: str, *, limit: int = 500) -> list[TurnRow]:
        """Turns and erasures that nobody acknowledged yet, oldest first, of `MOST_CHARS` characters and one turn at most."""
        found, chars = [], 0
        for uid, erased, role, content, session, at in self._db.rows(
            PENDING, (self._names.theme(theme), self._shares(theme), limit)
        ):
            named = uids.to_text(uid)
            found.append(TurnRow(named, True) if erased else TurnRow(named, False, role, content, session, at))
            chars += len(content or "")
            if chars > MOST_CHARS:
                break
        return found

    def waiting(self, theme: str) -> int:
        """How many of them there are."""
        return int(self._db.value(WAITING, (self._names.theme(theme), self._shares(theme))))

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

    def cursor(self, theme: str) -> int:
        """How far the turns of a theme were pulled."""
        sql = "SELECT turn_seq FROM sync_themes WHERE theme_id = ?"
        return int(self._db.value(sql, (self._names.theme_or_none(theme),)) or 0)

    def apply(self, theme: str, rows: Sequence[TurnRow], *, upto: int) -> TakenIn:
        """Take in turns in the order of the server, and move the cursor, in one journaled transaction.

        Of a theme that no longer shares its turns, only what was erased is taken in.

        :param upto: the server's sequence up to which these are all there is
        """
        theme_id, shares = self._names.theme(theme), self._shares(theme)
        looked = {row.uid: self._looked(theme, row) for row in rows if shares and not row.erased}
        erased = [uids.to_bytes(row.uid) for row in rows if row.erased]
        with self._db.writing() as conn:
            now = self._journal.now(conn)
            wanted = {said.uid: said for said, _ in looked.values() if said is not None}
            # One that was known and is not here any more was erased here; one of another theme has its uid by an import.
            known = found(conn, "SELECT uid FROM sync_turns WHERE theme_id = ? AND uid IN ({})", theme_id, wanted)
            known |= found(conn, "SELECT uid FROM turns WHERE ? IS NOT NULL AND uid IN ({})", theme_id, wanted)
            new = [(uid, said) for uid, said in wanted.items() if uid not in known]
            whys = {uid: why for uid, (_, why) in looked.items()}
            conn.executemany(NOTE, [(theme_id, uids.to_bytes(row.uid), row.erased, whys.get(row.uid)) for row in rows])
            entries = bring_within(conn, theme_id, new, now)
            if entries:
                self._journal.append(conn, entries, actor=SYNC, at=now)
            gone = held(conn, theme_id, erased)
            self._turns.erase_within(conn, theme_id, gone, SYNC, now)
            conn.execute("UPDATE sync_themes SET turn_seq = ? WHERE theme_id = ?", (upto, theme_id))
        unreached = self._turns.finish([uid for _, uid, _ in gone]) if gone else ()
        return TakenIn(len(new), len(gone), sum(why is not None for why in whys.values()), unreached)

    def left_out(self) -> list[Aside]:
        """Turns of the team that are not kept here, with the reason."""
        kept = self._db.rows(LEFT_OUT)
        return [Aside(theme, uids.to_text(uid), "turn", why) for theme, uid, why in kept]

    def look_again(self) -> int:
        """Let what was left out come once more: a keyring may be open by now, or a policy another; how many themes that is."""
        named = "SELECT DISTINCT theme_id FROM sync_turns WHERE own = 0 AND erased = 0 AND refused IS NOT NULL"
        if not self._db.value(named):
            return 0
        with self._db.writing() as conn:
            count = conn.execute(f"UPDATE sync_themes SET turn_seq = 0 WHERE theme_id IN ({named})").rowcount
            conn.execute("DELETE FROM sync_turns WHERE own = 0 AND erased = 0 AND refused IS NOT NULL")
        return count

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

    def _shares(self, theme: str) -> bool:
        policy = self._policies.for_theme(theme)
        return policy.sync and policy.sync_turns

    def _enrol(self, theme: str) -> None:
        with self._db.writing() as conn:
            theme_id = self._names.theme_for_writing(conn, theme, self._journal.now(conn))
            conn.execute("INSERT OR IGNORE INTO sync_themes (theme_id) VALUES (?)", (theme_id,))
            conn.execute("UPDATE sync_themes SET turns = 1 WHERE theme_id = ?", (theme_id,))
            conn.execute(ENROL, (theme_id,))

    def _looked(self, theme: str, row: TurnRow) -> tuple[SaidTurn | None, str | None]:
        """A turn as it is kept here, or why it is left out; neither for one that is older than turns are kept here.

        Not inside a transaction: a keyring may take its time.
        """
        days = self._policies.for_theme(theme).turn_days
        try:
            said = checked_turn(SaidTurn(uids.to_bytes(row.uid), row.session, row.role, row.content, moment(row.at)))
            if days and said.at < self._clock() - days * DAY_MS:
                return None, None
            return replace(said, content=self._screen().turn(theme, said.content)), None
        except errors.StoreError as error:
            return None, error.message
        except (ValueError, TypeError, AttributeError):
            return None, "it is malformed"


def found(conn: sqlite3.Connection, sql: str, theme_id: int, wanted: Collection[bytes]) -> set[bytes]:
    """Those of these uids that a question finds."""
    there: set[bytes] = set()
    for some in chunks(list(wanted), AT_ONCE):
        there.update(uid for (uid,) in conn.execute(sql.format(", ".join("?" * len(some))), (theme_id, *some)))
    return there


def held(conn: sqlite3.Connection, theme_id: int, wanted: Sequence[bytes]) -> list[tuple[int, bytes, str]]:
    """Keys, uids and contents of those of these turns that are here."""
    there: list[tuple[int, bytes, str]] = []
    for some in chunks(list(wanted), AT_ONCE):
        marks = ", ".join("?" * len(some))
        there += conn.execute(
            f"SELECT id, uid, content FROM turns WHERE theme_id = ? AND uid IN ({marks})", (theme_id, *some)
        ).fetchall()
    return there
