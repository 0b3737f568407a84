"""Undo: take a change back by writing the opposite change, so that an undo is itself journaled and can be undone.

A change is taken back whole, newest row first. Where somebody has since changed the same thing, it is refused with the
change that must be undone first; rows written by relief are then left as they are, since they only moved facts about.
"""

from __future__ import annotations

import itertools
import sqlite3
from typing import Any

from hermes_memory_store import errors, uids
from hermes_memory_store.db import Db
from hermes_memory_store.journal import COLUMNS, Journal
from hermes_memory_store.model import PERSON, RELIEF, STANDING_TIERS, Actor, Change, ScopeStatus, Tier, Undone
from hermes_memory_store.names import Names
from hermes_memory_store.records import Mutation, portable, standing_fact
from hermes_memory_store.text_indexes import again_without_index

CHANGE = COLUMNS.split(", ").index("change")
"""Place of that column in a row."""

UNDOABLE = frozenset({"fact", "scope"})
"""Entities that undo restores. A session's coming and going is a fact of life."""

MAX_AT_ONCE = 10_000
"""Changes one undo takes back at most."""

NOT_RECEIVED = " AND actor_id NOT IN (SELECT id FROM actors WHERE kind = 'sync')"
"""What came from other machines is not what somebody here means by their last change; its number still undoes it."""

ROWS_AT_ONCE = 50
"""Rows of the journal that are looked through at once, from its end."""


