"""`ScreenCells`: what the terminal shows and what it should show, cell by cell. Only the difference is sent.

Textual draws a region anew when anything in it has changed: 9 to 16 KB for a key that moves a cursor. Most cells come
out as they were. Here what is drawn is written down, and turned into output when the terminal takes some: the cells
that differ from what it was sent before, with the shortest moves and changes of style between them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import split_graphemes
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip

NEAR = 4
"""Unchanged cells between two changes that are sent again: moving past them costs as many bytes."""

LONG_BLANK = 9
"""Blank cells from which on erasing is shorter than sending spaces."""

FEW_BLANKS = 4
"""Blank cells that are as short to send as an erasing, which leaves the cursor where it was."""

MOST_PENS = 2048
"""Styles whose codes are kept; a look uses some hundreds, an animated colour any number."""

MOST_MOVES = 16_384
"""Ways of the cursor that are kept; a frame has up to a hundred."""

MOST_STRIPS = 1024
"""Strips whose cells are kept, some screens' worth."""

MOST_ORDERED = 160
"""Runs whose shortest way is looked for, in some 10 ms; a list and its detail have up to a hundred."""

TRUE_FOREGROUND = "38;2;"
"""What a foreground of 16 million colours begins with (ITU-T T.416)."""

ATTRIBUTES: tuple[tuple[int, str, str], ...] = (
    (1, "1", "22"),
    (2, "2", "22"),
    (4, "3", "23"),
    (8, "4", "24"),
    (16, "5", "25"),
    (32, "6", "25"),
)
ATTRIBUTES += ((64, "7", "27"), (128, "8", "28"), (256, "9", "29"), (512, "21", "24"), (4096, "53", "55"))
"""Bit of a style, the code that turns it on and the one that turns it off (ECMA-48)."""

SINGLE = frozenset(
    chr(code)
    for first, last in ((0x20, 0x7E), (0xA1, 0xAC), (0xAE, 0x2FF), (0x2010, 0x2027), (0x2190, 0x21FF), (0x2500, 0x25FC))
    for code in range(first, last + 1)
)
"""Characters of one cell each, none of which joins another: text of these alone need not be split into graphemes."""

SEEN_ON_BLANKS = 64 | 8 | 256 | 512 | 4096
"""Attributes that show where there is no character: reverse, lines under, through and over."""


class Pen(NamedTuple):
    """What a terminal must be told to draw in a style."""

    foreground: str = ""
    background: str = ""
    attributes: int = 0
    link: str = ""


PLAIN = Pen()

Cell = tuple[str, Pen]
"""A character with what joins it, and its pen. The second half of a wide one is an empty string."""

Place = tuple[int, int]
"""A column and a row."""

BLANK: Cell = (" ", PLAIN)
UNKNOWN: Cell = ("\0", PLAIN)
"""A cell of which nobody knows what it shows: no cell is equal to it."""


class PenCells(dict[str, Cell]):
    """Cells of one pen by character: each is made once, so that to draw is to look up, and equal cells are mostly the same."""

    def __init__(self, pen: Pen) -> None:
        super().__init__()
        kept = pen.attributes & SEEN_ON_BLANKS
        self.pen = pen
        self.blank = pen._replace(foreground=pen.foreground if kept else "", attributes=kept)
        """The pen of its blanks, which have no foreground."""
        self[" "] = " ", self.blank

    def __missing__(self, character: str) -> Cell:
        cell = self[character] = character, self.pen
        return cell


PLAIN_CELLS = PenCells(PLAIN)


class StripCells(NamedTuple):
    """The cells of a strip."""

    strip: Iterable[Segment]
    cells: list[Cell]
    """They are never changed."""
    may_join: bool
    """Whether characters may be joined in them."""


