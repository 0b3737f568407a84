"""`FilterLine`: the search line over the fact table, with what came of it beside it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, Static

HINT = 'words "a phrase" -not type:decision tier:archived scope:x target:db after:7d by:person'

DEBOUNCE_S = 0.08
"""How long typing must rest before the listing follows it."""


class SearchInput(Input):
    """The line itself."""

    BINDING_GROUP_TITLE = "Search line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "done", "To the facts", id="search.done", tooltip="Keep the filter and go to the facts"),
        Binding("down", "done", "Down", id="search.down", tooltip="Keep the filter and go to the facts", show=False),
        Binding("escape", "clear", "Clear", id="search.clear", tooltip="Show everything again"),
    ]

    class Left(Message):
        """The person is done with the line; `cleared` when they gave it up."""

        def __init__(self, cleared: bool) -> None:
            super().__init__()
            self.cleared = cleared

    def action_done(self) -> None:
        self.post_message(self.Left(cleared=False))

    def action_clear(self) -> None:
        self.value = ""
        self.post_message(self.Left(cleared=True))


class FilterLine(Vertical):
    """Hidden until it is asked for, and as long as it holds something. Posts `Changed` when typing rests."""

    class Changed(Message):
        """Another line is to be searched for."""

    def __init__(self, hint: str = HINT) -> None:
        """:param hint: what stands in the line while it is empty"""
        super().__init__(id="filter")
        self._timer: Timer | None = None
        self._found = Static("", id="filter-found", markup=False)
        self._error = Static("", id="filter-error", markup=False)
        self._error.display = False
        self.input = SearchInput(
            placeholder=hint,
            id="filter-input",
            compact=True,
        )

    def compose(self) -> ComposeResult:
        with Horizontal(id="filter-row"):
            yield Static("/", id="filter-mark")
            yield self.input
            yield self._found
        yield self._error

    def found(self, text: str) -> None:
        """Say how many were found."""
        self._found.update(text)
        self._error.display = False

    def refuse(self, why: str) -> None:
        """Say what is wrong with the line; what was found before it stays on the screen."""
        self._found.update("")
        self._error.update(why)
        self._error.display = True

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, self._tell)

    def _tell(self) -> None:
        self.post_message(self.Changed())
