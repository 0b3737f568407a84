"""`ScreenCells`: what the terminal shows and what it should show, cell by cell. Only the difference is sent.

Textual draws a region anew when anything in it has changed, though most of its cells come out as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import split_graphemes
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate

NEAR = 4
"""Unchanged cells between two changes that are sent again: to move past them takes as many bytes."""

OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "5": "25", "6": "25", "7": "27", "9": "29", "21": "24", "53": "55"}
"""What turns attributes on, and off (ECMA-48)."""


class Pen(NamedTuple):
    """What a terminal must be told to draw in a style."""

    foreground: str = ""
    background: str = ""
    attributes: frozenset[str] = frozenset()
    link: str = ""

    @property
    def shows_on_blanks(self) -> bool:
        return bool(self.link or self.attributes & {"4", "7", "9", "21", "53"})


PLAIN = Pen()

Cell = tuple[str, Pen]
"""A character with what joins it, and its pen. The second half of a wide one is an empty string."""

UNKNOWN: Cell = ("\0", PLAIN)
"""A cell of which nobody knows what it shows: no cell is equal to it."""


class ScreenCells:
    def __init__(self) -> None:
        self._size = (0, 0)
        self._next: list[list[Cell]] = []
        self._shown: list[list[Cell]] = []
        self._cursor = self._shown_cursor = (0, 0)

    def forget_shown(self) -> None:
        """Send everything again: the terminal was cleared, or used by another program."""
        width, height = self._size
        self._shown = [[UNKNOWN] * width for _ in range(height)]

    def put(
        self, update: CompositorUpdate, size: tuple[int, int], cursor: tuple[int, int], colours: ColorSystem
    ) -> None:
        """Write down what is to be seen.

        :param size: columns and rows of the screen; another size than before begins anew
        :param cursor: column and row where the cursor belongs
        """
        if size != self._size:
            self._size = size
            self._next = [[(" ", PLAIN)] * size[0] for _ in range(size[1])]
            self.forget_shown()
        for x, y, segments in placed_segments(update):
            if 0 <= y < size[1]:
                put_cells(self._next[y], x, cells_of(segments, colours))
        self._cursor = cursor

    def take(self) -> str:
        """Return what shows all that was put in since the last time; empty when all of it is shown."""
        sequences: list[str] = []
        pen = PLAIN
        for y, row in enumerate(self._next):
            for begin, end in changed_spans(row, self._shown[y]):
                sequences.append(f"\x1b[{y + 1};{begin + 1}H")
                for text, cell_pen in row[begin:end]:
                    if pen != cell_pen and not (text == " " and is_same_blank(pen, cell_pen)):
                        sequences.append(change_pen(pen, cell_pen))
                        pen = cell_pen
                    sequences.append(text)
            self._shown[y] = row[:]
        if pen != PLAIN:
            sequences.append(change_pen(pen, PLAIN))
        if sequences or self._cursor != self._shown_cursor:
            sequences.append(f"\x1b[{self._cursor[1] + 1};{self._cursor[0] + 1}H")
            self._shown_cursor = self._cursor
        return "".join(sequences)


def placed_segments(update: CompositorUpdate) -> Iterator[tuple[int, int, Iterable[Segment]]]:
    """Yield column, row and segments of all that an update draws."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield update.region.x, y, [segment for strip in strips for segment in strip]
    elif isinstance(update, ChopsUpdate):
        for y, x1, x2 in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x < x2 and end > x1:
                    yield x, y, strip


def cells_of(segments: Iterable[Segment], colours: ColorSystem) -> list[Cell]:
    """Return the cells of segments. Control characters are not sent to a terminal."""
    cells: list[Cell] = []
    for text, style, control in segments:
        if control:
            continue
        pen = make_pen(style, colours) if style is not None else PLAIN
        blank = " ", pen if pen.shows_on_blanks else Pen("", pen.background)
        if text.isascii() and text.isprintable():
            cells += [blank if character == " " else (character, pen) for character in text]
            continue
        text = "".join([c for c in text if c.isprintable() or c.isspace() or ord(c) > 0x9F])
        for start, end, width in split_graphemes(text)[0]:
            character = text[start:end]
            if width:
                cells.append(blank if character.isspace() and width == 1 else (character, pen))
                cells += [("", pen)] * (width - 1)
            elif cells and cells[-1][0]:
                cells[-1] = (cells[-1][0] + character, cells[-1][1])
    return cells


def put_cells(row: list[Cell], x: int, cells: list[Cell]) -> None:
    """Draw cells over a row. A wide character of which half is drawn over or cut off leaves a blank."""
    room = max(0, len(row) - x)
    if len(cells) > room > 0 and not cells[room][0]:
        cells[room - 1] = (" ", cells[room - 1][1])
    cells = cells[:room]
    end = x + len(cells)
    if 0 < x < len(row) and not row[x][0]:
        row[x - 1] = (" ", row[x - 1][1])
    if end < len(row) and not row[end][0]:
        row[end] = (" ", row[end][1])
    row[x:end] = cells


def changed_spans(row: list[Cell], previous: list[Cell]) -> Iterable[tuple[int, int]]:
    """Return the first column of each part of a row that must be sent, and the column after it."""
    if row == previous:
        return ()
    # Terminals differ in how wide joined characters are: nothing beyond the first is where it should be, so all of it
    # is sent, and what follows one is placed anew.
    joined = next((x for x in range(len(row)) if len(row[x][0]) > 1 or len(previous[x][0]) > 1), len(row))
    spans: list[tuple[int, int]] = []
    for x in range(len(row)):
        if x < joined and row[x] == previous[x]:
            continue
        begin = x - 1 if x and not row[x][0] else x  # half of a wide character cannot be sent
        if spans:
            first, end = spans[-1]
            is_joined = len(row[end - 1][0] or row[end - 2][0]) > 1
            if begin < end or (begin - end <= NEAR and not is_joined):
                spans[-1] = (first, x + 1)
                continue
        spans.append((begin, x + 1))
    return spans


@lru_cache(2048)
def make_pen(style: Style, colours: ColorSystem) -> Pen:
    def codes(colour: Color | None, foreground: bool) -> str:
        return ";".join(colour.downgrade(colours).get_ansi_codes(foreground)) if colour is not None else ""

    attributes = {"1": style.bold, "2": style.dim, "3": style.italic, "4": style.underline, "5": style.blink}
    attributes |= {
        "6": style.blink2,
        "7": style.reverse,
        "9": style.strike,
        "21": style.underline2,
        "53": style.overline,
    }
    active = frozenset(code for code, is_on in attributes.items() if is_on)
    return Pen(codes(style.color, True), codes(style.bgcolor, False), active, style.link or "")


def is_same_blank(pen: Pen, other: Pen) -> bool:
    return pen.background == other.background and not (pen.shows_on_blanks or other.shows_on_blanks)


@lru_cache(2048)
def change_pen(old: Pen, new: Pen) -> str:
    codes = [OFF[code] for code in old.attributes - new.attributes]
    codes += [code for code in new.attributes if code not in old.attributes or OFF[code] in codes]
    if old.foreground != new.foreground:
        codes.append(new.foreground or "39")
    if old.background != new.background:
        codes.append(new.background or "49")
    sequence = f"\x1b[{';'.join(codes)}m" if codes else ""
    return sequence if old.link == new.link else f"{sequence}\x1b]8;;{new.link}\x1b\\"
