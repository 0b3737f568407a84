"""The store as of any past moment, in a temporary file.

It is made by replaying the journal up to then, or, when that is shorter, by reverting what came after. It can be
read with everything that reads a store, and its clock stands still at that moment. What the journal does not hold
is missing: how often facts had been read, and what has been purged since.

A time cursor is one connection to such a copy with one transaction that is never committed. Every way back sets savepoints on
it, closer together the nearer they are to where it ends: a step forward rolls back to the first savepoint beyond, and reverts
the few rows between. So search indexes, captured text and context records are exactly as they were.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from hermes_memory_store import errors
from hermes_memory_store.clock import Clock
from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal import rewind, transaction_log
from hermes_memory_store.journal.record_applier import PLAIN_ENTITIES
from hermes_memory_store.model import HOLD_OPERATION, Millis
from hermes_memory_store.store import Store


class PastStore(Store):
    """A store that is deleted when it is closed."""

    def reader(self, *, noting: bool = True) -> Store:  # type: ignore[override]  # closing a second connection must not remove the file
        """Open a second, read-only connection for another thread."""
        return Store(Db(self.path, read_only=True), self.clock, self.policies)

    def close(self) -> None:
        """Close the file and remove it."""
        try:
            super().close()
        finally:
            shutil.rmtree(self.path.parent, ignore_errors=True)


def open_copy(store: Store, path: Path, clock: Clock, *, is_whole: bool) -> Store:
    """Open a temporary copy of a whole store, or an empty one. Nobody needs the file after a crash."""
    if is_whole:
        rewind.copy_unverified(store.path, path)
    made = Store.open(path, force=True, clock=clock, policies=store.policies)
    made.db.conn.execute("PRAGMA synchronous = OFF")
    if is_whole:
        made.rules_files.disown()
    return made


def open_store_at(store: Store, moment: int, *, progress: Progress | None = None) -> PastStore:
    """Open the store as it stood at the end of that millisecond, for reading only. Close it to delete it.

    :param moment: UTC milliseconds; before the first change the store is empty
    :param progress: called with the journal rows processed so far and the total
    :raises FileError: DiskFull without room for the temporary copy, JournalBroken when the journal was altered
    """
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-past-"))
    path, clock = folder / "memory.db", lambda: Millis(moment)
    last, newest = rewind.last_change_before(store, moment), store.journal.last_seq()
    rewound = rewind.is_rewind_shorter(last, newest)
    try:
        with open_copy(store, path, clock, is_whole=rewound) as made:
            if rewound:
                rewind.rewind(made, moment, last, progress=progress)
            else:
                transaction_log.replay_records(
                    made, load_records(store.db, until=moment), progress=progress, total=last
                )
        return PastStore.open(path, read_only=True, force=True, clock=clock, policies=store.policies)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


NEAR_ROWS = 2_000
"""Rows after the moment that a copy made by a replay holds, so that steps forward find something."""

STEP_LIST = ", ".join(f"'{entity}'" for entity in ("fact", "scope", *PLAIN_ENTITIES))
"""What a step goes by: what is remembered. Sessions and captured turns come along."""

CHANGE_BEFORE = f"""
    SELECT change FROM journal WHERE seq <= ? AND entity IN ({STEP_LIST}) ORDER BY seq DESC LIMIT 1
"""

CHANGE_AFTER = f"""
    SELECT change FROM journal WHERE seq > ? AND entity IN ({STEP_LIST}) ORDER BY seq LIMIT 1
"""

NEXT_CHANGE = "SELECT seq FROM journal WHERE seq > ? AND change <> ? ORDER BY seq LIMIT 1"
"""The rows of a change stand one after the other."""

PURGED_SINCE = """
    SELECT t.theme_id, count(*) FROM tombstones t
    WHERE (SELECT op FROM journal j WHERE j.uid = t.uid AND j.seq <= ? ORDER BY j.seq DESC LIMIT 1) NOT IN ('purge', ?)
    GROUP BY t.theme_id
