"""`Pages`: a text to read beside a list; scrolls with the keys of the lists."""

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
class Hanging:
    """A label and a text that stays beside it, however many lines it takes."""

    label: Content
    value: Content

    @property
    def plain(self) -> str:
        """Both, as they would be written in one line."""
        return self.label.plain + self.value.plain

    def lines(self, width: int) -> list[Content]:
        """Both in lines of at most `width` cells."""
        room = width - self.label.cell_length
        if room < LEAST:
            return [Content.assemble(self.label, self.value)]
        blank = Content(" " * self.label.cell_length)
        wrapped = self.value.wrap(room) or [Content("")]
        return [Content.assemble(blank if place else self.label, line) for place, line in enumerate(wrapped)]


Line = Content | Hanging

LEAST = 12
"""Cells a text beside its label needs."""


class Pages(VerticalScroll):
    """A title and lines."""

    BINDING_GROUP_TITLE = "Text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_down", "Down", id="pages.down", tooltip="Scroll down", show=False),
        Binding("k,up", "scroll_up", "Up", id="pages.up", tooltip="Scroll up", show=False),
        Binding("ctrl+d,pagedown", "page_down", "Page down", id="pages.page_down", tooltip="A page down", show=False),
        Binding("ctrl+u,pageup", "page_up", "Page up", id="pages.page_up", tooltip="A page up", show=False),
        Binding("g,home", "scroll_home", "Top", id="pages.top", tooltip="To the top", show=False),
        Binding("G,end", "scroll_end", "End", id="pages.end", tooltip="To the end", show=False),
    ]

    def __init__(self, id: str = "pages") -> None:
        super().__init__(id=id)
        self._text = Static("", markup=False)
        self._shown: object = None
        self.lines: Sequence[Line] = ()

    def compose(self) -> ComposeResult:
        yield self._text

    @property
    def plain(self) -> str:
        """The text without its colours."""
        return "\n".join(line.plain for line in self.lines)

    def show(self, title: str, lines: Sequence[Line], *, of: object = None) -> None:
        """Show a text. :param of: what it is about; another thing begins at its top"""
        self.border_title = titled(title)
        self.lines = lines
        self._lay_out()
        if of != self._shown:
            self._shown = of
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = max(1, self.scrollable_content_region.width)
        lines: list[Content] = []
        for line in self.lines:
            lines += line.lines(width) if isinstance(line, Hanging) else [line]
        self._text.update(Content("\n").join(lines))


def titled(text: str) -> Any:
    """A text as the title of a frame. Textual takes a plain string there for markup."""
    return Content(text)


def heading(text: str, more: str = "") -> Content:
    """A line that begins a part."""
    return Content.assemble((text, "bold"), (f"  {more}" if more else "", "$dim"))


def pair(label: str, value: str | Content, width: int = 11) -> Hanging:
    """What is known of something, beside what it is."""
    return Hanging(Content.styled(f"{label:<{width}}", "$dim"), value if isinstance(value, Content) else Content(value))


def keys(*known: tuple[str, str]) -> Content:
    """A line of keys with what they do, for texts that tell a person what to do next."""
    parts: list[str | tuple[str, str]] = []
    for key, says in known:
        parts += [(key, "bold $accent"), (f" {says}   ", "$dim")]
    return Content.assemble(*parts)
