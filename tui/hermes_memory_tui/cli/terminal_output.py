"""Output for people: aligned lines, text stripped of control sequences, colour on terminals only."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from hermes_memory_store.model import Fact, Gauge, PressureLevel, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.text.origin_text import author_note

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


def style_text(text: str, **style: Any) -> str:
    """Style the text when the output is a terminal with colours (https://no-color.org)."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, **style)


def line_width() -> int | None:
    """Return the columns of the terminal, or None for a file or a pipe, whose lines must not be wrapped."""
    if not sys.stdout.isatty():
        return None
    return max(NARROWEST, shutil.get_terminal_size().columns)


def cell_width(text: str) -> int:
    """Return the columns that printable text takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text
    )


def wrap_cells(text: str, width: int) -> Iterator[str]:
    """Wrap the text into lines of at most `width` columns, between words where possible."""
    line = ""
    for word in text.split(" "):
        while cell_width(word) > width:
            room = width - cell_width(line) - (1 if line else 0)
            head = cut_to_width(word, room) if room > 0 else ""
            yield (f"{line} {head}" if line else head) if head else line
            word, line = word[len(head) :], ""
        if line and cell_width(line) + 1 + cell_width(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    if line:
        yield line


def cut_to_width(text: str, width: int) -> str:
    """Return the longest prefix that fits into `width` columns, at least one character."""
    used = 0
    for place, one in enumerate(text):
        used += cell_width(one)
        if used > width:
            return text[: max(place, 1)]
    return text


def print_hanging(head: str, text: str) -> None:
    """Print `head` followed by the text; on a terminal, further lines are indented to the start of the text."""
    width = line_width()
    indent = cell_width(head)
    if width is None or width - indent < NARROWEST // 2:
        click.echo(head + text)
        return
    for number, line in enumerate(wrap_cells(text, width - indent)):
        click.echo(((head if number == 0 else " " * indent) + line).rstrip())


def distinct_uid_length(uids: Sequence[str]) -> int:
    """Return how many trailing characters tell these uids apart."""
    return next((length for length in UID_LENGTHS if len({uid[-length:] for uid in uids}) == len(set(uids))), 36)


def print_facts(
    facts: Sequence[Fact], *, with_theme: bool = False, indent: str = "", with_origin: bool = False
) -> None:
    """Print facts, one per line: short uid, tier, pin, notation, scope.

    :param with_origin: also say who wrote each, or by which way it came

    Styles are applied after wrapping, which counts columns.
    """
    length = distinct_uid_length([fact.uid for fact in facts])
    themes = max((len(fact.theme) for fact in facts), default=0)
    for fact in facts:
        mark = TIER_SHAPES.get(fact.tier, " ") + ("^" if fact.pinned else " ")
        theme = f"{fact.theme:<{themes}}  " if with_theme else ""
        scope = f"  ({to_printable(fact.scope)})" if fact.scope else ""
        note = author_note(fact) if with_origin else ""
        told = to_printable(fact.notation) + scope + (f"  [{note}]" if note else "")
        print_hanging(f"{indent}{short_uid(fact.uid, length)}  {theme}{mark} ", told)


def format_gauge_line(gauge: Gauge, name_width: int = 0) -> str:
    """Format the gauge as one line with its marks at 70, 85 and 95 %."""
    width = 40
    filled = round(min(gauge.pct, 100) / 100 * width)
    bar = ["█" if cell < filled else "·" for cell in range(width)]
    for mark in (70, 85, 95):
        cell = mark * width // 100
        if cell >= filled:
            bar[cell] = "|"
    level = style_text(f"{gauge.level.value:<11}", fg=LEVEL_COLOURS[gauge.level])
    used = f"{gauge.used:,} of {gauge.budget:,} characters"
    return f"{gauge.theme:<{name_width}}  {''.join(bar)}  {gauge.pct:5.1f} %  {level}  {used}"


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print aligned columns under headings, numbers to the right; on a terminal, lines are cut at its width."""
    plain = [list(row) for row in rows]
    shown = [[to_printable(str(cell)) for cell in row] for row in plain]
    widths = [max(cell_width(cell) for cell in column) for column in zip(headings, *shown, strict=True)]
    right = [bool(plain) and all(isinstance(row[place], int) for row in plain) for place in range(len(headings))]
    width = line_width()
    for number, row in enumerate([list(headings), *shown]):
        padded = [
            " " * (size - cell_width(cell)) + cell if to_right else cell + " " * (size - cell_width(cell))
            for cell, size, to_right in zip(row, widths, right, strict=True)
        ]
        line = "  ".join(padded).rstrip()
        line = line if width is None else cut_to_width(line, width)
        click.echo(style_text(line, bold=True) if number == 0 else line)


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and their values, without headings."""
    known = list(rows)
    width = max(len(name) for name, _ in known)
    for name, what in known:
        print_hanging(f"{name:<{width}}  ", to_printable(what))


def format_quantity(number: int, noun: str) -> str:
    """Format a number with its noun: `1 fact`, `2 facts`, `12,000 facts`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
