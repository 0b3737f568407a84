"""Undo: revert a change by writing its opposite, so that an undo is itself journaled and can be undone.

A change is reverted whole, newest row first. Where somebody has since changed the same thing, the undo is refused
with the change that must be undone first. What relief moved, what a purge erased, and a scope that others use by now
are left as they are, with the reason. A scope that nothing opened any more goes with the last fact in it.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.database.index_health import retry_without_index
from hermes_memory_store.host_files.file_changes import PendingFiles
from hermes_memory_store.items.journal import COLUMNS, Journal, is_change_undone
from hermes_memory_store.items.mutation import Mutation
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.items.session_names import find_session_name
from hermes_memory_store.memory.reversal import UNDOABLE, Reversal, is_erased, merge_rows
from hermes_memory_store.model import PERSON, RELIEF, Actor, Change, Tier, UndoResult

CHANGE = COLUMNS.split(", ").index("change")

UNDONE = ", ".join(f"'{entity}'" for entity in sorted(UNDOABLE))

MAX_AT_ONCE = 10_000

MOST_TRIED = 2_000
"""Changes that one undo tries to find out whether others can still be undone after it."""

CONFLICTS_SHOWN = 5

NOT_RECEIVED = " AND actor_id NOT IN (SELECT id FROM actors WHERE kind = 'sync')"
"""What came from other machines is not what somebody here means by their last change; its number still undoes it."""

NAMESAKES = """
    SELECT other.uid FROM facts one JOIN facts other ON other.theme_id = one.theme_id AND other.type = one.type
      AND other.target = one.target
    WHERE one.uid = ?
"""

CHANGES_OF = """
    SELECT DISTINCT change FROM journal
    WHERE uid = ? AND entity IN ('fact', 'scope') AND undoes IS NULL AND op <> 'purge'
      AND actor_id NOT IN (SELECT id FROM actors WHERE kind = 'relief')
