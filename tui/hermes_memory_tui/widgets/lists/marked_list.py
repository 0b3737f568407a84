"""`MarkedList`: a list whose rows can be marked, so that one action applies to several."""

from __future__ import annotations

import itertools
import time
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType

from hermes_memory_tui.text.display_formats import format_count, pluralise
from hermes_memory_tui.widgets.lists.line_list import LineList, ListMessage

REACTION_S = 0.4
"""A key that comes sooner after a new row was meant for the row before: people do not react faster to what they read."""

MOST_MARKED = 50_000
"""Rows that can be marked: what one change may hold, and what a person can still look through."""


MOST_LEAVING = 1000
"""Rows that are looked through for the one that the cursor goes on to."""


class MarkedList(LineList):
    """Marks stay with the keys of their rows, whatever the order. Messages: those of `LineList`, and `MarksChanged`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "Mark", id="list.mark", tooltip="Mark the row; actions apply to all marked rows"),
        Binding(
            "V",
            "mark_range",
            "Mark to here",
            id="list.mark_range",
            tooltip="Mark from the last marked row to here",
            show=False,
        ),
        Binding("asterisk", "mark_all", "Mark all", id="list.mark_all", tooltip="Mark all listed rows", show=False),
        Binding("minus", "unmark", "Unmark", id="list.unmark", tooltip="Clear marks", show=False),
    ]
    NOUN: ClassVar[str] = "row"
    """What a row is called."""

    class MarksChanged(ListMessage):
        """Posted when the set of marked rows has changed."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.marked: dict[Any, None] = {}
        """Keys of the marked rows, in the order they were marked."""
        self._marked_last: Any = None
        self._subtitle = ""
        self._shown: tuple[float, list[Any]] = (0.0, [])
        """When the row under an untouched cursor last became another one, and what was selected before."""
        self.is_touched = False
        """Whether the person has moved the cursor off the first row, so that it stays with its row from then on."""
        self.new_above = 0
        """Rows that came above the cursor since."""
        self._leaving: frozenset[Any] = frozenset()
        """Keys of rows that an act of the person is about to move."""

    # Following what is newest

    def set_subtitle(self, text: str) -> None:
        """Say something below the list, after the number of new rows above the cursor."""
        self._subtitle = text
        new = f"{format_count(self.new_above)} new, g · " if self.new_above else ""
        line = f"{new}{text}"
        if line != self.border_subtitle:  # Textual draws the whole list anew for the same one, too
            self.border_subtitle = line

    @property
    def is_following(self) -> bool:
        """Whether the cursor stays on the first row when rows come above it."""
        return self.cursor == 0 and not self.is_touched

    def note_new_above(self, rows: int) -> None:
        self.new_above += rows
        self.set_subtitle(self._subtitle)

    def note_followed(self, selected: list[Any]) -> None:
        """Remember what was selected before the cursor's row became a new one by itself."""
        self._shown = (time.monotonic(), selected)

    def settle(self) -> None:
        """Take the row under the cursor as known: what moved it was the person's own change."""
        self._shown = (0.0, [])

    def let_go(self, keys: Iterable[Any]) -> None:
        """Go on to the next row, instead of following, when the person's own act moves the rows of these keys."""
        self._leaving = frozenset(keys)

    def _next_key(self, key: Any) -> Any:
        """Return the key of the row that the cursor goes on to if that of this key, under the cursor, moves."""
        if key is None or key not in self._leaving:
            return None
        rows = (self.key_of_row(row) for row in range(self.cursor + 1, min(self.row_count, self.cursor + MOST_LEAVING)))
        return next((other for other in rows if other is not None and other not in self._leaving), None)

    def _row_to_go_on(self, next_key: Any, before: int) -> int:
        """Return the row of the next key, else the place of the row that moved."""
        self._leaving = frozenset()
        row = None if next_key is None else self.find_row(next_key)
        return min(before, max(0, self.row_count - 1)) if row is None else row

    def before_following(self) -> list[Any] | None:
        """Return what was selected when a key was pressed, if the row has changed too recently to have been meant."""
        at, selected = self._shown
        return selected if selected and time.monotonic() - at < REACTION_S else None

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._touch(new != 0)

    def action_first(self) -> None:
        super().action_first()
        self._touch(False)

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        self._touch(True)

    def _touch(self, is_touched: bool) -> None:
        self.is_touched = is_touched
        self._leaving = frozenset()
        self.settle()
        if self.new_above and not self.cursor:
            self.new_above = 0
            self.set_subtitle(self._subtitle)

    # Marks

    @abstractmethod
    def key_of_row(self, row: int) -> Any:
        """Return the key of a row; None when it has none that could be marked."""

    @abstractmethod
    def find_row(self, key: Any) -> int | None:
        """Return the row of a key, or None when it is not listed."""

    def keys_between(self, first: int, end: int) -> Iterable[Any]:
        """Return the keys of the rows from `first`, without `end`."""
        return (self.key_of_row(row) for row in range(first, end))

    @property
    def can_mark(self) -> bool:
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.can_mark if action in ("mark", "mark_range", "mark_all", "unmark") else True

    def action_mark(self) -> None:
        key = self.key_of_row(self.cursor) if self.row_count else None
        if key is None:
            return
        self._touch(True)
        if key in self.marked:
            del self.marked[key]
        elif self._mark([key]):
            self._marked_last = key
        self._marks_changed()
        self.cursor += 1

    def action_mark_range(self) -> None:
        if not self.row_count:
            return
        row = None if self._marked_last is None else self.find_row(self._marked_last)
        if row is None:
            self.action_mark()
            return
        first, last = sorted((row, self.cursor))
        self._mark(self.keys_between(first, last + 1))
        self._marked_last = self.key_of_row(self.cursor)
        self._marks_changed()

    def action_mark_all(self) -> None:
        if self.row_count and self._mark(self.keys_between(0, self.row_count)):
            self.notify(f"{pluralise(len(self.marked), self.NOUN)} marked; - clears the marks.", timeout=4)
        self._marks_changed()

    def _mark(self, keys: Iterable[Any]) -> bool:
        room = MOST_MARKED - len(self.marked)
        new = (key for key in keys if key is not None and key not in self.marked)
        fresh = list(itertools.islice(new, room + 1))
        self.marked.update(dict.fromkeys(fresh[:room]))
        if len(fresh) <= room:
            return True
        self.notify(
            f"There are {pluralise(self.row_count, self.NOUN)} here; the first {format_count(MOST_MARKED)} are marked, and "
            "no more can be. Narrow the search, and mark the rest afterwards.",
            severity="warning",
            timeout=8,
        )
        return False

    def _marks_changed(self) -> None:
        self._drawn.clear()
        self.refresh()
        self.post_message(self.MarksChanged(self))

    def action_unmark(self) -> None:
        self.marked.clear()
        self._marked_last = None
        self._marks_changed()
