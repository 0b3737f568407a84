"""Answers for people: aligned lines, text that cannot control the terminal, colour only where somebody looks."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from hermes_memory_store.model import Fact, Gauge, PressureLevel, Tier
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short

TIER_SHAPES = {
    Tier.HOT: "●",
    Tier.COLD: "○",
    Tier.ARCHIVED: "▫",
    Tier.SUPERSEDED: "↷",
    Tier.QUARANTINED: "!",
}
"""A tier as a shape, the inspector's own, so that it needs no colour."""

LEVEL_COLOURS = {
    PressureLevel.CALM: "green",
    PressureLevel.MERGE: "cyan",
    PressureLevel.ARCHIVE: "yellow",
    PressureLevel.CONSOLIDATE: "red",
}

UID_LENGTHS = (8, 12, 17, 22, 36)
"""How much of a uid's end reads well: eight digits, then whole groups of it, at last all of it."""

NARROWEST = 40
"""Columns below which lines are no longer folded: they would be all indentation."""


def paint(text: str, **style: Any) -> str:
    """The text in a style, where a person looks at a terminal with colours (https://no-color.org)."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, **style)


def line_width() -> int | None:
    """Columns of the terminal, None when the answer goes into a file or a pipe and must not be folded."""
    if not sys.stdout.isatty():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def cells(text: str) -> int:
    """Columns that printable text takes: two for a wide character, none for a mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def folded(text: str, width: int) -> Iterator[str]:
    """The text cut into lines of at most `width` columns, between words where it can be."""
    line = ""
    for word in text.split(" "):
        while cells(word) > width:
            room = width - cells(line) - (1 if line else 0)
            head = cut(word, room) if room > 0 else ""
            yield (f"{line} {head}" if line else head) if head else line
            word, line = word[len(head) :], ""
        if line and cells(line) + 1 + cells(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


def cut(text: str, width: int) -> str:
    """As much of the text as fits into `width` columns, at least one character."""
    used = 0
    for place, one in enumerate(text):
        used += cells(one)
        if used > width:
            return text[: max(place, 1)]
    return text


def hanging(head: str, text: str) -> None:
    """Print `head` and the text after it; on a terminal the text's further lines stand below its first."""
    width = line_width()
    indent = cells(head)
    if width is None or width - indent < NARROWEST // 2:
        click.echo(head + text)
        return
    for number, line in enumerate(folded(text, width - indent)):
        click.echo(((head if number == 0 else " " * indent) + line).rstrip())


def short_uids(uids: Sequence[str]) -> int:
    """How many characters of their ends tell these uids apart."""
    return next((length for length in UID_LENGTHS if len({uid[-length:] for uid in uids}) == len(set(uids))), 36)


def print_facts(facts: Sequence[Fact], *, with_theme: bool = False, indent: str = "") -> None:
    """Facts, one a line: short uid, tier, pin, notation, scope. Not painted before folding, which counts columns."""
    length = short_uids([fact.uid for fact in facts])
    themes = max((len(fact.theme) for fact in facts), default=0)
    for fact in facts:
        mark = TIER_SHAPES.get(fact.tier, " ") + ("^" if fact.pinned else " ")
        theme = f"{fact.theme:<{themes}}  " if with_theme else ""
        scope = f"  ({printable(fact.scope)})" if fact.scope else ""
        hanging(f"{indent}{short(fact.uid, length)}  {theme}{mark} ", printable(fact.notation) + scope)


def gauge_line(gauge: Gauge, name_width: int = 0) -> str:
    """The gauge as one line with its marks at 70, 85 and 95 %."""
    width = 40
    filled = round(min(gauge.pct, 100) / 100 * width)
    bar = ["█" if cell < filled else "·" for cell in range(width)]
    for mark in (70, 85, 95):
        cell = mark * width // 100
        if cell >= filled:
            bar[cell] = "|"
    level = paint(f"{gauge.level.value:<11}", fg=LEVEL_COLOURS[gauge.level])
    used = f"{gauge.used:,} of {gauge.budget:,} characters"
    return f"{gauge.theme:<{name_width}}  {''.join(bar)}  {gauge.pct:5.1f} %  {level}  {used}"


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Aligned columns under headings, numbers to the right; on a terminal a line is cut where it ends."""
    plain = [list(row) for row in rows]
    shown = [[printable(str(cell)) for cell in row] for row in plain]
    widths = [max(cells(cell) for cell in column) for column in zip(headings, *shown, strict=True)]
    right = [bool(plain) and all(isinstance(row[place], int) for row in plain) for place in range(len(headings))]
    width = line_width()
    for number, row in enumerate([list(headings), *shown]):
        padded = [
            " " * (size - cells(cell)) + cell if to_right else cell + " " * (size - cells(cell))
            for cell, size, to_right in zip(row, widths, right, strict=True)
        ]
        line = "  ".join(padded).rstrip()
        line = line if width is None else cut(line, width)
        click.echo(paint(line, bold=True) if number == 0 else line)


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Names and what they are, without headings."""
    known = list(rows)
    width = max(len(name) for name, _ in known)
    for name, what in known:
        hanging(f"{name:<{width}}  ", printable(what))


def counted(number: int, noun: str) -> str:
    """`1 fact`, `2 facts`, `12,000 facts`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
