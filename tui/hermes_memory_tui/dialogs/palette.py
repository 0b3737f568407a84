"""`Palette`: Textual's command palette, which does one thing and closes once, however fast enter is pressed twice."""

from __future__ import annotations

from textual import on
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette
from textual.widgets import Input


class Palette(CommandPalette):
    """Textual's own takes an enter that comes while it closes: the command runs again, and the screen beneath closes, or
    the app ends where that is its first one."""

    @on(Input.Submitted)
    def leave_late_enters(self, event: Input.Submitted) -> None:
        """Let nothing be chosen once something was."""
        if not self.is_active:
            event.stop()
            event.prevent_default()

    def dismiss(self, result: None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()
