"""The clock is passed in, so that tests need no patching; formatting and parsing of times."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Millis

Clock = Callable[[], Millis]
"""Returns the present as UTC milliseconds."""

DAY_MS = 86_400_000

UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def system_clock() -> Millis:
    """Return the current time by the system clock. It may step back; the journal never does (see `items/journal.py`)."""
    return Millis(time.time_ns() // 1_000_000)


def format_iso_time(millis: int) -> str:
    """Format as ISO 8601 in UTC with milliseconds: `2026-03-01T12:00:00.000Z`."""
    moment = datetime.fromtimestamp(millis // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"


def parse_duration(text: str) -> int:
    """Parse an age such as `30d`, `12h`, `45m`, `10s` or `2w` into milliseconds.

    >>> parse_duration("12h")
    43200000

    :raises ArgumentError: when the text is not a whole number and one of these units
    """
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip().lower())
    if not match:
        raise ArgumentError(f"{text[:40]!r} is not an age; write a number and a unit, such as 30d, 12h or 45m", text)
    return int(match[1]) * UNITS[match[2]]


def parse_moment(text: str, now: int) -> Millis:
    """Parse an ISO date or time (UTC unless it says otherwise), or an age before `now`. :raises ArgumentError: it is neither"""
    try:
        return Millis(now - parse_duration(text))
    except ArgumentError:
        pass
    try:
        parsed = datetime.fromisoformat(text.strip())
        return Millis(round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        raise ArgumentError(
            f"{text[:40]!r} is not a time; write a date (2026-03-01), a time (2026-03-01T12:00:00Z) or an age (7d)",
            text,
        ) from None
