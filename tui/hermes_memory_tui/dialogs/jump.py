"""`Jump`: shows a letter on every pane; pressing it moves the focus there."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Static

from hermes_memory_tui.dialogs.modal import Modal

LETTERS = "asdfghjklqwertyuiopzxcvbnm"
"""Keys in the order they are given out: those under the fingers first."""


class Jump(Modal[Widget | None]):
    """Dismissed with the chosen pane."""

    CSS_PATH = "../screens/jump.tcss"
    BINDING_GROUP_TITLE = "Jump"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel", id="jump.leave", tooltip="Cancel"),
    ]

    def __init__(self, panes: list[Widget]) -> None:
        super().__init__()
        self._panes = dict(zip(LETTERS, panes, strict=False))

    def compose(self) -> ComposeResult:
        for letter, pane in self._panes.items():
            label = Static(Content(f" {letter} "), classes="jump")
            label.styles.offset = Offset(pane.region.x + 1, pane.region.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        pane = self._panes.get(event.character or "")
        if pane is not None:
            event.stop()
            self.dismiss(pane)
