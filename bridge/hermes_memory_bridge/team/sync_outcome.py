"""The outcome of one sync, whatever carries the rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from hermes_memory_bridge.team.database.team_states import IDLE, TeamState
from hermes_memory_store.sync.wire_format import SyncRow

ProgressCallback = Callable[[], None]


@dataclass(slots=True)
class ThemeSyncCount:
    """What one sync did with one theme, and the database's position in it."""

    pulled: int = 0
    pushed: int = 0
    conflicts: int = 0
    refused: int = 0
    server_seq: int = 0
    state: TeamState | None = None
    """What keeps this theme alone from being exchanged."""
    unreached: set[str] = field(default_factory=set)
    turns_pulled: int = 0
    turns_pushed: int = 0

    @property
    def idle(self) -> bool:
        """Check whether there was nothing to do."""
        return not (self.pulled or self.pushed or self.refused or self.turns_pulled or self.turns_pushed)


@dataclass(slots=True)
class SyncOutcome:
    state: TeamState = IDLE
    offset_ms: int = 0
    themes: dict[str, ThemeSyncCount] = field(default_factory=dict)
    admitted: int = 0
    """Versions that had been held back, and are taken in by now."""
    more: bool = False
    """Whether captured turns are left, which had to wait so that facts do not."""

    @property
    def idle(self) -> bool:
        """Check whether there was nothing to do."""
        return not self.admitted and all(outcome.idle for outcome in self.themes.values())


def to_theme_state(theme: str, state: TeamState) -> TeamState:
    return TeamState(state.name, f"theme {theme}: {state.words}")


def take_bytes(rows: Sequence[SyncRow], most: int) -> list[SyncRow]:
    """Return the first of some rows, with that many bytes of content at most, and one at least."""
    sizes = itertools.accumulate(len((row.content or "").encode("utf-8", "replace")) for row in rows)
    return list(rows[: max(1, sum(size <= most for size in sizes))])


def in_pages(rows: Sequence[SyncRow], most: int, most_bytes: int) -> Iterator[list[SyncRow]]:
    """Yield rows in pages of so many at most, of `take_bytes` each."""
    while rows:
        page = take_bytes(rows[:most], most_bytes)
        yield page
        rows = rows[len(page) :]
