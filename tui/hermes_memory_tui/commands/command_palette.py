"""`CommandPalette`: finds a command by its words, and previews a look under the cursor. `KeyHelp`: finds a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.timer import Timer
from textual.widgets import Input

from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_tui.commands.command_registry import PLACES, CommandChoice
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.key_line import KeyLine
from hermes_memory_tui.widgets.lists.grid_rows import find_word_spans, rank_rows
from hermes_memory_tui.widgets.lists.line_list import LineList
from hermes_memory_tui.widgets.text_panel import to_border_title

PREVIEW_S = 0.08
"""How long the cursor must rest on a look before its colours are shown."""

MOST_RECENT = 5
"""Recently used commands that stand first."""

SHARE, FRAME = 0.8, 4
"""How much of the height the palette takes at most, and its lines that are no commands."""

GROUP_WIDTH = 10
"""Cells of the group at the left."""

KEY_WIDTH = 9
"""Cells of the keys."""

LEAST_HELP = 16
"""Cells from which a help text says something."""


class PaletteList(LineList):
    """Commands, each with its key. A group is named beside the first of its lines, and beside each found one."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.choices: Sequence[CommandChoice] = ()
        self.pattern = ""
        """The words that the commands were found by."""
        self.has_help = True
        """Whether a title has a help text beside it; else the title is the help, and the help the name."""

    @property
    def row_count(self) -> int:
        return len(self.choices)

    @property
    def choice(self) -> CommandChoice | None:
        return self.choices[self.cursor] if self.choices else None

    def show(self, choices: Sequence[CommandChoice], pattern: str) -> None:
        self.choices, self.pattern = choices, pattern
        self.rows_changed()
        self.cursor = 0
        self.scroll_home(animate=False)
        self.post_message(self.Moved(self))

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        choice = self.choices[row]
        is_first = row == 0 or self.choices[row - 1].group != choice.group
        group = choice.group if self.pattern or is_first else ""
        sides = (GROUP_WIDTH, KEY_WIDTH) if width >= GROUP_WIDTH + KEY_WIDTH + LEAST_HELP else (1, 0)
        room = width - sum(sides)
        name_width = min(30, room // 2) if self.has_help and room >= 2 * LEAST_HELP else room
        return [
            Segment(display_formats.fit_text(f" {group}", sides[0]), self.ink("dim")),
            *self._draw_title(display_formats.fit_middle(choice.title, name_width), choice.enabled),
            Segment(display_formats.fit_text(f" {choice.key}", sides[1]), self.ink("accent", bold=True)),
            Segment(display_formats.fit_text(f" {choice.help}", room - name_width), self.ink("dim")),
        ]

    def _draw_title(self, text: str, enabled: bool) -> list[Segment]:
        style = self.ink() if enabled else self.ink("dim")
        parts, at = [], 0
        for start, end in find_word_spans(text, self.pattern):
            parts += [
                Segment(text[at:start], style),
                Segment(text[start:end], self.ink(bold=True, underline=True)),
            ]
            at = end
        return [part for part in (*parts, Segment(text[at:], style)) if cell_len(part.text)]

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        hint = "" if self.choices or line else " Nothing is called that."
        return [Segment(display_formats.fit_text(hint, width), self.ink("dim"))]


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
    TITLE_OF_FRAME: ClassVar[str] = "commands"
    PLACEHOLDER: ClassVar[str] = "type to find a command, scope, theme or look"

    def __init__(self, choices: Sequence[CommandChoice], recent: Sequence[str], preview: Callable[[str], None]) -> None:
        """Create the palette.

        :param recent: lines of commands, the newest last
        :param preview: shows a look, by its name; the one that was chosen when it is empty
        """
        super().__init__()
        self._choices = choices
        by_line = {choice.line: choice for choice in choices}
        lately = [by_line[line] for line in reversed(recent) if line in by_line][:MOST_RECENT]
        self._lately = [replace(choice, group="recent") for choice in lately]
        self._preview = preview
        self._previewed = ""
        self._timer: Timer | None = None
        self.line = Input(placeholder=self.PLACEHOLDER, id="palette-line", compact=True)
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
        self.query_one("#palette").border_title = to_border_title(self.TITLE_OF_FRAME)
        self.line.value = self.take_recovered_text()
        self.line.focus()
        self._show()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show()

    def _show(self) -> None:
        pattern = self.line.value.strip()
        if pattern:
            lately = {choice.line: place for place, choice in enumerate(self._lately)}
            choices = sorted(self._choices, key=lambda choice: lately.get(choice.line, MOST_RECENT))
            hits = rank_rows(choices, pattern)
            words = fold_accents(pattern).split()
            # Actions and views of that name first, then places of it, then what only says it in its help.
            names = {choice.line: fold_accents(choice.title if self.list.has_help else choice.help) for choice in hits}
            hits.sort(key=lambda hit: (not all(word in names[hit.line] for word in words), hit.group in PLACES))
            self.list.show(hits, pattern)
        else:
            recent = {choice.line for choice in self._lately}
            rest = [choice for choice in self._choices if choice.group not in PLACES and choice.line not in recent]
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
        look = name if word == "look" else ""
        if look != self._previewed and self.is_active:
            self._previewed = look
            self._preview(look)

    def on_line_list_opened(self, event: LineList.Opened) -> None:
        event.stop()
        self.action_choose()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        if self.list.pattern != self.line.value.strip():  # enter came with the last letters
            self._show()
        choice = self.list.choice
        if choice is None:
            return
        if choice.enabled:
            self._leave(choice)
        else:
            self.show_notice(f"! Not possible here now: {choice.title}", "$warning")

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


class KeyHelp(CommandPalette):
    """Every key of the panes under it; enter runs what stands under the cursor."""

    BINDING_GROUP_TITLE = "Help"
    TITLE_OF_FRAME = "keys"
    PLACEHOLDER = "type to find a key by its name or by what it does"

    def __init__(self, choices: Sequence[CommandChoice]) -> None:
        super().__init__(choices, (), lambda _: None)
        self.list.has_help = False

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.line.value == "?":  # the key that opened it closes it
            self.action_leave()
        super().on_input_changed(event)