class ScreenCells:
    """The cells of a screen. Frames are put in by the app, and taken out by the thread that writes."""

    def __init__(self, *, erases_in_colour: bool = True) -> None:
        """Begin with a screen of which nothing is known.

        :param erases_in_colour: whether the terminal erases with the current background
        """
        self._lock = threading.Lock()
        self._erases_in_colour = erases_in_colour
        self._pens: dict[Style, PenCells] = {}
        self._strips: dict[int, StripCells] = {}
        """By identity, which a strip keeps while it is held here."""
        self._resize(0, 0)

    def _resize(self, width: int, height: int) -> None:
        self._size = (width, height)
        self._wanted = [[BLANK] * width for _ in range(height)]
        self._cursor = (0, 0)
        self._chosen: int | None = None
        self._joined = set[int]()  # rows in which characters may be joined, wanted or shown
        self._forget()

    def _forget(self) -> None:
        width, height = self._size
        self._shown = [[UNKNOWN] * width for _ in range(height)]
        self._dirty = set(range(height))
        self._shown_chosen: int | None = None
        self._at: Place | None = None
        self._pen: Pen | None = None

    def forget_shown(self) -> None:
        """Send everything again: the terminal was cleared, or used by another program."""
        with self._lock:
            self._forget()

    def put(
        self, update: CompositorUpdate, size: Place, cursor: Place, colours: ColorSystem, chosen: int | None = None
    ) -> None:
        """Write down what is to be seen.

        :param size: columns and rows of the screen; another size than before begins anew
        :param cursor: column and row where the cursor belongs
        :param chosen: row of the chosen line of a list
        """
        with self._lock:
            if size != self._size:
                self._resize(*size)
            for x, y, strip in placed_strips(update):
                self._put_segments(x, y, strip, colours)
            self._cursor, self._chosen = cursor, chosen

    def _put_segments(self, x: int, y: int, segments: Iterable[Segment], colours: ColorSystem) -> None:
        width, height = self._size
        if not 0 <= y < height or x >= width:
            return
        row = self._wanted[y]
        _, cells, may_join = self._strips.get(id(segments)) or self.prepare(segments, colours)
        if may_join:
            self._joined.add(y)
        if len(cells) > width - x:
            cells, cut = cells[: width - x], cells[width - x]
            if cells and not cut[0]:
                cells[-1] = (" ", cells[-1][1])
        end = x + len(cells)
        # What is drawn over half of a wide character leaves a blank of the other half.
        if 0 < x < width and not row[x][0]:
            row[x - 1] = (" ", row[x - 1][1])
        if end < width and not row[end][0]:
            row[end] = (" ", row[end][1])
        row[x:end] = cells
        self._dirty.add(y)

    def prepare(self, segments: Iterable[Segment], colours: ColorSystem) -> StripCells:
        """Return the cells of a strip, and keep them: rows of a list that scrolls are drawn again, from the same strips."""
        cells: list[Cell] = []
        may_join = False
        for text, style, control in segments:
            if control:
                continue
            pen_cells = self._pen_cells_of(style, colours)
            if (text.isascii() and text.isprintable()) or SINGLE.issuperset(text):
                cells += map(pen_cells.__getitem__, text)
            else:
                put_graphemes(cells, text, pen_cells.pen, pen_cells.blank)
                may_join = True
        made = StripCells(segments, cells, may_join)
        if isinstance(segments, Strip):
            if len(self._strips) >= MOST_STRIPS:
                self._strips.clear()
            self._strips[id(segments)] = made
        return made

    def _pen_cells_of(self, style: Style | None, colours: ColorSystem) -> PenCells:
        """Return the cells in a style."""
        if style is None:
            return PLAIN_CELLS
        found = self._pens.get(style)
        if found is None:
            if len(self._pens) > MOST_PENS:
                self._pens.clear()
            self._pens[style] = found = PenCells(make_pen(style, colours))
        return found

    def take(self, most: int | None = None, *, is_brief: bool = False) -> str:
        """Return what shows all that was put in since the last time; empty when all of it is shown.

        :param most: characters; what is longer is left for later but for the chosen line, as it was and is
        :param is_brief: whether each byte counts: foregrounds are the nearest of 256 colours, and a short way is looked for
        """
        with self._lock:
            self._dirty = rows = {y for y in self._dirty if self._wanted[y] != self._shown[y]}
            text, pen, at = self._draw(rows, is_brief)
            if most is not None and len(text) > most:
                rows = rows & {self._chosen, self._shown_chosen}
                text, pen, at = self._draw(rows, is_brief)
            self._pen, self._at, self._shown_chosen = pen, at, self._chosen
            for y in rows:
                self._shown[y] = self._wanted[y][:]
            self._joined -= {y for y in self._joined & rows if all(len(text) <= 1 for text, _ in self._wanted[y])}
            self._dirty = self._dirty - rows
            if self._cursor != (0, 0) and self._at != self._cursor:  # none has a cursor in the corner
                text += move(self._at, *self._cursor)
                self._at = self._cursor
            return text

    @property
    def is_behind(self) -> bool:
        """Whether something was left for later."""
        return bool(self._dirty)

    def _draw(self, rows: Iterable[int], is_brief: bool) -> tuple[str, Pen | None, Place | None]:
        """Return what draws rows as they should be, and the pen and the place of the cursor afterwards."""
        delicate: list[Run] = []
        runs: list[Run] = []
        for y in sorted(rows):
            wanted, shown = self._wanted[y], self._shown[y]
            joined = self._find_joined(y)
            if joined is None:
                runs += join_blanks(self._find_runs(y, wanted, shown, len(wanted)))
            else:
                delicate += self._find_runs(y, wanted, shown, joined)
        if is_brief:
            delicate, runs = ([run._replace(pen=shorten_pen(run.pen)) for run in some] for some in (delicate, runs))
        text, pen, at = write_runs(delicate, self._pen, self._at)
        if is_brief and len(runs) <= MOST_ORDERED:
            runs = nearest_first(runs, pen, at)
        else:
            # A style is named in up to 40 bytes, a place in 8: no frame was seen that is shorter row after row.
            runs.sort(key=lambda run: run.pen)
        rest, pen, at = write_runs(runs, pen, at)
        return text + rest, pen, at

    def _find_joined(self, y: int) -> int | None:
        """Return the first column of a row with a joined character, wanted or shown; None without one."""
        if y not in self._joined:
            return None
        columns = (x for row in (self._wanted, self._shown) for x, (text, _) in enumerate(row[y]) if len(text) > 1)
        return min(columns, default=None)

    def _find_runs(self, y: int, wanted: list[Cell], shown: list[Cell], joined: int) -> Iterable[Run]:
        """Yield what must be sent of a row.

        :param joined: the first column with a joined character. Terminals differ in how wide those are: nothing
            beyond is where it should be, so all of it is sent, and each after one is placed anew.
        """
        x, width = 0, len(wanted)
        while x < width:
            if x < joined and wanted[x] == shown[x]:
                x += 1
                continue
            if not wanted[x][0] and x:  # half of a wide character cannot be sent
                x -= 1
            run, x = self._collect_run(y, x, wanted, shown, joined)
            yield run

    def _collect_run(self, y: int, first: int, wanted: list[Cell], shown: list[Cell], joined: int) -> tuple[Run, int]:
        """Return the cells from here on that are sent in one style, and the column after them."""
        blanks = self._count_erasable(wanted, shown, first)
        if blanks >= LONG_BLANK:
            end = first + blanks
            erase = "\x1b[K" if end == len(wanted) else f"\x1b[{blanks}X"
            return Run(wanted[first][1], y, first, erase, first), end
        pen = wanted[first][1]
        is_blank = wanted[first][0] == " "
        x, after, width = first, first, len(wanted)
        while x < width:
            cell = wanted[x]
            text, its = cell
            if its is not pen and text and its != pen:
                if not (is_same_ground(pen, its) and (is_blank or text == " ")):
                    break
                pen = pen if text == " " else its
            if text == " ":
                if self._count_erasable(wanted, shown, x) >= LONG_BLANK:
                    break
            elif text:
                is_blank = False
            x += 1
            if x > joined or cell != shown[x - 1]:
                after = x
            elif x - after > NEAR:
                break
            if len(text) > 1:
                break
        while after < width and not wanted[after][0]:
            after += 1
        sent = "".join([text for text, _ in wanted[first:after]])
        is_sure = after < width and len(wanted[max(x - 1, first)][0]) <= 1
        return Run(pen, y, first, sent, after if is_sure else None), after

    def _count_erasable(self, wanted: list[Cell], shown: list[Cell], x: int) -> int:
        """Return how many equal blanks begin here that may be erased instead of sent; 0 for a few, or if few are new."""
        cell = wanted[x]
        text, pen = cell
        width = len(wanted)
        if text != " " or x + LONG_BLANK > width or wanted[x + LONG_BLANK - 1] != cell:
            return 0
        if pen.attributes or pen.link or (pen.background and not self._erases_in_colour):
            return 0
        end = x + 1
        while end < width and wanted[end] == cell:
            end += 1
        return end - x if wanted[x + FEW_BLANKS : end] != shown[x + FEW_BLANKS : end] else 0


