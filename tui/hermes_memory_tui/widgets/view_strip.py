"""`ViewStrip`: the views that have digits, and the current one highlighted; a click opens one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_tui.model.view_catalog import CATALOG, ViewEntry

WIDE = 90
"""Cells from which the number of quarantined facts is shown, not only that there are some."""


class OpenView(Message):
    """Posted by a widget or a screen that wants another view; the app opens it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class WaitingChanged(Message):
    """Posted when another number of quarantined facts waits for the person."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.waiting = count


class FollowingToggled(Message):
    """Posted to the screen when the person paused or continued following changes."""


class OpenConversation(Message):
    """Posted by a screen that wants the conversation of some captured messages; the app opens it."""

    def __init__(self, turns: Sequence[str]) -> None:
        super().__init__()
        self.turns = turns


class ViewStrip(Widget):
    """One line under the title."""

    present: reactive[str] = reactive("")
    """Name of the open view."""

    waiting: reactive[int] = reactive(0)
    """Number of quarantined facts, shown next to the review."""

    def __init__(self, present: str) -> None:
        super().__init__(id="views")
        self._spans: list[tuple[int, int, ViewEntry]] = []
        self.set_reactive(ViewStrip.present, present)

    def watch_waiting(self, count: int) -> None:
        self.post_message(WaitingChanged(count))

    def render(self) -> Content:
        entries = [entry for entry in CATALOG if entry.key.isdigit() or entry.name == self.present]
        titles = {entry: f" {entry.title}{self._badge(entry)}" for entry in entries}
        # Where not all titles fit, those farthest from the open view are left out; their digits stay.
        open_at = next((place for place, entry in enumerate(entries) if entry.name == self.present), 0)
        farthest = sorted(range(len(entries)), key=lambda place: (abs(place - open_at), place))
        while farthest and strip_cells(titles) > self.size.width:
            entry = entries[farthest.pop()]
            titles[entry] = self._badge(entry)
        gap = " " if strip_cells(titles) + len(titles) <= self.size.width else ""
        self._spans, parts, at = [], [], 0
        for entry, title in titles.items():
            here = entry.name == self.present
            urgent = entry.name == "review" and self.waiting
            part = Content.assemble(
                (
                    f" {entry.key}",
                    "bold $block-cursor-foreground on $block-cursor-background" if here else "bold $accent",
                ),
                (
                    f"{title}{gap}",
                    "bold $block-cursor-foreground on $block-cursor-background"
                    if here
                    else "bold $warning"
                    if urgent
                    else "$dim",
                ),
            )
            self._spans.append((at, at + part.cell_length, entry))
            at += part.cell_length
            parts.append(part)
        return Content("").join(parts)

    def _badge(self, entry: ViewEntry) -> str:
        if entry.name != "review" or not self.waiting:
            return ""
        return f" {self.waiting}!" if self.size.width >= WIDE else "!"

    def on_click(self, event: events.Click) -> None:
        for start, end, entry in self._spans:
            if start <= event.x < end:
                self.post_message(OpenView(entry.name))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self.tooltip = next((entry.description for start, end, entry in self._spans if start <= event.x < end), None)


def strip_cells(titles: Mapping[ViewEntry, str]) -> int:
    """Return the cells of the strip's keys and titles."""
    return sum(cell_len(f" {entry.key}{title}") for entry, title in titles.items())
