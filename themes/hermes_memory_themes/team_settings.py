"""Settings of the sync with the team database, from `[team]` of `memory-themes.toml`.

[team]
idle = "sleep"
sleep_s = 900
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hermes_memory_themes.value_classes import dataclass

IDLE = ("listen", "sleep")

LONGEST_SLEEP_S = 86_400


@dataclass(frozen=True, slots=True)
class TeamSettings:
    """What a machine does while nothing is to be exchanged."""

    idle: str = "listen"
    """`listen`: hold a connection, over which the database announces changes. `sleep`: hold none, for a database that
    suspends itself while nobody is connected."""
    sleep_s: int = 0
    """With `sleep`: least time between two questions of a sleeping machine, in seconds; one that is longer than what the database
    waits for lets it suspend itself."""


KEYS = {field.name: field.type for field in fields(TeamSettings)}


def find_team_fault(key: str, value: Any) -> str | None:
    """Find what is wrong with one known setting; None when nothing is."""
    if key == "idle":
        return None if value in IDLE else f"idle must be one of {', '.join(IDLE)}, not {value!r}"
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_SLEEP_S:
        return f"{key} must be a whole number from 0 to {LONGEST_SLEEP_S}, not {value!r}"
    return None
