"""`Grid`: a table with columns, for lists that are loaded whole: scopes, sessions, changes.

Filter, order and marks are kept apart from the rows: a view shows new rows, and they stay.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType

from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_tui.text import display_formats
from hermes_memory_tui.text.highlight import split_at_spans
from hermes_memory_tui.widgets.lists.grid_rows import (
    GridCell,
    GridColumn,
    GridRow,
    GridSort,
    arrange_rows,
    find_word_spans,
)
from hermes_memory_tui.widgets.lists.line_list import LineList, ListMessage
from hermes_memory_tui.widgets.lists.marked_list import MarkedList

__all__ = ["Grid", "GridCell", "GridColumn", "GridRow", "GridSort"]

GAP = 1
"""Cells between two columns."""

SHARED_AT_LEAST = 20
"""Cells that each column without a width keeps where another grows."""

MARK = 1
"""Cells before the first column, where the mark of a row stands."""


class Grid(MarkedList):
    """Shows rows; the cursor and the marks follow the keys of their rows when they change."""

    BINDING_GROUP_TITLE = "List"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="grid.open", tooltip="Open what the cursor is on", show=False),
    ]

    class SortChosen(ListMessage):
        """Posted when a click on the head chose an order."""

    def __init__(self, columns: Sequence[GridColumn], id: str = "grid") -> None:
        super().__init__(id)
        self.columns = columns
        self.all_rows: Sequence[GridRow] = ()
        """The rows as they were given."""
        self.rows: Sequence[GridRow] = ()
        """Those that match the filter, in the order that was chosen."""
        self.filter = ""
        """Words that a row must hold; `!word`: must not."""
        self.sort: GridSort | None = None
        """The order that was chosen; None leaves the rows as they were given, best matches first."""
        self.can_sort = True
        """Whether an order can be chosen: not where only a part of the rows was read."""
        self._awaited: object = None
        self.is_newest_first = False
        """Whether new rows come at the top, where an untouched cursor follows them."""
        self.empty: Sequence[str] = ()
        """What is said where the rows would be."""
        self._needed: dict[int, int] = {}
        """Cells of the longest text of each column that grows, by its place."""

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def key(self) -> object | None:
        return self.rows[self.cursor].key if self.rows else None

    def key_of_row(self, row: int) -> Any:
        return self.rows[row].key

    def find_row(self, key: Any) -> int | None:
        return next((place for place, row in enumerate(self.rows) if row.key == key), None)

    @property
    def selected_keys(self) -> list[Any]:
        """The keys of the marked rows, in the order of the list; else of the one under the cursor."""
        if self.marked:
            return [row.key for row in self.rows if row.key in self.marked]
        before = self.before_following()
        if before is not None:
            return before
        return [] if self.key is None else [self.key]

    def show(self, rows: Sequence[GridRow]) -> None:
        """Show other rows; marks of rows that are gone go with them."""
        if rows and rows == self.all_rows and self._awaited is None:
            return
        self.all_rows = rows
        if self.marked:
            there = {row.key for row in rows}
            missing = [key for key in self.marked if key not in there]
            for key in missing:
                del self.marked[key]
            if missing:
                self.post_message(self.MarksChanged(self))
        self._arrange()

    def set_filter(self, text: str) -> None:
        """Show only rows that match, the best match first and under the cursor."""
        if text != self.filter:
            self.filter = text
            self._arrange(top=True)

    def set_sort(self, sort: GridSort | None) -> None:
        self.sort = sort
        self._arrange()

    def _arrange(self, top: bool = False) -> None:
        follows = self.is_newest_first and self.sort is None and self._awaited is None and self.is_following
        key = self.key if self._awaited is None else self._awaited
        if self.all_rows:  # an order or a filter that is set before there are rows finds nothing
            self._awaited = None
        before, next_key = self.cursor, self._next_key(key)
        old_keys = {row.key for row in self.rows} if self.is_newest_first and not top else None
        self.rows = arrange_rows(self.all_rows, self.filter, self.sort)
        self._needed = longest_texts(self.columns, self.rows)
        row = self.find_row(key)
        if row is None:
            row = min(before, max(0, len(self.rows) - 1))
        if key in self._leaving and row != before:
            row = self._row_to_go_on(next_key, before)
        if top or follows:
            if follows and row and key is not None:
                self.note_followed([key])
            row = 0
        elif old_keys:
            self.note_new_above(sum(item.key not in old_keys for item in self.rows[:row]))
        self.rows_changed()
        self.set_reactive(LineList.cursor, row)
        self.keep_in_view()
        self.post_message(self.Moved(self))

    def go_to(self, key: object) -> bool:
        """Move the cursor to the row of a key, once there are rows, and return whether it is there now."""
        row = self.find_row(key)
        if row is not None:
            self.cursor = row
        elif not self.all_rows:
            self._awaited = key
        return row is not None

    def to_text(self, kind: str) -> str:
        """Return what is shown, in its order: as `.md`, `.csv` or `.jsonl`."""
        places = [place for place, column in enumerate(self.columns) if column.title]
        titles = [self.columns[place].title for place in places]
        rows = [[row.cells[place].plain for place in places] for row in self.rows]
        if kind == ".jsonl":
            lines = (json.dumps(dict(zip(titles, row, strict=True)), ensure_ascii=False) for row in rows)
            return "".join(f"{line}\n" for line in lines)
        if kind == ".csv":
            from hermes_memory_tui.text.separated_values import to_csv_line

            return "".join(map(to_csv_line, [titles, *rows]))
        table = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
        table += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        return "\n".join(table) + "\n"

    @property
    def head_lines(self) -> int:
        return int(any(column.title for column in self.columns))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and offset.y < self.head_lines:
            column = self._column_at(offset.x)
            if column is not None and self.can_sort:
                self.sort = next_sort(self.sort, column)
                self._arrange()
                self.post_message(self.SortChosen(self))
            return
        super().on_click(event)

    def _column_at(self, x: int) -> int | None:
        """Return the place of the titled column whose head is at `x`."""
        begin = MARK
        for place, cells in enumerate(self.widths(self.scrollable_content_region.width)):
            if cells:
                if begin <= x < begin + cells + GAP:
                    return place if self.columns[place].title else None
                begin += cells + GAP
        return None

    def draw_head(self, width: int) -> list[Segment]:
        heads = [self._head_cell(place) for place in range(len(self.columns))]
        # Of a title only what it says whole is highlighted: it is no row, whose letters could have matched.
        return self._line(heads, width, Segment(" " * MARK, self.ink()), fold_accents(self.filter))

    def _head_cell(self, place: int) -> GridCell:
        title = self.columns[place].title
        if self.sort is None or self.sort.column != place:
            return GridCell(title, "dim")
        return GridCell(f"{title}{'▼' if self.sort.descending else '▲'}", "accent")

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        is_marked = self.rows[row].key in self.marked
        mark = Segment("▌" if is_marked else " " * MARK, self.ink("accent", bold=True) if is_marked else self.ink())
        return self._line(self.rows[row].cells, width, mark, self.rows[row].words if self.filter else "")

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        place = line - 1
        texts = self.empty if not self.all_rows else ("Nothing matches.", "", "esc: clear the filter")
        if self.rows or not 0 <= place < len(texts):
            return super().draw_empty(line, width)
        return [
            Segment(display_formats.fit_text("  " + texts[place], width), self.ink() if place == 0 else self.ink("dim"))
        ]

    def _line(self, cells: Sequence[GridCell], width: int, mark: Segment, words: str) -> list[Segment]:
        """Return the cells of a line. :param words: the folded text in which the filter looked, where there is one"""
        segments = [mark] if width > MARK else []
        room = width - MARK * len(segments)
        for cell, column, cells_wide in zip(cells, self.columns, self.widths(width), strict=True):
            if not cells_wide or room <= 0:
                continue
            segments += self._cell(cell, min(cells_wide, room), column.right, words)
            room -= min(cells_wide, room)
            if room > 0:
                segments.append(Segment(" " * GAP, self.ink()))
                room -= GAP
        if room > 0:
            segments.append(Segment(" " * room, self.ink()))
        return segments

    def _cell(self, cell: GridCell, width: int, right: bool, words: str) -> list[Segment]:
        if width <= 0:
            return []
        if cell.parts:
            return self._parts(cell, width)
        style = self.ink(cell.ink, on=cell.on, bold=cell.bold)
        if right and cell_len(cell.text) < width:
            text = cell.text.rjust(width - cell_len(cell.text) + len(cell.text))
        else:
            text = (display_formats.fit_middle if cell.name else display_formats.fit_text)(cell.text, width)
        return self._highlight(text, style, words) if self.filter else [Segment(text, style)]

    def _highlight(self, text: str, style: Style, words: str) -> list[Segment]:
        highlight = self.ink("accent", bold=True, underline=True)
        spans = find_word_spans(text, self.filter, words)
        return [Segment(part, highlight if hit else style) for part, hit in split_at_spans(text, spans)]

    def _parts(self, cell: GridCell, width: int) -> list[Segment]:
        segments, room = [], width
        # What is left decides whether a piece is cut: one that just fits may not be the last.
        left = sum(cell_len(text) for text, _, _ in cell.parts)
        for text, ink, on in cell.parts:
            if left > room and cell_len(text) >= room:
                piece, left = display_formats.fit_text(text + "…", room), room
            else:
                piece = text
            left -= cell_len(piece)
            room -= cell_len(piece)
            if piece:
                segments.append(Segment(piece, self.ink(ink, on=on)))
            if not room:
                break
        if room:
            segments.append(Segment(" " * room, self.ink()))
        return segments

    def widths(self, width: int) -> list[int]:
        """Return the cells of each column in a table of this width; 0 for one that has no room."""
        width -= MARK
        fixed = [0 if width < column.least else column.width or -1 for column in self.columns]
        shared = fixed.count(-1)
        left = width - sum(cells + GAP for cells in fixed if cells > 0) - GAP * max(0, shared - 1)
        for place, needed in sorted(self._needed.items(), key=lambda item: item[1]):  # the shortest are whole first
            if fixed[place] > 0:
                more = max(0, min(needed - fixed[place], left - SHARED_AT_LEAST * shared))
                fixed[place] += more
                left -= more
        each = max(6, left // shared) if shared else 0
        widths, last = [], max((place for place, cells in enumerate(fixed) if cells == -1), default=-1)
        for place, cells in enumerate(fixed):
            widths.append(max(6, left - each * (shared - 1)) if place == last else each if cells == -1 else cells)
        return widths


def longest_texts(columns: Sequence[GridColumn], rows: Sequence[GridRow]) -> dict[int, int]:
    """Return the cells of the longest text of each column that grows, by its place, and no more than it grows to."""
    return {
        place: min(column.most, max((cell_len(row.cells[place].text) for row in rows), default=0))
        for place, column in enumerate(columns)
        if column.most
    }


def next_sort(sort: GridSort | None, column: int) -> GridSort:
    """Return the order that a click on a column's head chooses: ascending, then the other way round."""
    return GridSort(column, sort is not None and sort.column == column and not sort.descending)
