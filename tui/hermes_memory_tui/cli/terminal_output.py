"""Output for people: aligned lines, text stripped of control sequences, colour on terminals only."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from hermes_memory_store.model import Fact, FactType, Gauge, PressureLevel, Tier
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

TIER_STYLES: dict[Tier, dict[str, Any]] = {
    Tier.HOT: {"fg": "red"},
    Tier.COLD: {"fg": "blue"},
    Tier.ARCHIVED: {"dim": True},
    Tier.SUPERSEDED: {"dim": True},
    Tier.QUARANTINED: {"fg": "yellow", "bold": True},
}

TYPE_STYLES: dict[FactType, dict[str, Any]] = {
    kind: {"dim": True} if kind.ink is None else {"fg": kind.ink, "bold": True} for kind in FactType
}

UID_LENGTHS = (8, 12, 17, 22, 36)
"""How much of a uid's end reads well: eight digits, then whole groups of it, at last all of it."""

ZERO_WIDTH = frozenset({"Mn", "Me", "Cf"})
"""Categories of characters that take no cell: marks above and below letters, joiners, selectors."""

BAR, SHORTEST_BAR = 40, 16
"""Cells of a gauge, and the fewest in which it still shows something."""

LEVEL_WIDE = 11
"""Columns of the longest level."""

NARROWEST = 40
"""Columns below which lines are no longer folded: they would be all indentation."""


def is_coloured() -> bool:
    """Check whether the output has colours: as `--color` says, else on a terminal (https://no-color.org)."""
    context = click.get_current_context(silent=True)
    if context is not None and context.color is not None:
        return context.color
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def style_text(text: str, **style: Any) -> str:
    """Style the text where the output has colours."""
    return click.style(text, **style) if is_coloured() else text


def style_type(kind: FactType, text: str) -> str:
    return style_text(text, **TYPE_STYLES[kind])


def style_tier(tier: Tier, text: str) -> str:
    return style_text(text, **TIER_STYLES.get(tier, {}))


def line_width() -> int | None:
    """Return the columns of the terminal, or None for a file or a pipe, whose lines must not be wrapped."""
    if not sys.stdout.isatty():
        return None
    import shutil  # here, not above: into a pipe no line is folded

    return max(NARROWEST, shutil.get_terminal_size().columns)


def cell_width(text: str) -> int:
    """Return the columns that printable text takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(letter) in ZERO_WIDTH else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
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
    for place, letter in enumerate(text):
        used += cell_width(letter)
        if used > width:
            return text[: max(place, 1)]
    return text


def print_hanging(head: str, text: str, styled: tuple[str, str] | None = None) -> None:
    """Print `head` followed by the text; on a terminal, further lines are indented to the start of the text.

    :param styled: what the line begins with, plain and with its colours, which come after the folding that counts cells
    """
    width = line_width()
    indent = cell_width(head)
    if width is None or width - indent < NARROWEST // 2:
        lines = [head + text]
    else:
        folded = wrap_cells(text, width - indent)
        lines = [((" " * indent if number else head) + line).rstrip() for number, line in enumerate(folded)]
    if styled is not None and lines and lines[0].startswith(styled[0]):
        lines[0] = styled[1] + lines[0][len(styled[0]) :]
    for line in lines:
        click.echo(line)


def distinct_uid_length(uids: Sequence[str]) -> int:
    """Return how many trailing characters tell these uids apart."""
    return next((length for length in UID_LENGTHS if len({uid[-length:] for uid in uids}) == len(set(uids))), 36)


def print_facts(
    facts: Sequence[Fact], *, with_theme: bool = False, indent: str = "", with_origin: bool = False
) -> None:
    """Print facts, one per line: short uid, tier, pin, notation, scope.

    :param with_origin: also say who wrote each, or by which way it came
    """
    length = distinct_uid_length([fact.uid for fact in facts])
    themes = max((len(fact.theme) for fact in facts), default=0)
    for fact in facts:
        shape, pin = TIER_SHAPES.get(fact.tier, " "), "^" if fact.pinned else " "
        theme = f"{fact.theme:<{themes}}  " if with_theme else ""
        scope = f"  ({to_printable(fact.scope)})" if fact.scope else ""
        note = author_note(fact) if with_origin else ""
        line = to_printable(fact.notation) + scope + (f"  [{note}]" if note else "")
        head = f"{indent}{short_uid(fact.uid, length)}  {theme}"
        kind = fact.type.value
        styled = f"{head}{style_tier(fact.tier, shape)}{pin} {style_type(fact.type, kind)}"
        print_hanging(f"{head}{shape}{pin} ", line, (f"{head}{shape}{pin} {kind}", styled))


def print_gauge(gauge: Gauge, *, names_wide: int = 0, end: str = "") -> None:
    """Print the gauge with its marks at 70, 85 and 95 %: in one line, on a terminal that is too narrow for it in two.

    :param names_wide: columns of the longest name, where several gauges stand below each other
    :param end: what follows the numbers
    """
    width = line_width()
    name = f"{gauge.theme}{' ' * (names_wide - cell_width(gauge.theme))}  "
    usage = f"{gauge.used:,} of {gauge.budget:,} characters{end}"
    beside = cell_width(name) + len(f"  {gauge.pct:5.1f} %  ") + LEVEL_WIDE
    # The bars of several gauges are as long as each other, whatever else stands in their lines.
    room = BAR if width is None else max(SHORTEST_BAR, min(BAR, width - beside))
    bar = draw_gauge_bar(gauge.pct, room)
    level, styled = gauge.level.value, style_text(gauge.level.value, fg=LEVEL_COLOURS[gauge.level])
    line = f"{name}{bar}  {gauge.pct:5.1f} %  "
    if width is None or beside + room + len("  ") + cell_width(usage) <= width:
        rest = " " * (LEVEL_WIDE - len(level)) + f"  {usage}"
        print_hanging("", line + level + rest, (line + level + rest, line + styled + rest))
    else:
        print_hanging("", line + level, (line + level, line + styled))
        print_hanging("  ", usage)


def draw_gauge_bar(pct: float, width: int) -> str:
    """Draw how full a theme is, with marks at 70, 85 and 95 %."""
    filled = round(min(pct, 100) / 100 * width)
    bar = ["█" if cell < filled else "·" for cell in range(width)]
    for mark in (70, 85, 95):
        cell = mark * width // 100
        if cell >= filled:
            bar[cell] = "|"
    return "".join(bar)


def print_pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and their values, without headings."""
    pairs = list(rows)
    width = max(len(name) for name, _ in pairs)
    for name, text in pairs:
        print_hanging(f"{name:<{width}}  ", to_printable(text))


def format_other_themes(counts: Mapping[str, int]) -> str:
    """Format which themes have facts, for one that has none; empty where no other has."""
    named = [f"{theme} ({count:,})" for theme, count in counts.items()]
    more = f" and {len(named) - 5} more" if len(named) > 5 else ""
    return f"other themes have facts: {', '.join(named[:5])}{more}" if named else ""


def format_quantity(number: int, noun: str) -> str:
    """Format a number with its noun: `1 fact`, `2 facts`, `12,000 facts`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def describe_altered(count: int) -> str:
    """Warn a person of facts that were changed in the file: agents are not given them."""
    return f"{format_quantity(count, 'fact')} changed behind the memory's back, not as the journal says: hermes-memory-tui doctor"
