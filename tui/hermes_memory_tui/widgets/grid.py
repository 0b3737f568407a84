"""`Grid`: a table with columns, for lists that are loaded whole: scopes, sessions, changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.binding import Binding, BindingType

from hermes_memory_tui.text import display_formats
from hermes_memory_tui.widgets.line_list import LineList

GAP = 1
"""Cells between two columns."""


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column."""

    title: str
    width: int = 0
    """Cells; 0 shares what the others leave."""
    right: bool = False
    """Whether it is set flush right."""
    least: int = 0
    """Cells of the whole table from which the column is shown."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell: a text and its colour, a variable of the look."""

    text: str
    ink: str = ""
    bold: bool = False
    on: str = ""
    name: bool = False
    """Whether its end says as much as its beginning, so that it is cut in the middle."""
    parts: tuple[tuple[str, str, str], ...] = ()
    """Instead of the text: pieces as (text, ink, on), for bars and strips."""

    @property
    def plain(self) -> str:
        """The text as a cell of a Markdown table."""
        text = "".join(piece for piece, _, _ in self.parts) if self.parts else self.text
        return text.strip().replace("|", "\\|")


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row. Its `key` stays the same when its content changes."""

    key: object
    cells: tuple[GridCell, ...]


class Grid(LineList):
    """Shows rows; the cursor follows its row's key when they change."""

    BINDING_GROUP_TITLE = "List"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="grid.open", tooltip="Open what the cursor is on", show=False),
    ]

    def __init__(self, columns: Sequence[GridColumn], id: str = "grid") -> None:
        super().__init__(id)
        self.columns = columns
        self.rows: Sequence[GridRow] = ()
        self._awaited: object = None
        self.stays_at_top = False
        """Whether a cursor on the first row stays there when rows come above it: for what is followed as it happens."""
        self.empty: Sequence[str] = ()
        """What is said where the rows would be."""

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def key(self) -> object | None:
        """The key of the row under the cursor."""
        return self.rows[self.cursor].key if self.rows else None

    def show(self, rows: Sequence[GridRow]) -> None:
        """Show other rows."""
        key, self._awaited = self.key if self._awaited is None else self._awaited, None
        before = self.cursor
        self.rows = rows
        row = next((place for place, one in enumerate(rows) if one.key == key), min(before, max(0, len(rows) - 1)))
        if self.stays_at_top and not before:
            row = 0
        self.rows_changed()
        self.set_reactive(LineList.cursor, row)
        self.keep_in_view()
        self.post_message(self.Moved(self))

    def go_to(self, key: object) -> bool:
        """Move the cursor to the row of a key, once there are rows, and return whether it is there now."""
        for place, row in enumerate(self.rows):
            if row.key == key:
                self.cursor = place
                return True
        if not self.rows:
            self._awaited = key
        return False

    def table(self) -> str:
        """Return all rows as a Markdown table."""
        named = [place for place, column in enumerate(self.columns) if column.title]
        lines = ["| " + " | ".join(self.columns[place].title for place in named) + " |", "|" + " --- |" * len(named)]
        for row in self.rows:
            lines.append("| " + " | ".join(row.cells[place].plain for place in named) + " |")
        return "\n".join(lines) + "\n"

    @property
    def head_lines(self) -> int:
        return 1

    def draw_head(self, width: int) -> list[Segment]:
        dim = self.ink("dim")
        return self._line([GridCell(column.title, "dim") for column in self.columns], width) or [
            Segment(" " * width, dim)
        ]

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        return self._line(self.rows[row].cells, width)

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        place = line - 1
        if self.rows or not 0 <= place < len(self.empty):
            return super().draw_empty(line, width)
        return [
            Segment(
                display_formats.fit_text("  " + self.empty[place], width), self.ink() if place == 0 else self.ink("dim")
            )
        ]

    def _line(self, cells: Sequence[GridCell], width: int) -> list[Segment]:
        segments: list[Segment] = []
        room = width
        for cell, column, cells_wide in zip(cells, self.columns, self.widths(width), strict=True):
            if not cells_wide or room <= 0:
                continue
            segments += self._cell(cell, min(cells_wide, room), column.right)
            room -= min(cells_wide, room)
            if room > 0:
                segments.append(Segment(" " * GAP, self.ink()))
                room -= GAP
        if room > 0:
            segments.append(Segment(" " * room, self.ink()))
        return segments

    def _cell(self, cell: GridCell, width: int, right: bool) -> list[Segment]:
        if width <= 0:
            return []
        if cell.parts:
            return self._parts(cell, width)
        style = self.ink(cell.ink, on=cell.on, bold=cell.bold)
        if right and cell_len(cell.text) < width:
            return [Segment(cell.text.rjust(width - cell_len(cell.text) + len(cell.text)), style)]
        return [
            Segment((display_formats.fit_middle if cell.name else display_formats.fit_text)(cell.text, width), style)
        ]

    def _parts(self, cell: GridCell, width: int) -> list[Segment]:
        segments, room = [], width
        for text, ink, on in cell.parts:
            piece = text if cell_len(text) <= room else display_formats.fit_text(text, room)
            room -= cell_len(piece)
            if piece:
                segments.append(Segment(piece, self.ink(ink, on=on)))
        if room:
            segments.append(Segment(" " * room, self.ink()))
        return segments

    def widths(self, width: int) -> list[int]:
        """Return the cells of each column in a table of this width; 0 for a hidden column."""
        fixed = [0 if width < column.least else column.width or -1 for column in self.columns]
        shared = fixed.count(-1)
        left = width - sum(cells + GAP for cells in fixed if cells > 0) - GAP * max(0, shared - 1)
        each = max(6, left // shared) if shared else 0
        found, last = [], max((place for place, cells in enumerate(fixed) if cells == -1), default=-1)
        for place, cells in enumerate(fixed):
            found.append(max(6, left - each * (shared - 1)) if place == last else each if cells == -1 else cells)
        return found
