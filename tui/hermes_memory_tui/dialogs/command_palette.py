"""`SafeCommandPalette`: Textual's command palette, which runs one command and closes once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.widgets import Input

from hermes_memory_tui.dialogs.selection_guard import SelectionGuard

if TYPE_CHECKING:
    from textual.command import Command


class SafeCommandPalette(SelectionGuard, CommandPalette):
    """A command palette that ignores keys while it closes.

    Textual's own accepts keys while it closes: the command runs again, and the screen beneath closes, or the app
    ends when that is its first screen; a list that no longer exists is queried. It also pages through rows
    without a layout.
    """

    @on(Input.Submitted)
    def ignore_late_enters(self, event: Input.Submitted) -> None:
        """Ignore a choice once one was made."""
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
