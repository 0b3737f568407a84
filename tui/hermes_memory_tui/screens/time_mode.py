"""`TimeTravel`: time as a mode of the whole inspector. It moves the memory that every view shows, and brings it back."""

from __future__ import annotations

from collections import deque
from typing import Any

from hermes_memory_store.database import driver
from hermes_memory_store.errors import StoreError
from hermes_memory_store.journal.time_travel import BeyondCopy, TimeCursor, count_purged_since
from hermes_memory_store.store import Store
from hermes_memory_tui.model.change_names import change_names
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.past_memory import Destination, PastMemory, Way
from hermes_memory_tui.model.view_catalog import FACTS
from hermes_memory_tui.screens.past_screen import PastLoadingDialog, PastScreen, TravelProgress
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.change_subjects import change_subject
from hermes_memory_tui.widgets import change_text

MOST_WAITING = 64
"""Steps that wait while one is made; more keys than that were not meant one by one."""


class LoadCancelled(Exception):
    """Raised when nobody waits for the moment any more."""


class TimeTravel:
    """The moment that is shown. `past` is None in the present."""

    def __init__(self, app: Any, present: Memory) -> None:
        self.present = present
        self.past: PastMemory | None = None
        self.screen: PastScreen | None = None
        self._app = app
        self._ways: deque[Way] = deque(maxlen=MOST_WAITING)
        self._view_before = ""
        self._view_wanted: str | None = None
        self._is_moving = False
        self._is_cancelled = False
        self._dialog: PastLoadingDialog | None = None

    def go(self, way: Way, view: str | None = None) -> None:
        """Go somewhere in time, after everything that was asked for before.

        :param view: the view to show on the way from the present; the open one when None
        """
        self._view_wanted = view
        self._ways.append(way)
        if self.past is not None:
            self.past.pause_listings()
        if not self._is_moving:
            self._is_moving, self._is_cancelled = True, False
            self._dialog = PastLoadingDialog(self.cancel)
            self._app.run_worker(self._move, thread=True, group="time")

    def cancel(self) -> None:
        """Give up the way that is being gone."""
        self._is_cancelled = True
        self._ways.clear()

    # In a thread

    def _move(self) -> None:
        past, band, trouble = self.past, "", ""
        try:
            with self.present.open_reader() as present:
                try:
                    while self._ways and not self._is_cancelled:
                        past = self._go_one_way(present, past, self._ways.popleft())
                except LoadCancelled:
                    self._ways.clear()
                except StoreError as error:
                    trouble = str(error)
                if past is not None:
                    past.purged = count_purged_since(present, past.cursor.seq)
                    band = describe_moment(present, past)
        except StoreError as error:
            trouble = str(error)
        except driver.ProgrammingError:
            if not self._is_cancelled:
                raise
            past = None  # who left has closed it
        self._app.call_from_thread(self._show, past, band, trouble)

    def _go_one_way(self, present: Store, past: PastMemory | None, way: Way) -> PastMemory | None:
        here = Destination(present.journal.last_seq())
        if past is not None:
            here = Destination(past.cursor.seq, past.cursor.moment)
        destination = way(present, here)
        try:
            if past is not None and destination is not None:
                past.go_to(destination, self._progress)
                return past
        except BeyondCopy:
            pass
        opened = None if destination is None else self._open(present, destination)
        self._close_unseen(past)
        return opened

    def _open(self, present: Store, destination: Destination) -> PastMemory:
        cursor = TimeCursor.open(present, destination.seq, destination.moment, progress=self._progress)
        return PastMemory(cursor, self.present)

    def _close_unseen(self, past: PastMemory | None) -> None:
        if past is not None and past is not self.past:
            past.close()

    def _progress(self, done: int, total: int) -> None:
        if self._is_cancelled:
            raise LoadCancelled
        # Posted, not waited for: the screen may be waiting for what this thread holds.
        self._app.post_message(TravelProgress(done, total))

    # On the screen

    def show_progress(self, done: int, total: int) -> None:
        """Say how far a long way has come."""
        if self._dialog is not None and self._is_moving:
            self._dialog.show_progress(self._app, done, total)

    def _show(self, past: PastMemory | None, band: str, trouble: str) -> None:
        if self._dialog is not None and self._dialog.is_current:
            self._dialog.dismiss()
        self._dialog = None
        if self.past is not None:
            self.past.resume_listings()
        if self._is_cancelled and past is not self.past:
            self._close_unseen(past)
        elif past is None:
            self.leave()
        elif past is not self.past:
            self._enter(past, band)
        elif self.screen is not None:
            self.screen.show_moment(band)
            self._set_views(past, band)
        self._is_moving = False
        if trouble:
            self._ways.clear()
            self._app.notify(trouble, severity="warning", timeout=5, markup=False)
        elif self._ways:
            self.go(self._ways.popleft())

    def _enter(self, past: PastMemory, band: str) -> None:
        name = self._view_name()
        before, self.past = self.past, past
        if before is None:
            self._view_before = name
            name = name if self._view_wanted is None else self._view_wanted
        self._close_screens()
        self.screen = PastScreen(past, self.present)
        self.screen.show_band(band)
        self._app.push_screen(self.screen)
        self._show_in_views(past, band, name)
        if before is not None:
            before.close()

    def leave(self) -> None:
        """Return to the present: to the view that is open, from the facts to the one that was open there."""
        self._ways.clear()
        past, self.past = self.past, None
        if past is None:
            return
        name = self._view_name() or self._view_before
        self._close_screens()
        self.screen = None
        self._show_in_views(self.present, "", name)
        if self._is_moving:
            self.cancel()
        past.close()

    def _set_views(self, memory: Memory, band: str) -> None:
        # What was opened from a view, such as a session, is in no catalogue, and shows the same moment.
        opened = [screen for screen in self._app.screen_stack if hasattr(screen, "set_memory")]
        for view in dict.fromkeys([*self._app.views.values(), *opened]):
            view.set_memory(memory, band)

    def _show_in_views(self, memory: Memory, band: str, name: str) -> None:
        self._set_views(memory, band)
        if name and name != FACTS:
            self._app.open_view(name)

    def _view_name(self) -> str:
        """Return the name of the open view of the catalogue; empty for the facts."""
        for screen in reversed(self._app.screen_stack):
            name = getattr(screen, "NAME", "")
            if name in self._app.views:
                return str(name)
        return ""

    def _close_screens(self) -> None:
        present_main = self._app.present_main
        while self._app.screen is not present_main:
            self._app.pop_screen()


def describe_moment(present: Store, past: PastMemory) -> str:
    """Return where in time one is: the time, the change and what it did, how many came after it and what they purged."""
    seq, later = past.cursor.seq, present.journal.last_seq() - past.cursor.seq
    when = display_formats.format_moment(past.cursor.moment, present.clock())
    if not seq:
        return f"{when} · before the first change"
    change = present.journal.get(seq)
    done = f"{change_text.change_verb(change)} {change_subject(change, change_names(present, [change]))}"
    author = display_formats.actor_name(change.actor)
    after = f"{display_formats.format_count(later)} before now" if later else "the latest change"
    purged = past.count_purged_since()
    missing = f" · {display_formats.pluralise(purged, 'fact')} purged since" if purged else ""
    return f"{when} · #{seq}, {after}{missing} · {done.strip()} by {author}"
