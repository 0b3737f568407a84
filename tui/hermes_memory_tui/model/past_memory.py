"""`PastMemory`: a memory at a moment of the past, which can be moved to another one. Nothing in it changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from hermes_memory_store.errors import ArgumentError, QueryError, StoreError
from hermes_memory_store.find.query_syntax import parse_time_filter
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.journal import rewind
from hermes_memory_store.journal.time_travel import (
    TimeCursor,
    find_change_after,
    find_change_before,
    refuse_unknown_row,
)
from hermes_memory_store.model import Millis
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.model.journal_pages import LONGEST_NUMBER
from hermes_memory_tui.model.memory import FactListing, ListingInterrupted, ListingRequest, Memory

OPERATIONS = 10_000
"""Steps of SQLite's machine between two looks whether a listing is interrupted; some tenths of a millisecond."""

MOMENTS = "an age (90m, 3h, 2d), a date (2026-03-17, 2026-03-17 13:00, UTC), or a change (#1036)"

BEGINNING = "the memory begins here: no change came before"
"""What is said of a step before the first change."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A moment: where one is, or where to go."""

    seq: int
    """The last row of the journal that has happened."""
    moment: Millis | None = None
    """What the clock says; the time of the row when None."""


Way = Callable[[Store, Destination], "Destination | None"]
"""Finds where to go from where one is, by the journal of the present; None is the present.

:raises StoreError: there is nothing in that direction, or no such moment
"""


class PastMemory(Memory):
    """The memory as of the moment of a cursor. Several threads may read it."""

    is_past = True

    def __init__(self, cursor: TimeCursor, present: Memory) -> None:
        self.cursor = cursor
        self._is_paused = threading.Event()
        super().__init__(cursor.view)
        self.read_only = True
        self.shown_path = present.shown_path
        self.on_close = cursor.close

    def poll_commits(self) -> bool:
        return False

    def interrupt(self) -> None:
        """Leave what is being read alone: all of it shares one connection with the way to the next moment."""

    def pause_listings(self) -> None:
        """Interrupt the listing that is being read: the way to the next moment would wait for it."""
        self._is_paused.set()

    def resume_listings(self) -> None:
        self._is_paused.clear()

    def close(self) -> None:
        self.pause_listings()
        super().close()

    def _load_listing(self, view: ListingRequest) -> FactListing:
        if self.parse_request(view).has_text:
            return super()._load_listing(view)
        db = self._listings.db
        with db.lock:  # nothing else is read meanwhile that could be interrupted in its place
            if self._is_paused.is_set():
                raise ListingInterrupted
            db.conn.set_progress_handler(self._is_paused.is_set, OPERATIONS)
            try:
                return super()._load_listing(view)
            finally:
                db.conn.set_progress_handler(None, 0)

    def go_to(self, destination: Destination, progress: Callable[[int, int], None]) -> None:
        """Move to another moment. No view reads meanwhile. :raises StoreError: the journal was altered"""
        with self._looking:
            self.cursor.go_to(destination.seq, destination.moment, progress=progress)
            self._views = None
            self._connect()


def step(changes: int) -> Way:
    """Return the way one change back (-1) or forward (1)."""

    def find(present: Store, here: Destination) -> Destination | None:
        if changes < 0:
            before = find_change_before(present, here.seq)
            if before is None:
                raise ArgumentError(BEGINNING)
            return Destination(before)
        after = find_change_after(present, here.seq)
        at_end = after is None or find_change_after(present, after) is None
        return None if after is None or at_end else Destination(after)

    return find


def name_moment(text: str) -> Way:
    """Return the way to a moment as a person names it: see `parse_moment_name`."""

    def find(present: Store, _here: Destination) -> Destination | None:
        return find_named_moment(present, text)

    return find


def find_named_moment(present: Store, text: str) -> Destination | None:
    """Find a moment as a person names it; None is the present.

    :raises StoreError: it is none, there is no such change, or it has not come yet
    """
    row, at = parse_moment_name(text, present.clock())
    if row is not None:
        refuse_unknown_row(present, row)
        return Destination(row)
    rewind.refuse_future_moment(present, at, to_printable(text))
    return None if at >= present.clock() else Destination(rewind.last_change_before(present, at), at)


def find_moment_problem(memory: Memory, text: str) -> str | None:
    """Return why one cannot go to a moment of a memory, or None."""
    try:
        memory.read_now(partial(find_named_moment, text=text))
    except StoreError as error:
        return to_printable(str(error))
    return None


def parse_moment_name(text: str, now: Millis) -> tuple[int | None, Millis]:
    """Parse an age (`90m`), a date and time, or the number of a change (`#1036`): return the row, if any, and the time.

    :raises QueryError: it is none of these
    """
    name = text.strip()
    if not name.startswith("#"):
        return None, Millis(parse_time_filter("when", name, now))
    number = name[1:].strip()
    if not number.isdecimal() or len(number) >= LONGEST_NUMBER:
        raise QueryError(f"{to_printable(name)} is no change; write the number of the change, such as #1036", name)
    return int(number), now


def before_change(change: int) -> Way:
    return lambda _present, _here: Destination(change - 1)
