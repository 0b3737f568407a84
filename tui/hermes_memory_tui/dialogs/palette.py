"""`Palette`: Textual's command palette, which does one thing and closes once, however fast enter is pressed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.widgets import Input

from hermes_memory_tui.screens.selection import Selection

if TYPE_CHECKING:
    from textual.command import Command


class Palette(Selection, CommandPalette):
    """Textual's own takes keys that come while it closes: the command runs again, and the screen beneath closes, or the app
    ends where that is its first one; a list that is gone is asked for. It pages through rows that nobody has laid out."""

    @on(Input.Submitted)
    def leave_late_enters(self, event: Input.Submitted) -> None:
        """Let nothing be chosen once something was."""
        if not self.is_active:
            event.stop()
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        if not self.is_active:
            return
        commands = self.query_one(CommandList)
        if action.startswith("page_") and not commands.scrollable_content_region:
            action = {"page_up": "first", "page_down": "last"}[action]  # no row has room: a page is all of them
        super()._action_command_list(action)

    def _action_cursor_down(self) -> None:
        if self.is_active:
            super()._action_cursor_down()

    def _refresh_command_list(self, command_list: CommandList, commands: list[Command], clear_current: bool) -> None:
        if self.is_active:  # the search goes on for a moment when it closes
            super()._refresh_command_list(command_list, commands, clear_current)

    def dismiss(self, result: None = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_active else AwaitComplete()
