"""`ScrollbarThumb`: a scroll bar that looks like Textual's, but redraws only the cells that a scroll changes.

Textual passes thirty lines to Rich for it and frames each of them, a third of the cost of a page key.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.visual import RenderOptions, Visual

if TYPE_CHECKING:
    from textual.style import Style


class ScrollbarThumb(ScrollBarRender, Visual):
    """Lines of the scroll bar: three or four distinct ones, each made once."""

    def render_strips(self, width: int, height: int | None, style: Style, options: RenderOptions) -> list[Strip]:
        colours = self.style
        assert isinstance(colours, RichStyle)
        bar: Any = self.render_bar(
            size=height or 0,
            virtual_size=self.virtual_size,
            window_size=self.window_size,
            position=self.position,
            thickness=width,
            back_color=colours.bgcolor,  # type: ignore[arg-type]  # Rich's colours, whatever Textual's signature says
            bar_color=colours.color,  # type: ignore[arg-type]
        )
        base, made = style.rich_style, dict[Segment, Strip]()
        for cell in bar.segments:
            if cell not in made:
                made[cell] = Strip(Segment.apply_style([cell], base), width)
        return [made[cell] for cell in bar.segments]

    def get_optimal_width(self, rules: object, container_width: int) -> int:
        return self.thickness

    def get_height(self, rules: object, width: int) -> int:
        return 0


def move_thumb(bar: ScrollBar, position: float) -> None:
    before = thumb_ends(bar)
    bar.renderer = ScrollbarThumb  # type: ignore[misc]  # Textual says that it may be set so
    bar.set_reactive(ScrollBar.position, position)
    for old, new in zip(before, thumb_ends(bar), strict=True):
        if old != new:
            first, last = sorted((old // 8, new // 8))
            bar.refresh(Region(0, first, bar.size.width, last - first + 1))


def thumb_ends(bar: ScrollBar) -> tuple[int, int]:
    """Return the start and end of the thumb, in eighths of a cell, as `ScrollBarRender` draws it."""
    height, rows, window = bar.size.height, bar.window_virtual_size, bar.window_size
    if rows <= window or not height:
        return (0, 0)
    size = max(1, window * height / rows)
    start = int((height - size) * bar.position / (rows - window) * 8)
    return start, start + ceil(size * 8)
