"""Selecting text with the mouse in something that goes away, and the palette on any screen: nothing ends the app."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets._toast import Toast

from hermes_memory_tui.commands.command_palette import CommandPalette
from tests.tui.inspector.driving import fill, inspecting, mouse, send, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "m.db"
    fill(made, "C[db.id]: UUID")
    return made


async def toast_place(pilot: Pilot[int]) -> tuple[int, int]:
    """A cell of a toast that shows."""
    pilot.app.notify("about to go", timeout=60)

    def shown() -> bool:
        toasts = list(pilot.app.screen.query(Toast))
        return bool(toasts) and is_at(pilot, toasts[0], toasts[0].region.x + 1, toasts[0].region.y)

    await until(pilot, shown, "a toast")
    region = pilot.app.screen.query(Toast).first().region
    return region.x + 1, region.y


def is_at(pilot: Pilot[int], toast: Toast, x: int, y: int) -> bool:
    return bool(toast.region) and pilot.app.screen.get_widget_at(x, y)[0] is toast


@pytest.mark.parametrize("clicks", [2, 3])
@pytest.mark.parametrize("gap_s", [0, 0.001, 0.01])
async def test_a_toast_may_be_clicked_more_than_once(path: Path, clicks: int, gap_s: float) -> None:
    async with inspecting(path) as pilot:
        place = await toast_place(pilot)
        for _ in range(clicks):
            mouse(pilot, events.MouseDown, *place)
            mouse(pilot, events.MouseUp, *place)
            await asyncio.sleep(gap_s)
        await until(pilot, lambda: not pilot.app.screen.query(Toast), "the toast leaving")
        await pilot.press("j")


@pytest.mark.parametrize("row", [2, 20, 36])
async def test_text_may_be_selected_from_a_toast_that_expires_meanwhile(path: Path, row: int) -> None:
    async with inspecting(path) as pilot:
        x, y = await toast_place(pilot)
        mouse(pilot, events.MouseDown, x, y)
        mouse(pilot, events.MouseMove, x + 2, y)
        pilot.app.clear_notifications()
        for step in range(6):
            mouse(pilot, events.MouseMove, x - step, row)
            await asyncio.sleep(0)
        mouse(pilot, events.MouseUp, x, row)
        await until(pilot, lambda: not pilot.app.screen.query(Toast), "the toast leaving")
        await pilot.press("ctrl+c", "j")


@pytest.mark.parametrize("dialog", ["n", "question_mark", "s", "exclamation_mark", "ctrl+p"])
async def test_a_dialog_may_be_left_while_its_text_is_being_selected(path: Path, dialog: str) -> None:
    async with inspecting(path) as pilot:
        for row in range(10, 30, 4):
            await pilot.press(dialog)
            mouse(pilot, events.MouseDown, 60, row)
            mouse(pilot, events.MouseMove, 66, row + 1)
            send(pilot, "escape")
            for column in (50, 64, 90):
                mouse(pilot, events.MouseMove, column, row + 2)
                await asyncio.sleep(0)
            mouse(pilot, events.MouseUp, 64, row)
            await pilot.pause()
            if len(pilot.app.screen_stack) > 1:
                await pilot.press("escape")
        await pilot.press("j")


@pytest.mark.parametrize("size", [(140, 38), (40, 8), (20, 4), (20, 3), (10, 1)])
async def test_the_palette_can_be_paged_through_on_any_screen(path: Path, size: tuple[int, int]) -> None:
    async with inspecting(path, size=size) as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette), "the palette")
        for key in ("pageup", "pagedown", "ctrl+end", "ctrl+home", "up"):
            await pilot.press("down", key, key)
        await pilot.press("a", "pagedown", "escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, CommandPalette), "the palette closing")


@pytest.mark.parametrize("escapes", [False, True])
@pytest.mark.parametrize("turns", [0, 1, 3, 10, 30, 100])
async def test_the_app_may_close_while_the_palette_opens(path: Path, turns: int, escapes: bool) -> None:
    async with inspecting(path) as pilot:
        send(pilot, "ctrl+p")
        await until(pilot, lambda: turns < 30 or isinstance(pilot.app.screen, CommandPalette), "the palette")
        for _ in range(turns):
            await asyncio.sleep(0)
        if escapes:
            send(pilot, "escape")


@pytest.mark.parametrize("gap_s", [0, 0.002, 0.01, 0.03])
async def test_the_palette_may_be_left_while_it_searches(path: Path, gap_s: float) -> None:
    async with inspecting(path) as pilot:
        for after in ("escape", "pagedown", "down", "enter", "a"):
            send(pilot, "ctrl+p")
            await asyncio.sleep(gap_s)
            for key in ("q", "q", "escape", after):  # nothing is called qq
                send(pilot, key)
            await asyncio.sleep(gap_s)
            await pilot.pause()
            while len(pilot.app.screen_stack) > 1:
                await pilot.press("escape")
        assert not pilot.app._exit
