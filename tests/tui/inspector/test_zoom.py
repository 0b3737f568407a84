"""A pane that has the whole body."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.inspector.driving import fill, inspecting, opened, screen_text, until, until_shown, view_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[a]: one", "V[b]: two", scope="launch", session="worker")
    return tmp_path / "m.db"


def width(pilot: Pilot[int], name: str) -> int:
    return pilot.app.screen.query_one(f"#{name}").outer_size.width


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
        await pilot.press("i")
        await until(pilot, lambda: width(pilot, "detail") == size[0])
        await until_shown(pilot, "V[b]")
        assert "target" not in screen_text(pilot)
        await pilot.press("t")
        await until(pilot, lambda: width(pilot, "side") == size[0])
        await pilot.press("tab")
        await until(pilot, lambda: width(pilot, "facts") == size[0])
        await pilot.press("z")
        await until(pilot, lambda: {one: one.region for one in regions} == regions)


@pytest.mark.parametrize("name", ["now", "scopes", "agents", "journal", "team"])
async def test_a_views_list_and_text_are_zoomed_too(path: Path, name: str) -> None:
    async with inspecting(path, size=(160, 40)) as pilot:
        view = await opened(pilot, name)
        pages = width(pilot, "pages")
        view.pages.focus()
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "pages") == 160)
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "pages") == pages)
        view.grid.focus()
        await pilot.press("z")
        await until(pilot, lambda: width(pilot, "grid") == 160)
        await pilot.press("tab")
        await until(pilot, lambda: view_of(pilot).body.is_zoomed)
        await pilot.press("z", "1")
        await opened(pilot, name)
        await until(pilot, lambda: width(pilot, "pages") == pages)