class Undo:
    """Finds the changes that are meant and takes them back, all or none."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal

    def change(self, seq: int, *, actor: Actor = PERSON) -> Undone:
        """Take back the change that row belongs to. Undoing an undo is redo."""
        return self._take_back([self._journal.one(seq).change], actor)

    def last(self, count: int = 1, *, theme: str | None = None, actor: Actor = PERSON) -> Undone:
        """Take back the newest changes that are neither undos nor already undone, in one theme or in all."""
        if not 1 <= count <= MAX_AT_ONCE:
            raise errors.ArgumentError(
                f"the number of changes to undo lies between 1 and {MAX_AT_ONCE}, not {count}", count
            )
        where = NOT_RECEIVED + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        return self._newest(where, count, actor, f"nothing to undo in theme {theme!r}" if theme else "nothing to undo")

    def session(self, name: str, *, theme: str | None = None, actor: Actor = PERSON, leaving: bool = False) -> Undone:
        """Take back everything a session wrote that is not undone yet.

        :param leaving: leave, and name, what somebody else has built on since, instead of refusing all of it
        """
        key = self._db.value("SELECT id FROM actors WHERE kind = 'session' AND name = ?", (name,))
        if key is None:
            known = self._db.rows("SELECT name FROM actors WHERE kind = 'session' ORDER BY id DESC LIMIT 1000")
            raise errors.UnknownSession(name, [row[0] for row in known])
        where = f" AND actor_id = {key}" + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        nothing = f"session {name!r} wrote nothing that is not undone already"
        return self._newest(where, MAX_AT_ONCE, actor, nothing, leaving=leaving)

    def redo(self, *, theme: str | None = None, actor: Actor = PERSON) -> Undone:
        """Take back the newest undo that still holds, provided nothing else was changed since."""
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
        """Whether a change has been taken back, and the taking back not been undone in turn."""
        newest = self._db.value("SELECT max(change) FROM journal WHERE undoes = ?", (change,))
        return newest is not None and not self.is_undone(newest)

    def _is_redo(self, change: int) -> bool:
        undoes = self._db.value("SELECT undoes FROM journal WHERE seq = ?", (change,))
        return self._db.value("SELECT undoes FROM journal WHERE seq = ?", (undoes,)) is not None

    def _newest(self, where: str, count: int, actor: Actor, nothing: str, *, leaving: bool = False) -> Undone:
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
        return self._take_back(list(wanted), actor, leaving=leaving)

    @again_without_index
    def _take_back(self, changes: list[int], actor: Actor, *, leaving: bool = False) -> Undone:
        parts: list[Undone] = []
        refused: list[errors.UndoConflict] = []
        with self._db.writing() as conn:
            newest = self._journal.last_seq()
            for first in changes:
                try:
                    with self._db.apart(conn):
                        parts.append(self._take_one_back(conn, first, actor, newest))
                except errors.UndoConflict as conflict:
                    if not leaving:
                        raise
                    refused.append(conflict)
            if refused and not parts:
                raise refused[0]
        return Undone(
            tuple(seq for part in parts for seq in part.undone),
            tuple(seq for part in parts for seq in part.seqs),
            tuple(dict.fromkeys(uid for part in parts for uid in part.uids)),
            tuple(conflict.message for conflict in refused),
        )

    def _take_one_back(self, conn: sqlite3.Connection, first: int, actor: Actor, newest: int) -> Undone:
        """Take one change back. :param newest: the journal's last row before any of this"""
        if self.is_undone(first):
            raise errors.NothingToUndo(f"change {first} is undone already; undo its undo to have it again", first)
        rows = rows_of_change(conn, first)
        mutation = Mutation(conn, self._names, self._journal, actor)
        undone: list[int] = []
        touched: dict[str, None] = {}
        for row in map(self._journal.change, rows):
            if row.entity in UNDOABLE and self._reverse(mutation, row, newest):
                undone.append(row.seq)
                touched[row.uid] = None
        if not mutation.entries:
            raise errors.NothingToUndo(f"change {first} ({rows[-1][4]}) cannot be undone", first)
        seqs = mutation.record(undoes=first)
        return Undone(tuple(undone), seqs, tuple(uids.to_text(uids.to_bytes(uid)) for uid in touched))

    def _reverse(self, mutation: Mutation, row: Change, newest: int) -> bool:
        if row.after is None and row.before is None:
            raise errors.UndoConflict(f"change {row.seq} was erased by a purge and cannot be undone", row.seq)
        if row.entity == "fact":
            return self._reverse_fact(mutation, row, newest)
        return self._reverse_scope(mutation, row, newest)

    def _reverse_fact(self, mutation: Mutation, row: Change, newest: int) -> bool:
        stored = mutation.fact_row(uids.to_bytes(row.uid))
        if stored is None:
            raise errors.UndoConflict(f"fact {row.uid} was purged; change {row.seq} cannot be undone", row.uid)
        expected = row.after or {}
        stands = {name: portable(getattr(stored, name)) for name in expected if name in stored._fields}
        stands["scope"] = (
            mutation.conn.execute("SELECT label FROM scopes WHERE id = ?", (stored.scope_id,)).fetchone()[0] or None
        )
        if row.before is None:
            expected = {"tier": expected["tier"], "content": expected["content"]}
        differs = [name for name in expected if name != "updated_at" and stands[name] != expected[name]]
        if differs:
            if row.actor == RELIEF:
                return False
            raise self._conflict(row, differs, newest)
        patch: dict[str, Any] = {"tier": Tier.WITHDRAWN.value} if row.before is None else dict(row.before)
        self._refuse_second(mutation, stored, patch, row)
        mutation.update_fact(stored, "undo", keep_time=True, **mutation.columns_of(stored.theme_id, patch))
        return True

    def _refuse_second(self, mutation: Mutation, stored: Any, patch: dict[str, Any], row: Change) -> None:
        """A fact may only come back to a place that no other fact has taken."""
        tier = patch.get("tier", stored.tier)
        if tier not in STANDING_TIERS:
            return
        standing = standing_fact(mutation.conn, stored.scope_id, stored.type, stored.target, besides=stored.uid)
        if standing is not None:
            raise errors.UndoConflict(
                f"change {row.seq} cannot be undone: fact {uids.to_text(standing.uid)} stands in its place by now",
                row.seq,
            )

    def _reverse_scope(self, mutation: Mutation, row: Change, newest: int) -> bool:
        columns = mutation.conn.execute(
            "SELECT id, label, status, opened_at, closed_at, closed_by FROM scopes WHERE uid = ?",
            (uids.to_bytes(row.uid),),
        ).fetchone()
        stands = dict(zip(("id", "label", "status", "opened_at", "closed_at", "closed_by"), columns, strict=True))
        if row.before is None:
            used = mutation.conn.execute(
                "SELECT sum(facts) FROM tallies WHERE scope_id = ? AND tier <> 'withdrawn'", (stands["id"],)
            ).fetchone()[0]
            if used or stands["status"] == ScopeStatus.WITHDRAWN:
                return False
            mutation.update_scope(stands["id"], "undo", status=ScopeStatus.WITHDRAWN)
            return True
        differs = [name for name, value in (row.after or {}).items() if stands[name] != value]
        if differs:
            if row.actor == RELIEF:
                return False
            raise self._conflict(row, differs, newest)
        self._refuse_taken(mutation, stands, row)
        mutation.update_scope(stands["id"], "undo", **row.before)
        return True

    def _refuse_taken(self, mutation: Mutation, stands: dict[str, Any], row: Change) -> None:
        """A scope may only get a former label back that no other scope has taken."""
        label = (row.before or {}).get("label", stands["label"])
        taken = "SELECT 1 FROM scopes WHERE theme_id = (SELECT theme_id FROM scopes WHERE id = ?1) AND label = ?2 AND id <> ?1"
        if mutation.conn.execute(taken, (stands["id"], label)).fetchone():
            raise errors.UndoConflict(
                f"change {row.seq} cannot be undone: another scope is named {label!r} by now", row.seq
            )

    def _conflict(self, row: Change, differs: list[str], newest: int) -> errors.UndoConflict:
        """Names the newest change that stands in the way, never a row of this very undo, which will not be."""
        sql = "SELECT DISTINCT change FROM journal WHERE uid = ? AND seq > ? AND seq <= ? ORDER BY change DESC"
        found = [one[0] for one in self._db.rows(sql, (uids.to_bytes(row.uid), row.seq, newest))]
        later = next((change for change in found if not self.is_undone(change)), found[0] if found else None)
        return errors.UndoConflict(
            f"change {row.seq} was followed by change {later} of the same {row.entity} ({', '.join(differs)}); "
            f"undo {later} first",
            row.seq,
        )


def rows_of_change(conn: sqlite3.Connection, first: int) -> list[tuple[Any, ...]]:
    """The journal's rows of one change, newest first. They stand one after the other, from the change's number on."""
    rows = conn.execute(f"SELECT {COLUMNS} FROM journal WHERE seq >= ? ORDER BY seq", (first,))
    return list(itertools.takewhile(lambda row: row[CHANGE] == first, rows))[::-1]
