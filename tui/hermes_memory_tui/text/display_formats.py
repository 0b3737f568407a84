"""Display formats: ages, times, counts, symbols, and text fitted to its cells."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from rich.cells import cell_len, set_cell_size

from hermes_memory_store.model import Actor, Fact, PressureLevel, ScopeStatus, SessionStatus, ThemeSummary, Tier, Way
from hermes_memory_store.safe_text import pluralise as pluralise
from hermes_memory_store.safe_text import to_printable

TIER_SHAPES = {
    Tier.HOT: "●",
    Tier.COLD: "○",
    Tier.ARCHIVED: "▫",
    Tier.SUPERSEDED: "↷",
    Tier.QUARANTINED: "!",
    Tier.WITHDRAWN: "×",
}
"""A shape for each tier, so that colour never carries a meaning alone."""

SCOPE_SHAPES = {
    ScopeStatus.OPEN: "●",
    ScopeStatus.COOLING: "◐",
    ScopeStatus.CLOSED: "✓",
    ScopeStatus.WITHDRAWN: "×",
}

SESSION_SHAPES = {
    SessionStatus.OPEN: "○",
    SessionStatus.LIVE: "●",
    SessionStatus.STALE: "◐",
    SessionStatus.CLOSED: "✓",
    SessionStatus.ORPHANED: "!",
}

LEVEL_WORDS = {
    PressureLevel.CALM: "calm",
    PressureLevel.MERGE: "merging duplicates",
    PressureLevel.ARCHIVE: "archiving closed scopes",
    PressureLevel.CONSOLIDATE: "cooling oldest facts",
}
"""What relief does at a level, in words a person understands."""

STEPS = (
    (60, "s", 1),
    (3600, "m", 60),
    (86_400, "h", 3600),
    (86_400 * 30, "d", 86_400),
    (86_400 * 365, "mo", 86_400 * 30),
)


def format_age(then: int, now: int) -> str:
    """Format an age in at most four characters: `now`, `42s`, `5m`, `3h`, `12d`, `4mo`, `2y`.

    Times are in milliseconds.
    """
    seconds = (now - then) // 1000
    if seconds < 2:
        return "now"
    for bound, unit, size in STEPS:
        if seconds < bound:
            return f"{seconds // size}{unit}"
    return f"{seconds // (86_400 * 365)}y"


def format_ago(then: int, now: int) -> str:
    """Format an age for a sentence: `just now`, `5m ago`."""
    passed = format_age(then, now)
    return "just now" if passed == "now" else f"{passed} ago"


def format_moment(then: int, now: int) -> str:
    """Format local date and time to the minute: `21 Nov 14:05`, with the year when it is not the current one."""
    day, today = local_time(then), local_time(now)
    return f"{day:%d %b %H:%M}" if day.year == today.year else f"{day:%d %b %Y %H:%M}"


def format_when(then: int, now: int) -> str:
    """Format a moment with its age: `21 Nov 14:05 (5m ago)`."""
    return f"{format_moment(then, now)} ({format_ago(then, now)})"


def local_time(millis: int) -> datetime:
    """Return the local time; the first or last there is, where the calendar ends within the hours of the time zone."""
    try:
        return datetime.fromtimestamp(millis / 1000)
    except (ValueError, OverflowError, OSError):
        return datetime.min if millis < 0 else datetime.max


def format_count(number: int) -> str:
    """Format a number with digits grouped by commas: `95,018`."""
    return f"{number:,}"


def abbreviate_number(number: int) -> str:
    """Format a number in at most four cells: `950`, `9.5k`, `95k`, `1.2M`."""
    if number < 1000:
        return str(number)
    for size, unit in ((1_000, "k"), (1_000_000, "M")):
        value = number / size
        if value < 9.95:
            return f"{value:.1f}{unit}"
        if value < 999.5:
            return f"{value:.0f}{unit}"
    return f"{number / 1_000_000_000:.1f}G"


def actor_name(actor: Actor) -> str:
    """Return the name of an actor for display: `you`, the session's title, or `relief`."""
    if actor.kind == "person":
        return "you" if not actor.name else to_printable(actor.name)
    return to_printable(actor.title or actor.name or actor.kind)


def author_name(fact: Fact) -> str:
    """Return the name of a fact's author for display; of one from the team the role that brought it, and its agent."""
    if fact.origin.way is Way.HISTORY and fact.actor.kind == "person":
        return "backfill"  # it proposed what somebody had said
    if fact.origin.teammate is None:
        return actor_name(fact.actor)
    role = to_printable(fact.origin.teammate.partition("/")[0])
    return role if fact.actor.kind == "person" else f"{role} · {actor_name(fact.actor)}"


def fact_name(fact: Fact) -> str:
    """Return the type and target of a fact, for messages: `C[db.id]`."""
    return to_printable(f"{fact.type.value}[{fact.target}]")


SHORTEST_NAME = 5
"""Cells from which on a name shows its beginning and its end."""


def fit_text(text: str, width: int) -> str:
    """Fit a text to exactly `width` cells: padded, or cut with `…`; a wide character is never halved."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


def shortened_text(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut with `…`, for where it is wrapped or cut again."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def fit_middle(text: str, width: int) -> str:
    """Fit a text as `fit_text` does, but cut in the middle: similar names mostly differ at their ends."""
    if width < SHORTEST_NAME or cell_len(text) <= width:
        return fit_text(text, width)
    end = text[-(width // 2) :]
    while cell_len(end) > (width - 1) // 2:
        end = end[1:]
    return set_cell_size(text, width - 1 - cell_len(end)) + "…" + end


def quarantined_count(themes: Iterable[ThemeSummary]) -> int:
    """Count the suspicious facts that wait; a proposal is none."""
    return sum(theme.facts.get(Tier.QUARANTINED, 0) - theme.proposed for theme in themes)


TICKS = "▁▂▃▄▅▆▇█"


def format_sparkline(values: Iterable[float], top: float, width: int) -> str:
    """Format values from 0 to `top` as a line of blocks, the newest `width` of them; higher values are capped."""
    shown = list(values)[-width:]
    most = len(TICKS) - 1
    return "".join(TICKS[max(0, min(most, round(value / top * most)))] if top else TICKS[0] for value in shown)
