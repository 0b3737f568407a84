"""`GaugePanel`: how full a theme's hot tier is, with its marks at 70, 85 and 95 percent."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_store.model import Gauge, PressureLevel
from hermes_memory_store.text import printable
from hermes_memory_tui import shown

MARKS = (70, 85, 95)
"""Percent at which relief merges, archives and consolidates."""

EIGHTHS = " ▏▎▍▌▋▊▉"

LABEL = 8
"""Cells of the words before the bar."""


def bar(pct: float, width: int) -> tuple[str, str]:
    """A bar as its filled part and the rest, in cells of eighths; both together are `width` cells."""
    eighths = round(max(0.0, min(pct, 100.0)) / 100 * width * 8)
    if pct > 0:
        eighths = max(1, eighths)
    full, part = divmod(eighths, 8)
    filled = "█" * full + (EIGHTHS[part] if part else "")
    return filled, " " * (width - len(filled))


def pieces(pct: float, width: int) -> tuple[str, str, str]:
    """A bar as it is drawn: what is full, the cell that is full in part, and the rest.

    What is full are spaces, to be given a background: blocks show seams in many fonts.
    """
    filled, rest = bar(pct, width)
    full = filled.rstrip(EIGHTHS)
    return " " * len(full), filled[len(full) :], rest


def styled_bar(pct: float, width: int, ink: str) -> list[tuple[str, str]]:
    """A bar for `Content.assemble`. :param ink: name of its colour"""
    full, part, rest = pieces(pct, width)
    return [(full, f"on ${ink}"), (part, f"${ink} on $track"), (rest, "on $track")]


class GaugePanel(Widget):
    """One theme's gauge; nothing when no theme is chosen."""

    gauge: reactive[Gauge | None] = reactive(None)
    """What is shown."""

    summary: reactive[str] = reactive("")
    """What is said instead when no single theme is chosen."""

    def watch_gauge(self) -> None:
        gauge = self.gauge
        title: Any = Content("pressure" if gauge is None else f"pressure · {printable(gauge.theme)}")
        self.border_title = title
        level = None if gauge is None else gauge.level
        self.border_subtitle = "" if level in (None, PressureLevel.CALM) else shown.LEVEL_WORDS[level]

    def render(self) -> Content:
        gauge = self.gauge
        if gauge is None:
            return Content.styled(self.summary, "$dim")
        numbers = f" {shown.count(gauge.used)} / {shown.count(gauge.budget)}  {gauge.pct:.0f}%"
        alarm = " !" if gauge.level is PressureLevel.CONSOLIDATE else ""
        width = max(10, min(100, self.size.width - LABEL - max(len(numbers), 18) - len(alarm)))
        level = gauge.level.value
        return Content.assemble(
            ("hot".ljust(LABEL), "bold"),
            *styled_bar(gauge.pct, width, level),
            (numbers, "bold" if gauge.level is not PressureLevel.CALM else ""),
            (alarm, f"bold ${level}"),
            "\n",
            (" " * LABEL + marks(width), "$dim"),
            "\n",
            ("holds".ljust(LABEL), "bold"),
            f"{shown.plural(gauge.facts, 'fact')} · {shown.plural(gauge.tokens, 'token')}",
            (f" · {100 * gauge.pinned / gauge.budget:.0f}% pinned" if gauge.pinned else "", "$dim"),
        )


def marks(width: int) -> str:
    """The line under the bar: `▲70` at each mark, the mark exactly below its percent."""
    line = [" "] * (width + 4)
    for mark in MARKS:
        place = min(width - 1, round(mark / 100 * width))
        text = f"▴{mark}"
        line[place : place + len(text)] = list(text)
    return "".join(line).rstrip()
