"""`GaugePanel`: how full a theme's hot tier is, with its marks at 70, 85 and 95 percent."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from hermes_memory_store.model import Gauge, PressureLevel
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.text import display_formats

MARKS = (70, 85, 95)
"""Percent at which relief merges, archives and consolidates."""

LABEL = 8
"""Cells of the words before the bar."""


def bar_parts(pct: float, width: int) -> tuple[str, str]:
    """Return the filled part of a bar and the rest, in halves of cells; together they are `width` cells.

    A bar is half a line high, so that those of neighbouring rows stand apart. Its rest has another shape, not only
    another colour.
    """
    halves = round(max(0.0, min(pct, 100.0)) / 100 * width * 2)
    full, half = divmod(max(1, halves) if pct > 0 else halves, 2)
    filled = "▄" * full + "▖" * half
    return filled, "▁" * (width - len(filled))


def styled_bar_parts(pct: float, width: int, ink: str) -> list[tuple[str, str]]:
    """Return a bar as parts for `Content.assemble`. :param ink: name of its colour"""
    filled, rest = bar_parts(pct, width)
    return [(filled, f"${ink}"), (rest, "$track")]


class GaugePanel(Widget):
    """One theme's gauge; empty when no theme is selected."""

    gauge: reactive[Gauge | None] = reactive(None)
    """What is shown."""

    summary: reactive[str] = reactive("")
    """What is said instead when no single theme is chosen."""

    def watch_gauge(self) -> None:
        gauge = self.gauge
        title: Any = Content("pressure" if gauge is None else f"pressure · {to_printable(gauge.theme)}")
        self.border_title = title
        level = None if gauge is None else gauge.level
        self.border_subtitle = "" if level in (None, PressureLevel.CALM) else display_formats.LEVEL_WORDS[level]

    def render(self) -> Content:
        gauge = self.gauge
        if gauge is None:
            return Content.styled(self.summary, "$dim")
        numbers = f" {display_formats.format_count(gauge.used)} / {display_formats.format_count(gauge.budget)}  {gauge.pct:.0f}%"
        alarm = " !" if gauge.level is PressureLevel.CONSOLIDATE else ""
        width = max(10, min(100, self.size.width - LABEL - max(len(numbers), 18) - len(alarm)))
        level = gauge.level.value
        return Content.assemble(
            ("hot".ljust(LABEL), "bold"),
            *styled_bar_parts(gauge.pct, width, level),
            (numbers, "bold" if gauge.level is not PressureLevel.CALM else ""),
            (alarm, f"bold ${level}"),
            "\n",
            (" " * LABEL + threshold_line(width), "$dim"),
            "\n",
            ("holds".ljust(LABEL), "bold"),
            f"{display_formats.pluralise(gauge.facts, 'fact')} · {display_formats.pluralise(gauge.tokens, 'token')}",
            (f" · {100 * gauge.pinned / gauge.budget:.0f}% pinned" if gauge.pinned else "", "$dim"),
        )


def threshold_line(width: int) -> str:
    """Return the line under the bar: `▲70` at each mark, exactly below its percent."""
    line = [" "] * (width + 4)
    for mark in MARKS:
        place = min(width - 1, round(mark / 100 * width))
        text = f"▴{mark}"
        line[place : place + len(text)] = list(text)
    return "".join(line).rstrip()
