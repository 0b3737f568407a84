"""`LineList`: a list of one-line rows of which only the visible ones are ever drawn.

The scope tree and the fact table extend it, so that keys, mouse and cursor behave the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.color import Color
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer

from hermes_memory_tui.widgets import scrollbar_thumb

DRAWN_ROWS = 256
"""Drawn rows that are kept, some screens' worth."""

BAR_SHAPES = " ▄▖▁"
"""What bars are drawn of."""

SCROLL_JUMP = 3
"""Rows by which a list scrolls at least when its cursor leaves what is seen."""

AHEAD_S = 0.012
"""How long after a scroll the next page is drawn: once the frame is out, and before a key that is held down repeats."""


class ListMessage(Message):
    """What a list says of itself."""

    def __init__(self, list: LineList) -> None:
        super().__init__()
        self.list = list

    @property
    def control(self) -> LineList:
        return self.list


class LineList(ScrollView, can_focus=True):
    """Rows by number, a cursor, and the keys to move it. A subclass defines the number of rows and draws them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", id="list.down", tooltip="One line down", show=False),
        Binding("k,up", "move(-1)", "Up", id="list.up", tooltip="One line up", show=False),
        Binding(
            "ctrl+d", "page(0.5)", "Page down by half", id="list.half_down", tooltip="Half a page down", show=False
        ),
        Binding("ctrl+u", "page(-0.5)", "Page up by half", id="list.half_up", tooltip="Half a page up", show=False),
        Binding("pagedown,ctrl+f", "page(1.0)", "Page down", id="list.page_down", tooltip="A page down", show=False),
        Binding("pageup,ctrl+b", "page(-1.0)", "Page up", id="list.page_up", tooltip="A page up", show=False),
        Binding("g,home", "first", "First", id="list.first", tooltip="To the first line", show=False),
        Binding("G,end", "last", "Last", id="list.last", tooltip="To the last line", show=False),
    ]

    is_steered = False
    """Whether the keys of a line above move the cursor, which shows as if the list had the focus."""

    hides_cursor = False
    """Whether the cursor shows only while the list has the focus: lists beside it have cursors, too."""

    cursor: reactive[int] = reactive(0, repaint=False)
    """The row the cursor is on."""

    class Moved(ListMessage):
        """Posted when the cursor is on another row, or the row under it shows something else."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, type(self)) and message.list is self.list

    class Opened(ListMessage):
        """Posted when a row is chosen: enter, or a second click on it."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: LRUCache[tuple[tuple[int, ...], int, int], Strip] = LRUCache(DRAWN_ROWS)
        """Whole lines by what stands in them (a row with or without the cursor, else a line of the screen) and their widths."""
        self._inks: dict[tuple[str, str, bool, bool], Style] = {}
        self._ahead: Timer | None = None
        self._sides: dict[tuple[int, int], tuple[Strip, Strip]] = {}
        self._frame: dict[tuple[int, Size], Strip] = {}
        """Lines above and below the others, with the titles of the frame."""

    @property
    def row_count(self) -> int:
        raise NotImplementedError

    def draw_row(self, row: int, width: int, selected: bool) -> list[Segment]:
        """Return the cells of a row, `width` of them.

        A selected row needs no styles: the cursor's style is applied over it.
        """
        raise NotImplementedError

    @property
    def head_lines(self) -> int:
        """The number of lines above the rows that do not scroll: none or one."""
        return 0

    def draw_head(self, width: int) -> list[Segment]:
        return [Segment(" " * width, self.ink())]

    def draw_empty(self, line: int, width: int) -> list[Segment]:
        """Return the cells of a line below the last row; blank unless a subclass draws something there."""
        return [Segment(" " * width, self.ink())]

    def ink(self, name: str = "", *, on: str = "", bold: bool = False, underline: bool = False) -> Style:
        """Return a style of the current look.

        Component classes would do the same, but Textual applies each of them to each widget several times before the
        first frame.

        :param name: a variable of the look for the text; the widget's own colour when empty
        :param on: a variable of the look for the background; the widget's own background when empty
        """
        style = self._inks.get((name, on, bold, underline))
        if style is None:
            variables = self.app.theme_variables
            _, _, background, colour = self.colors
            behind = background + parse_colour(variables[on]) if on else background
            text = behind + parse_colour(variables[name]) if name else behind + colour
            style = Style(color=text.rich_color, bgcolor=behind.rich_color, bold=bold, underline=underline)
            for line_filter in self.get_line_filters():  # here once, not for each of the cells
                style = line_filter.apply([Segment("", style)], background)[0].style or style
            self._inks[name, on, bold, underline] = style
        return style

    def rows_changed(self) -> None:
        """Redraw everything: call it when rows were added, removed or changed."""
        self._drawn.clear()
        size = Size(0, self.row_count + self.head_lines)
        if self.virtual_size != size:
            self.virtual_size = size
        self._refresh_lines()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        return Strip(self._cells(y, self.scroll_offset.y, width), width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render lines from a cache of framed rows.

        Textual's own caches lines by screen position and draws the frame around each of them again. Here a row that
        was drawn once is cached with its frame, wherever it appears: most of the cost of a page.
        """
        width, height = self.outer_size
        first, end = self.gutter.top, height - self.gutter.bottom
        line = self._lines(self.scroll_offset.y)
        lines = [line(y - first) if first <= y < end else self._frame_line(y) for y in crop.line_range]
        return [line.crop(*crop.column_span) for line in lines] if crop.column_span != (0, width) else lines

    def _frame_line(self, y: int) -> Strip:
        strip = self._frame.get((y, self.outer_size))
        if strip is None:
            (strip,) = super().render_lines(Region(0, y, self.outer_size.width, 1))
            self._frame[y, self.outer_size] = strip
        return strip

    def _lines(self, top: int) -> Callable[[int], Strip]:
        """Return a function that draws or caches framed lines, with `top` as the first row on the screen."""
        width, inside, head = self.outer_size.width, self.scrollable_content_region.width, self.head_lines
        rows, cursor, focus = self.row_count, self.cursor, self.has_focus
        left, right = self._edges(inside, width)

        def line(y: int) -> Strip:
            row = y - head + top
            here = row == cursor and (focus or not self.hides_cursor)
            state: tuple[int, ...] = (row, here, focus and here) if head <= y and row < rows else (y,)
            strip = self._drawn.get((state, inside, width))
            if strip is None:
                strip = self._drawn[state, inside, width] = Strip([*left, *self._cells(y, top, inside), *right], width)
            return strip

        return line

    def _edges(self, inside: int, width: int) -> tuple[Strip, Strip]:
        """Return what is left and right of every line, as Textual draws it: the frame and the scroll bar's cells."""
        edges = self._sides.get((inside, width))
        if edges is None:
            line = super().render_lines(Region(0, self.gutter.top, width, 1))[0]
            edges = line.crop(0, self.gutter.left), line.crop(self.gutter.left + inside)
            if self.outer_size.height > self.gutter.height:  # else that line is the frame's own, with its corners
                self._sides[inside, width] = edges
        return edges

    def _cells(self, y: int, top: int, width: int) -> list[Segment]:
        head = self.head_lines
        if y < head:
            return self.draw_head(width)
        row = y - head + top
        if row >= self.row_count:
            return self.draw_empty(y - head, width)
        selected = row == self.cursor and (self.has_focus or not self.hides_cursor)
        segments = self.draw_row(row, width, selected)
        return self._under_cursor(segments) if selected else segments

    def _draw_ahead(self, pages: int) -> None:
        """Draw the page that the next key may need, while idle."""
        head, height = self.head_lines, self.scrollable_content_region.height
        top = self.scroll_offset.y + pages * (height - head)
        line = self._lines(top)
        for y in range(head + max(0, -top), min(height, self.row_count - top + head)):
            line(y)

    def _under_cursor(self, segments: list[Segment]) -> list[Segment]:
        is_led = self.has_focus or self.is_steered
        cursor = "block-cursor" if is_led else "block-cursor-blurred"
        style = self.ink(f"{cursor}-foreground", on=f"{cursor}-background", bold=is_led)
        underlined = style + Style(bold=True, underline=True)
        plain = self.ink().bgcolor

        def over(text: str, own: Style | None) -> Style:
            if own is None:
                return style
            if own.bgcolor != plain:
                return own
            if not text.strip(BAR_SHAPES):  # the colour of a bar says how full it is
                return style + Style(color=own.color)
            return underlined if own.underline else style

        return [Segment(segment.text, over(segment.text, segment.style)) for segment in segments]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn.clear()
        self._inks.clear()
        self._sides.clear()
        self._frame.clear()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        if not regions:
            self._frame.clear()
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def _refresh_lines(self) -> None:
        """Redraw all lines within the frame; Textual would cut it off each of them again, so they are named with it."""
        self.refresh(Region(-self.gutter.left, 0, self.outer_size.width, self.size.height))

    def on_resize(self) -> None:
        self.rows_changed()
        self.keep_in_view()

    def on_focus(self) -> None:
        self.refresh_row(self.cursor)

    def on_blur(self) -> None:
        self.refresh_row(self.cursor)

    def validate_cursor(self, row: int) -> int:
        return max(0, min(row, self.row_count - 1))

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_row(old)
        self.refresh_row(new)
        self.keep_in_view()
        self.post_message(self.Moved(self))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scroll without Textual's redraw of every line and of the whole scroll bar."""
        if self.show_vertical_scrollbar:
            scrollbar_thumb.move_thumb(self.vertical_scrollbar, new_value)
        if round(old_value) != round(new_value):
            self._refresh_lines()
            if self._ahead is not None:
                self._ahead.stop()
            self._ahead = self.set_timer(AHEAD_S, partial(self._draw_ahead, 1 if new_value > old_value else -1))

    def refresh_row(self, row: int) -> None:
        """Redraw one row, if it is visible."""
        self.refresh(Region(0, row + self.head_lines - self.scroll_offset.y, self.size.width, 1))

    def keep_in_view(self) -> None:
        """Scroll far enough to show the cursor, and a few rows beyond: every scroll sends all rows to the terminal."""
        height = self.scrollable_content_region.height - self.head_lines
        top = self.scroll_offset.y
        if height <= 0:
            return
        ahead = min(SCROLL_JUMP, height // 2 + 1) - 1
        if self.cursor < top:
            self.scroll_to(y=self.cursor - ahead, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1 + ahead, animate=False, force=True)

    def action_move(self, rows: int) -> None:
        self.cursor += rows

    def action_page(self, pages: float) -> None:
        rows = int(pages * max(self.scrollable_content_region.height - self.head_lines - 1, 1))
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)
        self.cursor += rows

    def action_first(self) -> None:
        self.cursor = 0

    def action_last(self) -> None:
        self.cursor = self.row_count - 1

    def action_open(self) -> None:
        if self.row_count:
            self.post_message(self.Opened(self))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        row = offset.y - self.head_lines + self.scroll_offset.y
        if not 0 <= row < self.row_count:
            return
        if row == self.cursor and event.chain == 2:
            self.action_open()
        self.cursor = row


def parse_colour(text: str) -> Color:
    """Parse a colour as the variables of a look write it: `#8ab4f8`, `ansi_blue`, `auto 87%`, `#8ab4f8 35%`."""
    name, _, share = text.partition(" ")
    alpha = float(share.removesuffix("%")) / 100 if share else 1.0
    if name == "auto":
        return Color.automatic(100 * alpha)
    colour = Color.parse(name)
    return colour if colour.ansi is not None or not share else colour.multiply_alpha(alpha)