"""

ROWS_AT_ONCE = 50


class PreviewRollback(Exception):
    """Raised to roll back what was only previewed."""


class Undo:
    """Find the requested changes and revert them, all or none."""

    def __init__(self, db: Db, names: Names, journal: Journal) -> None:
        self._db = db
        self._names = names
        self._journal = journal
        self._tried = 0
        self._files = PendingFiles()
        self._is_preview = False

    def change(self, seq: int, *, actor: Actor = PERSON, unwritten: Path | None = None) -> UndoResult:
        """Revert the change to which that row belongs. Undoing an undo is redo.

        :param unwritten: a file that the change never reached: it is left alone
        :raises UnknownChange: NothingToUndo, UndoConflict; nothing was changed then
        """
        return self._take_back([self._journal.get(seq).change], actor, unwritten=unwritten)

    def changes(self, changes: Iterable[int], *, leaving: bool = False) -> UndoResult:
        """Revert these changes, newest first, all or none.

        :param leaving: skip and report what cannot be reverted, instead of refusing all of it
        :raises NothingToUndo: UndoConflict; nothing was changed then
        """
        return self._take_back(sorted(set(changes), reverse=True), PERSON, leaving=leaving)

    def last(
        self, count: int = 1, *, theme: str | None = None, actor: Actor = PERSON, leaving: bool = False
    ) -> UndoResult:
        """Revert the newest changes that are neither undos nor already undone, in one theme or in all.

        :param leaving: skip and report what cannot be reverted, instead of refusing all of it
        :raises ArgumentError: UnknownTheme, NothingToUndo, UndoConflict; nothing was changed then
        """
        if not 1 <= count <= MAX_AT_ONCE:
            message = f"the number of changes to undo lies between 1 and {MAX_AT_ONCE}, not {count}"
            raise errors.ArgumentError(message, count)
        where = NOT_RECEIVED + ("" if theme is None else f" AND theme_id = {self._names.theme(theme)}")
        nothing = f"nothing to undo in theme {theme!r}" if theme else "nothing to undo"
        return self._newest(where, count, actor, nothing, leaving=leaving)

    def session(
        self, name: str, *, theme: str | None = None, actor: Actor = PERSON, leaving: bool = False
    ) -> UndoResult:
        """Revert everything a session wrote that is not undone yet.

        :param leaving: skip and report what others have built on since, instead of refusing all of it
        :raises UndoConflict: somebody else has pinned, moved, edited or replaced one of the facts since
        :param name: what `Sessions.find` takes
        :raises UnknownSession: AmbiguousSession, UnknownTheme, NothingToUndo; nothing was changed then
        """
        key_of_actor = "SELECT id FROM actors WHERE kind = 'session' AND name = ?"
        key = self._db.value(key_of_actor, (name,))
        if key is None:
            theme_id = None if theme is None else self._names.theme(theme)
            name = find_session_name(self._db, theme_id, name).name
            key = self._db.value(key_of_actor, (name,)) or 0
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
        sql = f"SELECT change FROM journal WHERE seq < ? AND entity IN ({UNDONE}){where} ORDER BY seq DESC LIMIT 1"
        newest = self._journal.last_seq() + 1
        while (newest := self._db.value(sql, (newest,))) is not None:
            if self._db.value("SELECT undoes FROM journal WHERE seq = ?", (newest,)) is None:
                break
            if not self.is_undone(newest) and not self._is_redo(newest):
                return self._take_back([newest], actor)
        raise errors.NothingToUndo("nothing to redo: the newest change is not an undo")

    def preview(self, undo: Callable[[], UndoResult]) -> UndoResult:
        """Return what an undo would do and leave out, without changing anything.

        >>> fact = store.facts.write("ops", "V[port]: 5432").fact
        >>> found = store.undo.preview(lambda: store.undo.last(theme="ops"))
        >>> found.uids == (fact.uid,), found.left, store.facts.get(fact.uid).tier
        (True, (), <Tier.HOT: 'hot'>)

        :param undo: calls a method of this object
        :raises NothingToUndo: UndoConflict, as that call
        """
        results: list[UndoResult] = []
        was_preview, self._is_preview = self._is_preview, True
        try:
            with self._db.write_transaction():
                results.append(undo())
                raise PreviewRollback
        except PreviewRollback:
            return results[0]
        finally:
            self._is_preview = was_preview

    def is_undone(self, change: int) -> bool:
        """Check whether a change has been undone, and that undo not undone in turn."""
        return is_change_undone(self._db.conn, change)

    def _is_redo(self, change: int) -> bool:
        undoes = self._db.value("SELECT undoes FROM journal WHERE seq = ?", (change,))
        return self._db.value("SELECT undoes FROM journal WHERE seq = ?", (undoes,)) is not None

    def _newest(
        self, where: str, count: int, actor: Actor, nothing: str, *, leaving: bool = False, sparing: bool = False
    ) -> UndoResult:
        undoable: list[int] = []
        spent: list[int] = []
        for change in self.effective_changes(where):
            (spent if self.is_spent(change) else undoable).append(change)
            if len(undoable) == count:
                break
        if not undoable:
            raise errors.NothingToUndo(nothing)
        done = self._take_back(undoable, actor, leaving=leaving, sparing=sparing)
        erased = tuple(f"change {change} was erased by a purge and cannot be undone" for change in spent)
        return replace(done, left=done.left + erased)

    def effective_changes(self, where: str = "") -> Iterator[int]:
        """Yield the changes that are neither undos, nor undone, nor purges, newest first.

        :param where: SQL on the rows of the journal, beginning with AND: a change is found by any of its rows
        """
        sql = (
            f"SELECT seq, change FROM journal WHERE seq < ? AND undoes IS NULL AND entity IN ({UNDONE})"
            f" AND op <> 'purge'{where} ORDER BY seq DESC LIMIT {ROWS_AT_ONCE}"
        )
        start, last = self._journal.last_seq() + 1, 0
        while rows := self._db.rows(sql, (start,)):
            for _, change in rows:
                # What is left of a purge is that a scope went with its last fact.
                if change != last and not self.is_undone(change) and self._journal.get(change).op != "purge":
                    yield change
                last = change
            start = rows[-1][0]

    def is_spent(self, change: int) -> bool:
        """Check whether a purge left nothing of a change to undo."""
        return find_erased_part(self._load_rows(self._db.conn, change)) is not None

    def _load_rows(self, conn: sqlite3.Connection, first: int) -> list[Change]:
        """Load the rows of one change, newest first. They are consecutive, from the change's number on."""
        rows = conn.execute(f"SELECT {COLUMNS} FROM journal WHERE seq >= ? ORDER BY seq", (first,))
        return [*map(self._journal.change, itertools.takewhile(lambda row: row[CHANGE] == first, rows))][::-1]

    @retry_without_index
    def _take_back(
        self,
        changes: list[int],
        actor: Actor,
        *,
        leaving: bool = False,
        sparing: bool = False,
        unwritten: Path | None = None,
    ) -> UndoResult:
        parts: list[UndoResult] = []
        refused: list[errors.Conflict] = []
        self._tried = 0
        self._files = PendingFiles(unwritten)
        files: tuple[Path, ...] = ()
        with self._db.write_transaction() as conn:
            newest = self._journal.last_seq()
            for first in changes:
                try:
                    with self._step(conn):
                        parts.append(self._take_one_back(conn, first, actor, newest, sparing))
                except (errors.UndoConflict, errors.NothingToUndo) as conflict:
                    refused.append(conflict)
            if refused and (not leaving or not parts):
                raise combine_conflicts(refused)
            if (
                not self._is_preview
            ):  # before the facts are gone: whatever ends this process, each text stands somewhere
                files = self._files.write()
        reasons = [reason for part in parts for reason in part.left] + [refusal.message for refusal in refused]
        return UndoResult(
            tuple(seq for part in parts for seq in part.undone),
            tuple(seq for part in parts for seq in part.seqs),
            tuple(dict.fromkeys(uid for part in parts for uid in part.uids)),
            tuple(dict.fromkeys(reasons)),
            files,
        )

    @contextmanager
    def _step(self, conn: sqlite3.Connection) -> Iterator[None]:
        with self._files.kept_on_success(), self._db.savepoint(conn):
            yield

    def _take_one_back(
        self, conn: sqlite3.Connection, first: int, actor: Actor, newest: int, sparing: bool
    ) -> UndoResult:
        """Revert one change, unless others that can be undone now could then never be undone.

        Whatever holds can therefore be undone in the order of `_unwind`, and no order of undos comes to a dead end.

        :raises UndoConflict: NothingToUndo
        """
        with suppress(PreviewRollback), self._step(conn):
            done = self._revert(conn, first, actor, newest, sparing)
            if is_newest_change(conn, first) or self._journal.get(newest).change == first:
                return done  # the last of all, be it an undo: all is as before it
            related = self._load_related_changes(conn, done.uids)
            if max(related, default=0) < first and self._journal.get(first).undoes is None:
                return done  # it was the newest of them: all is as before it
            self._limit_tries(first)
            _, stuck = self._unwind(conn, related)
            if not stuck:
                return done
            raise PreviewRollback
        # A redo relates more: judge the same changes.
        holding = {*related, *self._load_related_changes(conn, done.uids)}
        effective = sorted((number for number in holding if not self.is_undone(number)), reverse=True)
        order, stuck_anyway = self._unwind(conn, effective)
        worse = [change for change in stuck if change not in stuck_anyway and change != first]
        if worse and order:
            raise errors.UndoConflict(
                f"change {first} cannot be undone: change {worse[0]} could then no longer be undone, for each would be in "
                f"the way of the other; undo {order[0]} first",
                first,
            )
        return self._revert(conn, first, actor, newest, sparing)

    def _revert(
        self, conn: sqlite3.Connection, first: int, actor: Actor, newest: int, sparing: bool = False
    ) -> UndoResult:
        """Revert one change.

        :param newest: the journal's last row before any of this
        :param sparing: refuse whatever a person or a teammate has touched since, even in another column
        """
        if self.is_undone(first):
            raise errors.NothingToUndo(f"change {first} is undone already; undo its undo to have it again", first)
        rows = self._load_rows(conn, first)
        refuse_purged(rows)
        mutation = Mutation(conn, self._names, self._journal, actor)
        withdrawn = {row.uid for row in rows if (row.after or {}).get("tier") == Tier.WITHDRAWN}
        reversal = Reversal(mutation, first, newest, withdrawn, self._files, sparing=sparing)
        undone = reverse_rows(reversal, merge_rows(rows))
        if not mutation.entries:
            reasons = "; ".join(reversal.left)
            message = f"change {first} ({rows[-1].op}) cannot be undone" + (f": {reasons}" if reasons else "")
            raise errors.NothingToUndo(message, first)
        seqs = mutation.record(undoes=first)
        touched = dict.fromkeys(row.uid for row, _ in undone)
        reverted = sorted((seq for _, numbers in undone for seq in numbers), reverse=True)
        return UndoResult(tuple(reverted), seqs, tuple(touched), tuple(reversal.left))

    def _unwind(self, conn: sqlite3.Connection, changes: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the order in which changes can be undone, and those that cannot. Nothing is changed.

        Each time it is the newest that can be: once the first is undone, the others follow in the same order.

        :param changes: newest first
        """
        order: list[int] = []
        stuck = list(changes)
        with suppress(PreviewRollback), self._step(conn):
            while (
                change := next((candidate for candidate in stuck if self._can_revert(conn, candidate)), None)
            ) is not None:
                order.append(change)
                stuck.remove(change)
            raise PreviewRollback
        return order, stuck

    def _can_revert(self, conn: sqlite3.Connection, change: int) -> bool:
        """Revert a change; return whether nothing is in the way. :raises UndoConflict: too many were tried"""
        self._tried += 1
        self._limit_tries(change)
        try:
            with self._step(conn):
                self._revert(conn, change, PERSON, self._journal.last_seq())
        except errors.UndoConflict:
            return False
        except errors.NothingToUndo:
            pass  # nothing of it is left
        return True

    def _limit_tries(self, change: int) -> None:
        if self._tried > MOST_TRIED:
            raise errors.UndoConflict(
                f"change {change} has too many changes beside it to find an order of their undos; undo the newest first",
                change,
            )

    def _load_related_changes(self, conn: sqlite3.Connection, touched: Collection[str]) -> list[int]:
        """Load the changes that hold of some facts and scopes, of the facts that could stand in their places, and so on.

        Newest first. What relief did relates nothing: it is never in the way.
        """
        things = [uids.parse_uid(uid) for uid in touched]
        seen, changes = set(things), dict[int, bool]()
        while things:
            thing = things.pop()
            more = {uid for (uid,) in conn.execute(NAMESAKES, (thing,))}
            for (change,) in conn.execute(CHANGES_OF, (thing,)).fetchall():
                if change not in changes:
                    changes[change] = not self.is_undone(change)
                    if changes[change]:
                        rows = self._load_rows(conn, change)
                        more |= {uids.parse_uid(row.uid) for row in rows if row.actor != RELIEF}
            things += more - seen
            seen |= more
        return sorted((change for change, holds in changes.items() if holds), reverse=True)


def reverse_rows(reversal: Reversal, merged: list[tuple[Change, list[int]]]) -> list[tuple[Change, list[int]]]:
    """Revert the merged rows of one change, newest first; return those that were reverted.

    What is in the way of one thing may be another of the same change: it is tried again once that is back. A scope that
    the change opened goes last, when its facts have left it.

    :raises UndoConflict: something else is in the way
    """
    undone: list[tuple[Change, list[int]]] = []
    pending = sorted(merged, key=lambda merged_row: merged_row[0].entity == "scope" and merged_row[0].before is None)
    while pending:
        refused: list[tuple[Change, list[int]]] = []
        conflict: errors.UndoConflict | None = None
        for row, numbers in pending:
            try:
                if reversal.reverse(row):
                    undone.append((row, numbers))
            except errors.UndoConflict as error:
                conflict = conflict or error
                refused.append((row, numbers))
        if conflict is not None and len(refused) == len(pending):
            raise conflict
        pending = refused
    return undone


def refuse_purged(rows: Sequence[Change]) -> None:
    """Refuse a purge, and a change of which a purge erased one fact and left others that belong together with it."""
    first = rows[-1]
    if first.op == "purge" and first.entity == "fact":
        raise errors.UndoConflict(
            f"change {first.change} is a purge, which cannot be undone: what it erased is nowhere any more", first.seq
        )
    erased = find_erased_part(rows)
    if erased is not None:
        message = f"change {erased.seq} of fact {erased.uid} was erased by a purge and cannot be undone"
        raise errors.UndoConflict(message, erased.seq)


def find_erased_part(rows: Sequence[Change]) -> Change | None:
    """Find a fact that a purge erased; None where it erased all facts, and the change did something else that remains."""
    facts = [row for row in rows if row.entity == "fact"]
    erased = [row for row in facts if is_erased(row)]
    return erased[0] if erased and (len(erased) < len(facts) or len(facts) == len(rows)) else None


def combine_conflicts(refused: Sequence[errors.Conflict]) -> errors.Conflict:
    first, *more_conflicts = refused
    if not more_conflicts:
        return first
    shown = "; ".join(conflict.message for conflict in refused[:CONFLICTS_SHOWN])
    more = f"; and {len(refused) - CONFLICTS_SHOWN} more" if len(refused) > CONFLICTS_SHOWN else ""
    return type(first)(f"{len(refused)} changes are in the way: {shown}{more}", first.value)


def is_newest_change(conn: sqlite3.Connection, first: int) -> bool:
    """Check whether a change is no undo, and nothing but undos came after it: then no change can stand on it.

    What is related to it need not be looked up then: an import of 50,000 facts relates all of them.
    """
    sql = (
        "SELECT undoes, change FROM journal WHERE seq >= ? AND (change = ? OR undoes IS NULL) ORDER BY seq DESC LIMIT 1"
    )
    newest = conn.execute(sql, (first, first)).fetchone()
    return newest is not None and tuple(newest) == (None, first)
