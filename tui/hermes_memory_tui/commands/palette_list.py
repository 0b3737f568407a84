"""`PaletteList`: the lines of the palette, with their groups and keys."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment

from hermes_memory_tui.commands.command import CommandChoice
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.lists.grid_rows import find_word_spans
from hermes_memory_tui.widgets.lists.line_list import LineList

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
        self.wanted = ""
        """The words that the commands were found by."""

    @property
    def row_count(self) -> int:
        return len(self.choices)

    @property
    def choice(self) -> CommandChoice | None:
        return self.choices[self.cursor] if self.choices else None

    def show(self, choices: Sequence[CommandChoice], wanted: str) -> None:
        self.choices, self.wanted = choices, wanted
        self.rows_changed()
        self.cursor = 0
        self.scroll_home(animate=False)
        self.post_message(self.Moved(self))

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        choice = self.choices[row]
        is_first = row == 0 or self.choices[row - 1].group != choice.group
        group = choice.group if self.wanted or is_first else ""
        sides = (GROUP_WIDTH, KEY_WIDTH) if width >= GROUP_WIDTH + KEY_WIDTH + LEAST_HELP else (1, 0)
        room = width - sum(sides)
        name_width = min(30, room // 2) if room >= 2 * LEAST_HELP else room
        return [
            Segment(display_formats.fit_text(f" {group}", sides[0]), self.ink("dim")),
            *self._draw_title(display_formats.fit_middle(choice.title, name_width)),
            Segment(display_formats.fit_text(f" {choice.key}", sides[1]), self.ink("accent", bold=True)),
            Segment(display_formats.fit_text(f" {choice.help}", room - name_width), self.ink("dim")),
        ]

    def _draw_title(self, text: str) -> list[Segment]:
        parts, at = [], 0
        for start, end in find_word_spans(text, self.wanted):
            parts += [
                Segment(text[at:start], self.ink()),
                Segment(text[start:end], self.ink(bold=True, underline=True)),
            ]
            at = end
        return [one for one in (*parts, Segment(text[at:], self.ink())) if cell_len(one.text)]

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        said = "" if self.choices or line else " Nothing is called that."
        return [Segment(display_formats.fit_text(said, width), self.ink("dim"))]
