"""`CommandPalette`: finds a command by its words. The one under the cursor is previewed where it is a look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Input

from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_tui.commands.command import CommandChoice
from hermes_memory_tui.commands.palette_list import PaletteList
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid_rows import rank_rows
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.text_panel import to_border_title

PREVIEW_S = 0.08
"""How long the cursor must rest on a look before its colours are shown."""

MOST_RECENT = 5
"""Recently used commands that stand first."""

SHARE, FRAME = 0.8, 4
"""How much of the height the palette takes at most, and its lines that are no commands."""

PLACES = ("scope", "theme", "look")
"""Groups that are listed once something is typed: there may be thousands."""


class CommandPalette(Modal[CommandChoice | None]):
    """Dismissed with the chosen command, or None; then the look is again what it was."""

    CSS_PATH = "../screens/commands.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-low")]
    BINDING_GROUP_TITLE = "Commands"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Run", id="palette.choose", tooltip="Run the command", priority=True),
        Binding("down,ctrl+n", "step(1)", "Down", id="palette.down", tooltip="To the next line", show=False),
        Binding("up", "step(-1)", "Up", id="palette.up", tooltip="To the previous line", show=False),
        Binding("pagedown", "page(1)", "Page down", id="palette.page_down", tooltip="A page down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="palette.page_up", tooltip="A page up", show=False),
        Binding("ctrl+end", "step(100000)", "Last", id="palette.last", tooltip="To the last line", show=False),
        Binding("ctrl+home", "step(-100000)", "First", id="palette.first", tooltip="To the first line", show=False),
        Binding("escape,ctrl+p", "leave", "Cancel", id="palette.leave", tooltip="Cancel", priority=True),
    ]

    def __init__(self, choices: Sequence[CommandChoice], recent: Sequence[str], preview: Callable[[str], None]) -> None:
        """Create the palette.

        :param recent: lines of commands, the newest last
        :param preview: shows a look, by its name; the one that was chosen when it is empty
        """
        super().__init__()
        self._choices = choices
        by_line = {choice.line: choice for choice in choices}
        lately = [by_line[line] for line in reversed(recent) if line in by_line][:MOST_RECENT]
        self._lately = [CommandChoice(one.line, one.title, one.help, "recent", one.key, one.run) for one in lately]
        self._preview = preview
        self._previewed = ""
        self._timer: Timer | None = None
        self.line = Input(placeholder="type to find a command, scope, theme or look", id="palette-line", compact=True)
        self.line.max_length = 200
        self.list = PaletteList(id="palette-list")
        self.list.can_focus, self.list.is_steered = False, True

    def compose(self) -> ComposeResult:
        with Vertical(id="palette"):
            yield self.line
            yield self.list
            yield KeyLine()

    @property
    def typed_text(self) -> str:
        return self.line.value

    def on_mount(self) -> None:
        self.query_one("#palette").border_title = to_border_title("commands")
        self.line.value = self.take_recovered_text()
        self.line.focus()
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def _show(self) -> None:
        wanted = self.line.value.strip()
        if wanted:
            lately = {choice.line: place for place, choice in enumerate(self._lately)}
            choices = sorted(self._choices, key=lambda one: lately.get(one.line, MOST_RECENT))
            found = rank_rows(choices, wanted)
            words = fold_accents(wanted).split()
            # Actions and views of that name first, then places of it, then what only says it in its help.
            found.sort(
                key=lambda one: (not all(word in fold_accents(one.title) for word in words), one.group in PLACES)
            )
            self.list.show(found, wanted)
        else:
            known = {choice.line for choice in self._lately}
            rest = [one for one in self._choices if one.group not in PLACES and one.line not in known]
            self.list.show([*self._lately, *rest], "")

        self._fit()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Take no more lines than are found: what is behind shows the colours of a look."""
        room = int(self.app.size.height * SHARE) - FRAME
        self.list.styles.height = max(1, min(self.list.row_count, room)) if room > FRAME else "1fr"

    def on_line_list_moved(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PREVIEW_S, self._show_preview)

    def _show_preview(self) -> None:
        choice = self.list.choice
        word, _, name = choice.line.partition(" ") if choice is not None else ("", "", "")
        wanted = name if word == "look" else ""
        if wanted != self._previewed and self.is_active:
            self._previewed = wanted
            self._preview(wanted)

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.action_choose()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        if self.list.wanted != self.line.value.strip():  # enter came with the last letters
            self._show()
        if self.list.choice is not None:
            self._leave(self.list.choice)

    def action_step(self, rows: int) -> None:
        self.list.cursor += rows

    def action_page(self, pages: int) -> None:
        self.list.action_page(float(pages))

    def action_leave(self) -> None:
        self._leave(None)

    def _leave(self, choice: CommandChoice | None) -> None:
        if self._previewed and self.is_active:
            self._previewed = ""
            self._preview("")
        self.dismiss(choice)
