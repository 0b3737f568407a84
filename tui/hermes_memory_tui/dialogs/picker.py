"""`Picker` and `MultiPicker`: choose one of several, or select several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid_rows import rank_rows
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.lists.pick_list import Choice, PickList
from hermes_memory_tui.widgets.text_panel import to_border_title

NEW = "\0new"
"""Key of a new choice, made from the typed text."""


class Picker(Modal[str | None]):
    """Choose one. Dismissed with its key, or None. Typed characters filter the list by subsequence."""

    CSS_PATH = "../screens/picker.tcss"
    BINDING_GROUP_TITLE = "Picker"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Select", id="picker.choose", tooltip="Select", priority=True),
        Binding("slash", "narrow", "Search", id="picker.narrow", tooltip="Filter the list"),
        Binding("down", "step(1)", "Down", id="picker.down", tooltip="To the next line", show=False),
        Binding("up", "step(-1)", "Up", id="picker.up", tooltip="To the previous line", show=False),
        Binding("d", "remove", "Remove", id="picker.remove", tooltip="Remove the line under the cursor"),
        Binding("escape", "leave", "Cancel", id="picker.leave", tooltip="Cancel"),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        typing: bool = False,
        new: str = "",
        empty: str = "Nothing to select.",
        remove: Callable[[str], Sequence[Choice]] | None = None,
        at: str | None = None,
    ) -> None:
        """Create the picker.

        :param typing: start in the filter line
        :param new: what typed text that matches no choice would create, such as "new scope"; not allowed when empty
        :param remove: deletes a choice and returns the remaining ones
        :param at: key of the choice to start at
        """
        super().__init__()
        self._title = title
        self._choices = list(choices)
        self._typing = typing
        self._new = new
        self._remove = remove
        self._at = at
        self.list = PickList(id="picker-list")
        self._empty = empty
        self.line = Input(placeholder="type to filter", id="picker-line", compact=True, max_length=200)
        self.line.display = typing

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield self.line
            yield self.list
            yield KeyLine()

    @property
    def draft_name(self) -> str:
        return self._title

    @property
    def typed_text(self) -> str:
        return self.line.value

    def on_mount(self) -> None:
        self.query_one("#picker").border_title = to_border_title(self._title)
        self.line.value = self.take_recovered_text()
        self._typing = self._typing or bool(self.line.value)
        self.line.display = self._typing
        (self.line if self._typing else self.list).focus()
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.action_choose()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "remove":
            return self._remove is not None and not self.line.has_focus
        return action != "narrow" or not self.line.has_focus

    def _show(self) -> None:
        query = self.line.value.strip()
        shown = rank_rows(self._choices, query)
        if query and self._new and all(choice.says != query for choice in self._choices):
            shown.append(Choice(NEW, query, self._new))
        rows = {choice.key: row for row, choice in enumerate(shown)}
        self.list.empty = "No match." if query else self._empty
        self.list.show(shown, 0 if query else rows.get(self._at or "", 0))

    def action_narrow(self) -> None:
        self.line.display = True
        self.line.focus()

    def action_step(self, rows: int) -> None:
        self.list.cursor += rows

    def action_choose(self) -> None:
        choice = self.list.choice
        if choice is None:
            return
        self.dismiss(f"{NEW}{choice.says}" if choice.key == NEW else choice.key)

    def action_remove(self) -> None:
        choice = self.list.choice
        if choice is not None and self._remove is not None:
            self._choices = list(self._remove(choice.key))
            self._at = None
            self._show()

    def action_leave(self) -> None:
        self.dismiss(None)
