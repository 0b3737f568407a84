"""Undo: revert a change by writing its opposite, so that an undo is itself journaled and can be undone.

A change is reverted whole, newest row first. Where somebody has since changed the same thing, the undo is refused
with the change that must be undone first; rows written by relief are left as they are, since they only moved
facts.
"""

from __future__ import annotations

import itertools
import sqlite3
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.memory.reversal import Reversal
from hermes_memory_store.model import PERSON, Actor, UndoResult
from hermes_memory_store.rows.journal import COLUMNS, Journal
from hermes_memory_store.rows.mutation import Mutation
from hermes_memory_store.rows.name_keys import Names

CHANGE = COLUMNS.split(", ").index("change")
"""Place of that column in a row."""

MAX_AT_ONCE = 10_000
"""Changes one undo takes back at most."""

NOT_RECEIVED = " AND actor_id NOT IN (SELECT id FROM actors WHERE kind = 'sync')"
"""What came from other machines is not what somebody here means by their last change; its number still undoes it."""

ROWS_AT_ONCE = 50
"""Rows of the journal that are looked through at once, from its end."""


class Undo:
    """Find the requested changes and revert them, all or none."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def change(self, seq: int, *, actor: Actor = PERSON) -> UndoResult:
        """Revert the change to which that row belongs. Undoing an undo is redo.

        :raises UnknownChange: NothingToUndo, UndoConflict; nothing was changed then
        """
        return self._take_back([self._journal.get(seq).change], actor)

    def last(
        self, count: int = 1, *, theme: str | None = None, actor: Actor = PERSON, leaving: bool = False
    ) -> UndoResult:
        """Revert the newest changes that are neither undos nor already undone, in one theme or in all.

        :param leaving: skip and report what cannot be reverted, instead of refusing all of it
        :raises ArgumentError: UnknownTheme, NothingToUndo, UndoConflict; nothing was changed then
        """
        if not 1 <= count <= MAX_AT_ONCE:
            raise errors.ArgumentError(
                f"the number of changes to undo lies between 1 and {MAX_AT_ONCE}, not {count}", count
            )
        where = NOT_RECEIVED + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        nothing = f"nothing to undo in theme {theme!r}" if theme else "nothing to undo"
        return self._newest(where, count, actor, nothing, leaving=leaving)

    def session(
        self, name: str, *, theme: str | None = None, actor: Actor = PERSON, leaving: bool = False
    ) -> UndoResult:
        """Revert everything a session wrote that is not undone yet.

        :param leaving: skip and report what others have built on since, instead of refusing all of it
        :raises UndoConflict: somebody else has pinned, moved, edited or replaced one of the facts since
        :raises UnknownSession: UnknownTheme, NothingToUndo; nothing was changed then
        """
        key = self._db.value("SELECT id FROM actors WHERE kind = 'session' AND name = ?", (name,))
        if key is None:
            known = self._db.rows("SELECT name FROM actors WHERE kind = 'session' ORDER BY id DESC LIMIT 1000")
            raise errors.UnknownSession(name, [row[0] for row in known])
        where = f" AND actor_id = {key}" + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        nothing = f"session {name!r} wrote nothing that is not undone already"
        return self._newest(where, MAX_AT_ONCE, actor, nothing, leaving=leaving, sparing=True)

    def redo(self, *, theme: str | None = None, actor: Actor = PERSON) -> UndoResult:
        """Revert the newest undo that still holds, provided nothing else was changed since.

        >>> fact = store.facts.write("ops", "V[port]: 5432").fact
        >>> undone = store.undo.last(theme="ops")
        >>> store.facts.by_uids(fact.uid)[fact.uid].tier
        <Tier.WITHDRAWN: 'withdrawn'>
        >>> redone = store.undo.redo(theme="ops")
        >>> store.facts.get(fact.uid).tier
        <Tier.HOT: 'hot'>

        :raises NothingToUndo: UnknownTheme, UndoConflict; nothing was changed then
        """
        where = NOT_RECEIVED + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        sql = f"SELECT change FROM journal WHERE entity IN ('fact', 'scope'){where} ORDER BY seq DESC LIMIT 1"
        newest = self._db.value(sql)
        while newest is not None:
            undoes = self._db.value("SELECT undoes FROM journal WHERE seq = ?", (newest,))
            if undoes is None:
                break
            if not self.is_undone(newest) and not self._is_redo(newest):
                return self._take_back([newest], actor)
            newest = self._db.value(
                f"SELECT change FROM journal WHERE seq < ? AND entity IN ('fact', 'scope'){where} ORDER BY seq DESC LIMIT 1",
                (newest,),
            )
        raise errors.NothingToUndo("nothing to redo: the newest change is not an undo")

    def is_undone(self, change: int) -> bool:
        """Check whether a change has been undone, and that undo not undone in turn."""
        newest = self._db.value("SELECT max(change) FROM journal WHERE undoes = ?", (change,))
        return newest is not None and not self.is_undone(newest)

    def _is_redo(self, change: int) -> bool:
        undoes = self._db.value("SELECT undoes FROM journal WHERE seq = ?", (change,))
        return self._db.value("SELECT undoes FROM journal WHERE seq = ?", (undoes,)) is not None

    def _newest(
        self, where: str, count: int, actor: Actor, nothing: str, *, leaving: bool = False, sparing: bool = False
    ) -> UndoResult:
        wanted: dict[int, None] = {}
        start = self._journal.last_seq() + 1
        while len(wanted) < count:
            sql = (
                "SELECT seq, change FROM journal WHERE seq < ? AND undoes IS NULL AND entity IN ('fact', 'scope')"
                f" AND op <> 'purge'{where} ORDER BY seq DESC LIMIT {ROWS_AT_ONCE}"
            )
            rows = self._db.rows(sql, (start,))
            if not rows:
                break
            for change in dict.fromkeys(row[1] for row in rows):
                if change not in wanted and len(wanted) < count and not self.is_undone(change):
                    wanted[change] = None
            start = rows[-1][0]
        if not wanted:
            raise errors.NothingToUndo(nothing)
        return self._take_back(list(wanted), actor, leaving=leaving, sparing=sparing)

    @retry_without_index
    def _take_back(
        self, changes: list[int], actor: Actor, *, leaving: bool = False, sparing: bool = False
    ) -> UndoResult:
        parts: list[UndoResult] = []
        refused: list[errors.Conflict] = []
        with self._db.write_transaction() as conn:
            newest = self._journal.last_seq()
            for first in changes:
                try:
                    with self._db.savepoint(conn):
                        parts.append(self._take_one_back(conn, first, actor, newest, sparing))
                except (errors.UndoConflict, errors.NothingToUndo) as conflict:
                    if not leaving:
                        raise
                    refused.append(conflict)
            if refused and not parts:
                raise refused[0]
        return UndoResult(
            tuple(seq for part in parts for seq in part.undone),
            tuple(seq for part in parts for seq in part.seqs),
            tuple(dict.fromkeys(uid for part in parts for uid in part.uids)),
            tuple(conflict.message for conflict in refused),
        )

    def _take_one_back(
        self, conn: sqlite3.Connection, first: int, actor: Actor, newest: int, sparing: bool = False
    ) -> UndoResult:
        """Revert one change.

        :param newest: the journal's last row before any of this
        :param sparing: refuse whatever a person or a teammate has touched since, even in another column
        """
        if self.is_undone(first):
            raise errors.NothingToUndo(f"change {first} is undone already; undo its undo to have it again", first)
        rows = load_change_rows(conn, first)
        mutation = Mutation(conn, self._names, self._journal, actor)
        reversal = Reversal(mutation, first, newest, self.is_undone, sparing=sparing)
        undone = [row for row in map(self._journal.change, rows) if reversal.reverse(row)]
        reversal.finish()
        if not mutation.entries:
            raise errors.NothingToUndo(f"change {first} ({rows[-1][4]}) cannot be undone", first)
        seqs = mutation.record(undoes=first)
        touched = dict.fromkeys(uids.format_uid(uids.parse_uid(row.uid)) for row in undone)
        return UndoResult(tuple(row.seq for row in undone), seqs, tuple(touched))


def load_change_rows(conn: sqlite3.Connection, first: int) -> list[tuple[Any, ...]]:
    """Load the journal's rows of one change, newest first. They are consecutive, from the change's number on."""
    rows = conn.execute(f"SELECT {COLUMNS} FROM journal WHERE seq >= ? ORDER BY seq", (first,))
    return list(itertools.takewhile(lambda row: row[CHANGE] == first, rows))[::-1]
