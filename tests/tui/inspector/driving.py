"""Drives the inspector in tests: opens it on a store, presses keys, and waits for what must happen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from hermes_memory_store.model import Fact, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.memory import Memory
from hermes_memory_tui.screens.main import MainScreen

NOW = Millis(1_773_756_000_000)
PATIENCE_S = 8.0


def frozen() -> Millis:
    """A clock that stands still."""
    return NOW


def fill(path: Path, *lines: str, theme: str = "default", scope: str | None = None, session: str | None = None) -> None:
    """Write facts as another process would: through a connection of its own."""
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open(theme, session) if session else None
        for line in lines:
            store.facts.write(theme, line, scope=scope, session=who)


@asynccontextmanager
async def inspecting(
    path: Path,
    theme: str | None = None,
    *,
    size: tuple[int, int] = (140, 38),
    read_only: bool = False,
    wait_s: float = 10,
) -> AsyncIterator[Pilot[int]]:
    """The inspector on a store, painted once."""

    def open_store() -> Store:
        return Store.open(path, clock=frozen, read_only=read_only, lock_timeout_s=wait_s)

    app = Inspector(Memory(open_store), theme)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield pilot


def main_screen(pilot: Pilot[int]) -> MainScreen:
    """The first screen, whatever lies over it."""
    return next(screen for screen in pilot.app.screen_stack if isinstance(screen, MainScreen))


async def until(pilot: Pilot[int], happened: Callable[[], object], what: str = "what was waited for") -> float:
    """Wait until something happened; the seconds it took."""
    begin = time.perf_counter()
    while not happened():
        if time.perf_counter() - begin > PATIENCE_S:
            raise AssertionError(f"{what} did not happen; the screen says:\n{screen_text(pilot)}")
        await pilot.pause()
        await asyncio.sleep(0.005)
    return time.perf_counter() - begin


async def type_text(pilot: Pilot[int], text: str) -> None:
    """Type a text, key by key."""
    from textual.keys import _character_to_key

    await pilot.press(*map(_character_to_key, text))


def screen_text(pilot: Pilot[int]) -> str:
    """What stands on the screen now, line by line."""
    width, height = pilot.app.size
    lines = pilot.app.screen._compositor.render_strips(pilot.app.size)
    return "\n".join(strip.text[:width] for strip in lines[:height])


def shown_facts(pilot: Pilot[int]) -> list[Fact]:
    """The facts of the table, from the top."""
    table = main_screen(pilot).table
    found = (table.fact_at(row) for row in range(table.row_count))
    return [fact for fact in found if fact is not None]


def targets(pilot: Pilot[int]) -> list[str]:
    """What the facts of the table are about, from the top."""
    return [fact.target for fact in shown_facts(pilot)]


def said(pilot: Pilot[int]) -> str:
    """Everything the app has notified of and still shows."""
    return "\n".join(notification.message for notification in pilot.app._notifications)
