"""`PickList`: lines to choose one from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment

from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.lists.line_list import LineList


@dataclass(frozen=True, slots=True)
class Choice:
    """A line that can be chosen."""

    key: str
    """What it is called by the program."""
    says: str
    """What it is called on the screen."""
    beside: str = ""
    """What else is known of it, in passing."""

    @property
    def words(self) -> str:
        return fold_accents(self.says)


class PickList(LineList):
    """Choices. Posts `Opened` of `LineList`."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id)
        self.choices: Sequence[Choice] = ()
        self.empty = ""
        """What is said where there is nothing to choose."""

    @property
    def row_count(self) -> int:
        return len(self.choices)

    @property
    def choice(self) -> Choice | None:
        return self.choices[self.cursor] if self.choices else None

    def show(self, choices: Sequence[Choice], row: int | None = None) -> None:
        self.choices = choices
        self.rows_changed()
        self.cursor = self.cursor if row is None else row

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        choice = self.choices[row]
        says = to_printable(choice.says)
        room = max(width - 1, 0)
        name_width = min(max(len(says), 22), room) if choice.beside else room
        return [
            Segment(" ", self.ink("dim")),
            Segment(display_formats.fit_middle(says, name_width), self.ink(bold=bool(choice.beside))),
            Segment(
                display_formats.fit_text(
                    f"  {to_printable(choice.beside)}" if choice.beside else "", room - name_width
                ),
                self.ink("dim"),
            ),
        ]

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        if self.choices or line != 0:
            return super().draw_empty(line, width)
        return [Segment(display_formats.fit_text(f" {self.empty}", width), self.ink("dim"))]
