"""Drives the inspector in tests: opens it on a store, presses keys, and waits for what must happen."""

from __future__ import annotations

import asyncio
import time
import unicodedata
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from textual import events
from textual.pilot import Pilot

from hermes_memory_store.clock import Clock
from hermes_memory_store.model import Fact, FactFilter, Millis, Scope, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.model.view_catalog import CATALOG, VIEWS_BY_NAME
from hermes_memory_tui.screens.facts_screen import MainScreen
from hermes_memory_tui.views.base_view import BaseView
from tests.empty_store import put_empty_store
from tests.processes import PATIENCE_S

NOW = Millis(1_773_756_000_000)
VIEWS = [
    entry.name
    for entry in CATALOG
    if entry.name != "facts" and (entry.name != "review" or find_spec("hermes_memory_store.memory.sources"))
]
"""The views besides the facts that this version's store has the parts for."""


def frozen() -> Millis:
    return NOW


def fill(path: Path, *lines: str, theme: str = "default", scope: str | None = None, session: str | None = None) -> None:
    """Write facts as another process would: through a connection of its own."""
    if not path.exists():
        put_empty_store(path)
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open(theme, session) if session else None
        for line in lines:
            store.facts.write(theme, line, scope=scope, session=who)


@asynccontextmanager
async def inspecting(
    path: Path,
    theme: str | None = None,
    *,
    size: tuple[int, int] = (160, 38),
    read_only: bool = False,
    wait_s: float = 10,
    clock: Clock = frozen,
    offers_start: bool = False,
) -> AsyncIterator[Pilot[int]]:
    """The inspector on a store, painted once."""

    def open_store() -> Store:
        return Store.open(path, clock=clock, read_only=read_only, lock_timeout_s=wait_s)

    app = Inspector(Memory(open_store), theme, offers_start=offers_start)
    async with app.run_test(size=size, notifications=True) as pilot:
        await until(pilot, lambda: screen_text(pilot).strip())
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


async def until_shown(pilot: Pilot[int], text: str) -> None:
    """Wait until a text stands on the screen: what is known is painted a frame later, on a busy machine much later."""
    await until(pilot, lambda: text in screen_text(pilot), repr(text))


async def type_text(pilot: Pilot[int], text: str) -> None:
    from textual.keys import _character_to_key

    await pilot.press(*map(_character_to_key, text))


def send(pilot: Pilot[int], key: str) -> None:
    """A key that is pressed before what the one before it began is over."""
    from textual.keys import _get_unicode_name_from_key

    driver = pilot.app._driver
    assert driver is not None
    character = key if len(key) == 1 else None
    if character is None:
        with suppress(KeyError):
            character = unicodedata.lookup(_get_unicode_name_from_key(key))
    event = events.Key(key, character)
    event.set_sender(pilot.app)
    driver.send_message(event)


def mouse(pilot: Pilot[int], kind: type[events.MouseEvent], x: int, y: int) -> None:
    """The mouse as the terminal reports it, and not as slowly as a pilot clicks."""
    driver = pilot.app._driver
    assert driver is not None
    where = {"x": x, "y": y, "screen_x": x, "screen_y": y, "delta_x": 1, "delta_y": 1}
    driver.process_message(kind(widget=None, button=1, shift=False, meta=False, ctrl=False, **where))


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
    """Everything the app has said, also what has left the screen since."""
    return "\n".join(one.text for one in pilot.app.toasts)  # type: ignore[attr-defined]


# Views


async def opened(pilot: Pilot[int], name: str) -> BaseView[Any]:
    """Open a view by its digit, and wait until it has read what it shows."""
    await pilot.press(VIEWS_BY_NAME[name].key)
    await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == name, f"opening {name}")
    view = view_of(pilot)
    await until(pilot, lambda: view.data is not None, f"{name} reading")
    return view


def view_of(pilot: Pilot[int]) -> BaseView[Any]:
    view = pilot.app.screen
    assert isinstance(view, BaseView)
    return view


def rows_of(view: BaseView[Any]) -> list[str]:
    """What the rows of a view say, from the top, however narrow the screen is."""
    return ["  ".join(cell.text for cell in row.cells if cell.text) for row in view.grid.rows]


async def to_row(pilot: Pilot[int], text: str) -> None:
    """Put the cursor on the first row that says something, with the keys that move it.

    What is shown may be read anew, and rows change places, between two keys: it looks again until the cursor is there.
    """
    view = view_of(pilot)

    def place() -> int | None:
        return next((place for place, row in enumerate(rows_of(view)) if text in row), None)

    await until(pilot, lambda: place() is not None, f"a row with {text!r}")
    begin = time.perf_counter()
    while (wanted := place()) != view.grid.cursor:
        if time.perf_counter() - begin > PATIENCE_S:
            raise AssertionError(f"the cursor does not come to a row with {text!r}:\n{screen_text(pilot)}")
        await pilot.press("g", *("j" * (wanted or 0)))


def beside(pilot: Pilot[int]) -> str:
    return view_of(pilot).pages.plain


# The store, as another process reads it


def facts_of(path: Path, theme: str | None = None) -> dict[str, Fact]:
    """Every fact that is not withdrawn, by target; of two with one target the one that stands."""
    with Store.open(path, read_only=True) as store:
        found = store.facts.by_ids(list(store.facts.ids(FactFilter(theme=theme, tiers=frozenset()))))
    order = (Tier.SUPERSEDED, Tier.ARCHIVED, Tier.COLD, Tier.HOT)
    standing = sorted(found, key=lambda fact: order.index(fact.tier) if fact.tier in order else 0)
    return {fact.target: fact for fact in standing if fact.tier is not Tier.WITHDRAWN}


def scopes_of(path: Path) -> dict[str, Scope]:
    with Store.open(path, read_only=True) as store:
        return {scope.label: scope for scope in store.scopes.list()}


def doctor_says(path: Path) -> list[str]:
    from hermes_memory_store.diagnostics.doctor import examine_store

    with Store.open(path) as store:
        return [f"{check.name}: {check.detail}" for check in examine_store(store) if not check.ok]
