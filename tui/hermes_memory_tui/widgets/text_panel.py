"""`TextPanel`: a text beside a list; scrolls with the keys of the lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A label and a text that stays aligned beside it, however many lines it takes."""

    label: Content
    value: Content

    @property
    def plain(self) -> str:
        return self.label.plain + self.value.plain

    def lines(self, width: int) -> list[Content]:
        """Return both in lines of at most `width` cells."""
        room = width - self.label.cell_length
        if room < LEAST:
            return [Content.assemble(self.label, self.value)]
        blank = Content(" " * self.label.cell_length)
        wrapped = self.value.wrap(room) or [Content("")]
        return [Content.assemble(blank if place else self.label, line) for place, line in enumerate(wrapped)]


Line = Content | LabelledText

LEAST = 12
"""Cells a text beside its label needs."""


class TextPanel(VerticalScroll):
    BINDING_GROUP_TITLE = "Text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="pages.down", tooltip="Scroll down", show=False),
        Binding("k,up", "scroll_up", "Up", id="pages.up", tooltip="Scroll up", show=False),
        Binding("ctrl+d,pagedown", "page_down", "Page down", id="pages.page_down", tooltip="A page down", show=False),
        Binding("ctrl+u,pageup", "page_up", "Page up", id="pages.page_up", tooltip="A page up", show=False),
        Binding("g,home", "scroll_home", "First", id="pages.top", tooltip="To the top", show=False),
        Binding("G,end", "scroll_end", "Last", id="pages.end", tooltip="To the end", show=False),
    ]

    def __init__(self, id: str = "pages") -> None:
        super().__init__(id=id)
        self._text = Static("", markup=False)
        self._shown: object = None
        self.lines: Sequence[Line] = ()
        self._laid_out: object = None
        """What was drawn: another layout of the screen costs more than finding that nothing changed."""
        self._height: tuple[int, int] | None = None
        """In how many cells, and the lines that takes."""

    def compose(self) -> ComposeResult:
        yield self._text

    @property
    def plain(self) -> str:
        return "\n".join(line.plain for line in self.lines)

    def show(self, title: str, lines: Sequence[Line], *, of: object = None) -> None:
        """Show a text. :param of: its subject; another subject starts at the top"""
        heading = to_border_title(title)
        if heading.markup != self.border_title:  # Textual draws the whole panel anew for the same one, too
            self.border_title = heading
        self.lines = lines
        self._lay_out()
        if of != self._shown:
            self._shown = of
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = max(1, self.scrollable_content_region.width)
        laid_out = wrap_lines(self.lines, width)
        drawn = (laid_out, laid_out.spans)  # texts that are equal may be of other colours
        if drawn != self._laid_out:
            self._laid_out = drawn
            height = width, laid_out.get_height({}, width)
            self._text.update(laid_out, layout=height != self._height)
            self._height = height


def wrap_lines(lines: Sequence[Line], width: int) -> Content:
    """Return lines as one text, in which labelled texts stay beside their labels."""
    wrapped: list[Content] = []
    for line in lines:
        wrapped += line.lines(width) if isinstance(line, LabelledText) else [line]
    return Content("\n").join(wrapped)


def to_border_title(text: str) -> Any:
    """Convert a text to a border title, since Textual parses a plain string there as markup."""
    return Content(text)


def heading_line(text: str, more: str = "") -> Content:
    return Content.assemble((text, "bold"), (f"  {more}" if more else "", "$dim"))


def labelled_value(label: str, value: str | Content, width: int = 11) -> LabelledText:
    return LabelledText(
        Content.styled(f"{label:<{width}}", "$dim"), value if isinstance(value, Content) else Content(value)
    )


def key_hint_line(*hints: tuple[str, str]) -> Content:
    """Return a line of keys and their actions, for texts that suggest next steps."""
    parts: list[str | tuple[str, str]] = []
    for key, says in hints:
        parts += [(key, "bold $accent"), (f" {says}   ", "$dim")]
    return Content.assemble(*parts)
