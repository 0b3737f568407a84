"""`MessageLog`: past messages, newest first, for toasts that disappeared too fast."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content

from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.model.toast_messages import ToastMessage
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.text_panel import LabelledText, Line, TextPanel

STYLES = {"error": "$error", "warning": "$warning"}


class MessageLog(Modal[None]):
    """Closes with any of the keys that leave a screen."""

    CSS_PATH = "../screens/dialogs.tcss"
    BINDING_GROUP_TITLE = "Messages"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,exclamation_mark", "dismiss", "Close", id="messages.close", tooltip="Close the messages"),
        Binding("y", "copy", "Copy", id="messages.copy", tooltip="Copy all messages"),
    ]

    def __init__(self, toasts: Sequence[ToastMessage]) -> None:
        super().__init__()
        self._toasts = toasts
        self._pages = TextPanel("messages")

    def compose(self) -> ComposeResult:
        with Vertical(id="ask"):
            yield self._pages
            yield KeyLine()

    def on_mount(self) -> None:
        now = int(time.time() * 1000)
        lines: list[Line] = [
            LabelledText(
                Content.styled(f"{display_formats.format_age(int(toast.at * 1000), now):>4}  ", "$dim"),
                Content.styled(toast.text, STYLES.get(toast.severity, "")),
            )
            for toast in reversed(self._toasts)
        ]
        self._pages.show("", lines or [Content.styled("no messages", "$dim")])
        self.query_one("#ask").border_title = "messages"
        self._pages.focus()

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._pages.plain)
