"""The store as of any past moment: a throw-away store made by replaying the journal up to then, or, when that is nearer,
by taking back what came after.

It can be read with everything that reads a store, and its clock stands still at that moment. What the journal does not
hold is not there: how often facts had been read, and what has been purged since.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hermes_memory_store import rewinding, translog
from hermes_memory_store.copies import Progress
from hermes_memory_store.db import Db
from hermes_memory_store.journal_records import load_records
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store


class PastStore(Store):
    """A store that is removed from the disk when it is closed."""

    def reader(self, *, noting: bool = True) -> Store:  # type: ignore[override]  # closing a second connection must not remove the file
        """A second connection that only reads, for another thread."""
        return Store(Db(self.path, read_only=True), self.clock, self.policies)

    def close(self) -> None:
        """Close the file and remove it."""
        try:
            super().close()
        finally:
            shutil.rmtree(self.path.parent, ignore_errors=True)


def store_at(store: Store, moment: int, *, progress: Progress | None = None) -> PastStore:
    """The store as it stood at the end of that millisecond, for reading only. Close it to remove it.

    :param moment: UTC milliseconds; before the first change the store is empty
    :param progress: called with the rows of the journal that are dealt with so far and how many there are
    :raises FileError: DiskFull when the throw-away copy finds no room, JournalBroken when the journal was altered
    """
    folder = Path(tempfile.mkdtemp(prefix="hermes-memory-past-"))
    path, clock = folder / "memory.db", lambda: Millis(moment)
    last, newest = rewinding.last_before(store, moment), store.journal.last_seq()
    rewound = rewinding.is_nearer(last, newest)
    try:
        if rewound:
            rewinding.copy_plainly(store.path, path)
        with Store.open(path, force=True, clock=clock, policies=store.policies) as made:
            # Nobody needs this file after a crash.
            made.db.conn.execute("PRAGMA synchronous = OFF")
            if rewound:
                rewinding.rewind(made, moment, last, progress=progress)
            else:
                translog.apply(made, load_records(store.db, until=moment), progress=progress, total=last)
        return PastStore.open(path, read_only=True, force=True, clock=clock, policies=store.policies)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
