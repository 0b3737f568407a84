"""The store as of any past moment, in a temporary file.

It is made by replaying the journal up to then, or, when that is shorter, by reverting what came after. It can be
read with everything that reads a store, and its clock stands still at that moment. What the journal does not hold
is missing: how often facts had been read, and what has been purged since.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hermes_memory_store.database.database_copies import Progress
from hermes_memory_store.database.db import Db
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal import rewind, transaction_log
from hermes_memory_store.model import Millis
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
        if rewound:
            rewind.copy_unverified(store.path, path)
        with Store.open(path, force=True, clock=clock, policies=store.policies) as made:
            # Nobody needs this file after a crash.
            made.db.conn.execute("PRAGMA synchronous = OFF")
            if rewound:
                made.rules_files.disown()
                rewind.rewind(made, moment, last, progress=progress)
            else:
                transaction_log.replay_records(
                    made, load_records(store.db, until=moment), progress=progress, total=last
                )
        return PastStore.open(path, read_only=True, force=True, clock=clock, policies=store.policies)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
