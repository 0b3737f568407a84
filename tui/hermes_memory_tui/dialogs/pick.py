"""`Pick`: one of many, found by typing a few of its letters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.fuzzy import Matcher
from textual.widgets import Input

from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.grid import Cell, Column, Grid, Row
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.pages import titled


@dataclass(frozen=True, slots=True)
class Choice:
    """One that can be picked."""

    key: str
    title: str
    says: str = ""


class Pick(Modal[str | None]):
    """Dismissed with the key of a choice, with what was typed where that may be new, or None."""

    CSS_PATH = "../screens/dialogs.tcss"
    BINDING_GROUP_TITLE = "Choice"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Choose", id="pick.accept", tooltip="Choose this one", priority=True),
        Binding("escape", "leave", "Leave", id="pick.leave", tooltip="Choose nothing", priority=True),
        Binding("down", "move(1)", "Down", id="pick.down", tooltip="The next one", show=False, priority=True),
        Binding("up", "move(-1)", "Up", id="pick.up", tooltip="The one before", show=False, priority=True),
    ]

    def __init__(self, title: str, choices: Sequence[Choice], *, new: str | None = None) -> None:
        """:param new: what choosing a text that is none of the choices is called; not possible when None"""
        super().__init__()
        self._heading = title
        self._choices = choices
        self._new = new
        self.line = Input("", placeholder="type to find", id="pick-line", compact=True)
        self.grid = Grid((Column("", 0), Column("", 0)), id="pick-grid")
        self.grid.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(id="pick"):
            yield self.line
            yield self.grid
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#pick").border_title = titled(self._heading)
        self.line.focus()
        self._find()

    def on_input_changed(self) -> None:
        self._find()

    def _find(self) -> None:
        text = self.line.value.strip()
        found = list(self._choices)
        if text:
            matcher = Matcher(text)
            scored = [(max(matcher.match(one.title), 0.5 * matcher.match(one.says)), one) for one in found]
            found = [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0]
        rows = [Row(one.key, (Cell(one.title), Cell(one.says, "dim"))) for one in found]
        if self._new and text and all(one.title != text for one in found):
            rows.append(Row(text, (Cell(text, "accent"), Cell(self._new, "dim"))))
        self.grid.empty = ("nothing of that name",)
        self.grid.show(rows)

    def action_accept(self) -> None:
        key = self.grid.key
        if key is not None:
            self.dismiss(str(key))

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, rows: int) -> None:
        self.grid.cursor += rows