class Run(NamedTuple):
    """Cells beside each other that are sent in one style."""

    pen: Pen
    y: int
    x: int
    text: str
    end: int | None
    """Column where the cursor is afterwards; None where terminals differ, as in the last column."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing is seen of the foreground."""
        return self.text.startswith("\x1b") or not self.text.strip()

    @property
    def place_after(self) -> Place | None:
        """Where the cursor is afterwards; None where terminals differ."""
        return None if self.end is None else (self.end, self.y)

    def pen_after(self, pen: Pen | None) -> Pen:
        """Return the pen that it is drawn in with another at hand: no foreground is seen on blanks."""
        return pen if pen is not None and self.is_blank and is_same_ground(pen, self.pen) else self.pen


def join_blanks(runs: Iterable[Run]) -> list[Run]:
    """Let blanks go with the run that they follow, where they look the same in its style: that saves the way back to them."""
    joined: list[Run] = []
    for run in runs:
        before = joined[-1] if joined else None
        if before and before.end == run.x and run.is_blank and is_same_ground(before.pen, run.pen):
            joined[-1] = before._replace(text=before.text + run.text, end=run.end)
        else:
            joined.append(run)
    return joined


def write_runs(runs: Iterable[Run], pen: Pen | None, at: Place | None) -> tuple[str, Pen | None, Place | None]:
    """Return what draws the runs, and the pen and the place of the cursor afterwards."""
    out: list[str] = []
    for run in runs:
        new = run.pen_after(pen)
        out += (lead(run, new, pen, at), run.text)
        pen, at = new, run.place_after
    return "".join(out), pen, at


