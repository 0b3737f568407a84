"""A temporary copy of a store that tests may change: rewound to a past moment, or with a fact taken out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.journal import rewind
from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store


class StandingClock:
    """A clock that stands still until it is set."""

    def __init__(self, now: Millis) -> None:
        self.now = now

    def __call__(self) -> Millis:
        return self.now


class CopiedMemory:
    """A copy, and its clock."""

    def __init__(self, store: Store, clock: StandingClock) -> None:
        self.store = store
        self.clock = clock

    def rewind(self, last: int) -> None:
        """Rewind to the state after row `last` of the journal; 0 is before the first. :raises JournalBroken: it was altered"""
        store = self.store
        moment = store.db.value("SELECT at FROM journal WHERE seq = ?", (last,)) or 0
        rewind.rewind(store, moment, last)
        store.names.forget()  # what it knows may have gone
        self.clock.now = Millis(moment)


@contextmanager
def open_memory_copy(store: Store) -> Iterator[CopiedMemory]:
    """Yield a copy of a store that is gone afterwards. :raises FileError: DiskFull without room for it"""
    with tempfile.TemporaryDirectory(prefix="hermes-memory-test-") as folder:
        path = Path(folder) / "memory.db"
        rewind.copy_unverified(store.path, path)
        clock = StandingClock(store.clock())
        with Store.open(path, force=True, clock=clock, policies=store.policies) as made:
            made.db.conn.execute("PRAGMA synchronous = OFF")  # nobody needs this file after a crash
            made.rules_files.disown()
            made.intake.writer = Writer.PERSON
            yield CopiedMemory(made, clock)


@contextmanager
def open_past_memory(store: Store, moment: int) -> Iterator[Store]:
    """Yield the store as it stood at the end of that millisecond, with the turns that had been captured by then.

    :param moment: UTC milliseconds
    """
    with open_memory_copy(store) as copied:
        last = rewind.last_change_before(store, moment)
        if last < store.journal.last_seq():
            copied.rewind(last)
        copied.clock.now = Millis(moment)
        yield copied.store
