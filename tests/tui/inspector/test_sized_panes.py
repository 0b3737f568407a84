"""Widths of panes by keys and with the mouse, and a pane that has the whole body."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_memory_tui.screens.past_screen import PastScreen
from tests.tui.inspector.driving import fill, inspecting, main_screen, mouse, opened, screen_text, send, until, view_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[a]: one", "V[b]: two", scope="launch", session="worker")
    return tmp_path / "m.db"


def width(pilot: Pilot[int], name: str) -> int:
    return pilot.app.screen.query_one(f"#{name}").outer_size.width


async def test_keys_make_the_focused_pane_wider_and_that_is_kept(path: Path) -> None:
    async with inspecting(path, size=(160, 40)) as pilot:
        side, detail = width(pilot, "side"), width(pilot, "detail")
        await pilot.press("t")
        for _ in range(2):  # before the next layout
            send(pilot, "greater_than_sign")
        await until(pilot, lambda: width(pilot, "side") == side + 8)
        await pilot.press("f", "greater_than_sign")
        await until(pilot, lambda: width(pilot, "detail") == detail - 4)
        await pilot.press("d", "less_than_sign")
        await until(pilot, lambda: width(pilot, "detail") == detail - 8)
        await pilot.press(*["less_than_sign"] * 30)
        await until(pilot, lambda: width(pilot, "detail") == 16)
        await pilot.press("t", *["greater_than_sign"] * 60)
        await until(pilot, lambda: width(pilot, "side") == 160 - 16 - 32)
    async with inspecting(path, size=(160, 40)) as pilot:
        await until(pilot, lambda: (width(pilot, "side"), width(pilot, "detail")) == (112, 16))
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: width(pilot, "side") == 30)
        await pilot.press("greater_than_sign")
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: width(pilot, "side") == 112)
        assert "V[b]" in screen_text(pilot) or "two" in screen_text(pilot)


async def test_a_border_is_dragged_with_the_mouse(path: Path) -> None:
    async with inspecting(path, size=(160, 40)) as pilot:
        side = main_screen(pilot).query_one("#side").region
        mouse(pilot, events.MouseDown, side.right - 1, 12)
        await until(pilot, lambda: pilot.app.mouse_captured is not None)
        mouse(pilot, events.MouseMove, side.right + 9, 12)
        await until(pilot, lambda: width(pilot, "side") == side.width + 10)
        mouse(pilot, events.MouseUp, side.right + 9, 12)
        await until(pilot, lambda: main_screen(pilot).kept.pane_widths("facts") == {"side": side.width + 10})
        detail = main_screen(pilot).query_one("#detail").region
        mouse(pilot, events.MouseDown, detail.x, 20)
        await until(pilot, lambda: pilot.app.mouse_captured is not None)
        mouse(pilot, events.MouseMove, detail.x - 5, 3)
        await until(pilot, lambda: width(pilot, "detail") == detail.width + 5)
        mouse(pilot, events.MouseUp, detail.x - 5, 3)
        await until(pilot, lambda: pilot.app.mouse_captured is None)
        mouse(pilot, events.MouseMove, 80, 10)
        await pilot.press("f", "j")
        assert width(pilot, "detail") == detail.width + 5
        assert main_screen(pilot).table.cursor == 1


@pytest.mark.parametrize("size", [(160, 40), (100, 30)])
async def test_the_focused_pane_has_the_whole_body_and_zoom_follows_the_focus(
    path: Path, size: tuple[int, int]
) -> None:
    async with inspecting(path, size=size) as pilot:
        await until(pilot, lambda: "V[b]" in screen_text(pilot))
        regions = {one: one.region for one in pilot.app.screen.query("#side, #middle, #detail, #facts, #scopes")}
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "facts") == size[0])
        assert "themes and scopes" not in screen_text(pilot)
        await pilot.press("d")
        await until(pilot, lambda: width(pilot, "detail") == size[0])
        assert "V[b]" in screen_text(pilot)
        assert "target" not in screen_text(pilot)
        await pilot.press("t")
        await until(pilot, lambda: width(pilot, "side") == size[0])
        await pilot.press("tab")
        await until(pilot, lambda: width(pilot, "facts") == size[0])
        await pilot.press("z")
        await until(pilot, lambda: {one: one.region for one in regions} == regions)


@pytest.mark.parametrize("name", ["now", "scopes", "agents", "journal", "team"])
async def test_a_views_list_and_text_are_zoomed_and_sized_too(path: Path, name: str) -> None:
    async with inspecting(path, size=(160, 40)) as pilot:
        view = await opened(pilot, name)
        pages = width(pilot, "pages")
        view.pages.focus()
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: width(pilot, "pages") == pages + 4)
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "pages") == 160)
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "pages") == pages + 4)
        view.grid.focus()
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "grid") == 160)
        await pilot.press("tab")
        await until(pilot, lambda: view_of(pilot).is_zoomed)
        await pilot.press("z", "1")
        await opened(pilot, name)
        await until(pilot, lambda: width(pilot, "pages") == pages + 4)


async def test_a_late_layout_of_a_screen_that_is_leaving_is_left_out(path: Path) -> None:
    """What is to come after a refresh waits for that of whatever screen is on top."""
    async with inspecting(path) as pilot:
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        send(pilot, "escape")
        while past.query("#side"):
            await asyncio.sleep(0)
        assert past.is_attached
        past.apply_widths()