"""

HEARD_LATER = "UPDATE sessions SET heartbeat_at = ? WHERE heartbeat_at > ? AND ended_at IS NULL"
"""Who was heard after the moment and had not ended was there at the moment."""

OWN_STATE = ("DELETE FROM sync_themes", "DELETE FROM reads", "DELETE FROM fact_uses")
"""What says something of the present alone."""


class BeyondCopy(Exception):
    """The copy was made by a replay and does not reach that far; make another one."""


class TimeCursor:
    """A store that stands at a moment, and can be moved. Threads may share it; a move waits for what is being read."""

    def __init__(self, store: Store, newest: int, folder: Path) -> None:
        self.seq = newest
        """The last row of the journal that has happened."""
        self.newest = newest
        """The last row that the copy reaches."""
        self.moment = Millis(0)
        """UTC milliseconds of the store's clock."""
        self._store = store
        self._folder = folder
        self._marks: list[tuple[int, Millis]] = []
        self._is_closed = False

    @classmethod
    def open(
        cls, present: Store, seq: int, moment: Millis | None = None, *, progress: Progress | None = None
    ) -> TimeCursor:
        """Copy a store, and go to the moment after row `seq` of its journal; 0 is before the first change.

        :param moment: what the clock says there; the time of the row when None
        :param progress: called with the rows processed and their number; may raise to give up
        :raises FileError: DiskFull without room for the copy, JournalBroken when the journal was altered
        """
        folder = Path(tempfile.mkdtemp(prefix="hermes-memory-past-"))
        path, newest = folder / "memory.db", present.journal.last_seq()
        with ExitStack() as cleanup:
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            copied = newest <= rewind.LONG_JOURNAL or rewind.is_rewind_shorter(seq, newest)
            made = open_copy(present, path, present.clock, is_whole=copied)
            cleanup.callback(made.close)
            if not copied:
                near = min(newest, seq + NEAR_ROWS)
                until = present.db.value("SELECT at FROM journal WHERE seq = ?", (near,))
                transaction_log.replay_records(
                    made, load_records(present.db, until=until), progress=progress, total=near
                )
            cursor = cls(made, made.journal.last_seq(), folder)
            cursor._begin()
            cursor.go_to(seq, moment, progress=progress)
            cleanup.pop_all()
        return cursor

    def _begin(self) -> None:
        conn = self._store.db.conn
        conn.execute("BEGIN IMMEDIATE")
        for statement in OWN_STATE:
            conn.execute(statement)

    def view(self) -> Store:
        """Return a store that reads at the cursor. It knows nothing of what was read before a move: ask again after each."""
        return SharedStore(self._store.db, lambda: self.moment, self._store.policies)

    def go_to(self, seq: int, moment: Millis | None = None, *, progress: Progress | None = None) -> None:
        """Go to the moment after a row.

        :param moment: what the clock says there; the time of the row when None
        :raises BeyondCopy: when the copy does not reach that far
        :raises JournalBroken: when a row that is reverted was altered; the cursor stays where it is
        """
        if seq > self.newest:
            raise BeyondCopy
        with self._store.db.lock:
            while self.seq < seq:
                self._return_to_mark()
            for stop in stops_on_the_way(self.seq, max(seq, 0)):
                self._go_back(stop, progress)
            at = self._store.db.value("SELECT at FROM journal WHERE seq = ?", (self.seq,))
            first = self._store.db.value("SELECT at FROM journal ORDER BY seq LIMIT 1") or self.moment
            self.moment = moment if moment is not None else Millis(first - 1 if at is None else at)
            self._store.db.conn.execute(HEARD_LATER, (self.moment, self.moment))
            self._store.db.forget_caches()

    def _go_back(self, seq: int, progress: Progress | None) -> None:
        conn = self._store.db.conn
        at = self._store.db.value("SELECT at FROM journal WHERE seq = ?", (seq,))
        conn.execute(f"SAVEPOINT at{len(self._marks)}")
        self._marks.append((self.seq, self.moment))
        try:
            # Before the first row nothing has happened, whatever the clock says.
            rewind.rewind(self._store, -1 if at is None else at, seq, progress=progress)
            self.seq = seq
        except BaseException:
            self._return_to_mark()
            raise

    def _return_to_mark(self) -> None:
        self.seq, self.moment = self._marks.pop()
        for statement in ("ROLLBACK TO", "RELEASE"):
            self._store.db.conn.execute(f"{statement} at{len(self._marks)}")
        self._store.db.forget_caches()

    def close(self) -> None:
        """Close the copy, and remove it. Closing it again does nothing."""
        try:
            with self._store.db.lock:
                if self._is_closed:
                    return
                self._is_closed = True
                self._store.db.conn.rollback()
                self._store.close()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


class SharedStore(Store):
    """A store on a connection that somebody else closes."""

    def reader(self, *, noting: bool = True) -> Store:  # type: ignore[override]  # the same moment is on no other connection
        """Return another view of the same moment."""
        return SharedStore(self.db, self.clock, self.policies)

    def close(self) -> None:
        """Leave the connection open."""


def stops_on_the_way(seq: int, target: int) -> Iterator[int]:
    """Yield the rows at which a way back from `seq` to `target` leaves a mark: ever nearer to each other, the target last."""
    distance = 1 << max(0, (seq - target)).bit_length()
    while distance:
        distance >>= 1
        if 0 <= target + distance < seq:
            yield target + distance
        if not distance:
            return


def find_change_before(present: Store, seq: int) -> int | None:
    """Return the last row before the newest change that had happened after row `seq`; None when there was none."""
    change = present.db.value(CHANGE_BEFORE, (seq,))
    return None if change is None else int(change) - 1  # a change is called after its first row


def find_change_after(present: Store, seq: int) -> int | None:
    """Return the last row of the first change after row `seq`; None when there is none."""
    change = present.db.value(CHANGE_AFTER, (seq,))
    if change is None:
        return None
    following = present.db.value(NEXT_CHANGE, (change, change))
    return present.journal.last_seq() if following is None else int(following) - 1


def count_purged_since(present: Store, seq: int) -> dict[str, int]:
    """Return how many facts of each theme were there after row `seq` and have been purged since: no past has them."""
    counts = present.db.rows(PURGED_SINCE, (seq, HOLD_OPERATION))
    return {present.names.theme_name(theme): number for theme, number in counts}


def refuse_unknown_row(present: Store, seq: int) -> None:
    """Refuse a row that the journal does not have. :raises ArgumentError: names the first and the last it has"""
    newest = present.journal.last_seq()
    if not 0 < seq <= newest:
        raise errors.ArgumentError(f"there is no change #{seq}; the journal has #1 to #{newest}", seq)