def nearest_first(runs: Iterable[Run], pen: Pen | None, at: Place | None) -> list[Run]:
    """Return runs in an order in which the next is one of those that the least bytes lead to.

    It takes the square of their number. What is known to be shortest is a few bytes in a hundred shorter.
    """
    rest, ordered = list(runs), list[Run]()
    while rest:
        run = min(rest, key=lambda one: len(lead(one, one.pen_after(pen), pen, at)))
        rest.remove(run)
        ordered.append(run)
        pen, at = run.pen_after(pen), run.place_after
    return ordered


def lead(run: Run, new: Pen, pen: Pen | None, at: Place | None) -> str:
    """Return what leads to a run, and to the pen that it is drawn in."""
    return ("" if at == (run.x, run.y) else move(at, run.x, run.y)) + ("" if pen == new else change_pen(pen, new))


@lru_cache(MOST_PENS)
def shorten_pen(pen: Pen) -> Pen:
    """Return a pen whose foreground is the nearest of 256 colours, which is named in 7 characters less."""
    if not pen.foreground.startswith(TRUE_FOREGROUND):
        return pen
    red, green, blue = map(int, pen.foreground.removeprefix(TRUE_FOREGROUND).split(";"))
    nearest = Color.from_rgb(red, green, blue).downgrade(ColorSystem.EIGHT_BIT)
    return pen._replace(foreground=";".join(nearest.get_ansi_codes()))


def is_same_ground(one: Pen, other: Pen) -> bool:
    """Check whether blanks look the same in both, lines and all."""
    return one[1] == other[1] and one[3] == other[3] and not (one[2] | other[2]) & SEEN_ON_BLANKS


@lru_cache(MOST_MOVES)
def move(at: Place | None, x: int, y: int) -> str:
    """Return the shortest way of the cursor to a column and row."""
    placed = f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H" if y else "\x1b[H"
    if at is None or y < at[1]:
        return placed
    # A step down in the same column is an index: a line feed or vertical tab may begin the line, as terminals are set.
    rows, steps = y - at[1], x - at[0]
    down = f"\x1b[{rows}B" if rows > 1 else "\x1bD" * rows
    from_edge = "\r" + forward(x)
    along = forward(steps) if steps >= 0 else min("\b" * -steps, f"\x1b[{-steps}D", key=len)
    return min(placed, down + along, down + from_edge, key=len)


def forward(steps: int) -> str:
    """Return what moves the cursor to the right."""
    return "" if steps == 0 else "\x1b[C" if steps == 1 else f"\x1b[{steps}C"


def placed_strips(update: CompositorUpdate) -> Iterable[tuple[int, int, Iterable[Segment]]]:
    """Yield column, row and segments of all that an update draws."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield update.region.x, y, [segment for strip in strips for segment in strip]
    elif isinstance(update, ChopsUpdate):
        for y, x1, x2 in update.spans:
            for end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
                if strip is not None and x < x2 and end > x1:
                    yield x, y, strip


def put_graphemes(cells: list[Cell], text: str, pen: Pen, blank: Pen) -> None:
    """Add the characters of a text with what joins them. Control characters are not sent to a terminal."""
    text = "".join([c for c in text if c.isprintable() or c.isspace() or ord(c) > 0x9F])
    for start, end, width in split_graphemes(text)[0]:
        one = text[start:end]
        if width:
            cells.append((" ", blank) if one.isspace() and width == 1 else (one, pen))
            cells.extend([("", pen)] * (width - 1))
        elif cells and cells[-1][0]:
            cells[-1] = (cells[-1][0] + one, cells[-1][1])


def make_pen(style: Style, colours: ColorSystem) -> Pen:
    """Return what a terminal of these colours must be told for a style."""
    codes = [
        ";".join(colour.downgrade(colours).get_ansi_codes(foreground=is_foreground)) if colour is not None else ""
        for colour, is_foreground in ((style.color, True), (style.bgcolor, False))
    ]
    if codes[0] == "39":  # the terminal's own, which a pen without a colour has
        codes[0] = ""
    if codes[1] == "49":
        codes[1] = ""
    return Pen(codes[0], codes[1], style._attributes & style._set_attributes, style.link or "")


@lru_cache(MOST_PENS)
def change_pen(old: Pen | None, new: Pen) -> str:
    """Return the shortest sequence from one pen to another; from any pen when the old one is not known."""
    fresh = sgr(["", *attribute_codes(new.attributes), new.foreground, new.background])
    if old is None:
        return fresh + link(new.link)
    codes: list[str] = []
    gone = old.attributes & ~new.attributes
    on = new.attributes & ~old.attributes
    for bit, _, off in ATTRIBUTES:
        if gone & bit and off not in codes:
            codes.append(off)
            # One code may turn off two, of which the other is to stay.
            on |= sum(other for other, _, its in ATTRIBUTES if its == off and new.attributes & other)
    codes += attribute_codes(on)
    if old.foreground != new.foreground:
        codes.append(new.foreground or "39")
    if old.background != new.background:
        codes.append(new.background or "49")
    changed = sgr(codes) if codes else ""
    return min(changed, fresh, key=len) + (link(new.link) if old.link != new.link else "")


def attribute_codes(attributes: int) -> list[str]:
    """Return the codes that turn attributes on."""
    return [on for bit, on, _ in ATTRIBUTES if attributes & bit]


def sgr(codes: list[str]) -> str:
    """Return the sequence that selects a style (SGR); a first code that is empty resets all before."""
    first, rest = codes[:1], [code for code in codes[1:] if code]
    return f"\x1b[{';'.join([*first, *rest])}m" if rest or first != [""] else "\x1b[m"


def link(target: str) -> str:
    """Return what begins a hyperlink, or ends the one before."""
    return f"\x1b]8;;{target}\x1b\\"
