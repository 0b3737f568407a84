"""The first frame of a view says nothing that its data does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_tui.model.view_catalog import VIEWS_BY_NAME
from tests.tui.inspector.driving import VIEWS, fill, inspecting, main_screen, opened, rows_of, targets, until

FALSE = ("no agent", "No agent", "nothing selected", "none connected")


def screen_lines(app: Any) -> str:
    """What the compositor would send of the whole screen."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.mark.parametrize("name", VIEWS)
async def test_the_first_frame_is_drawn_with_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "memory.db"
    fill(path, *(f"V[a{number}]: {number}" for number in range(30)), session="worker")
    async with inspecting(path, size=(140, 38)) as pilot:
        app: Any = pilot.app
        frames: list[str] = []
        display: Callable[..., None] = app._display
        holds: list[bool] = []

        def draw(screen: Any, renderable: Any) -> None:
            holds.append(getattr(screen, "is_unread", False))
            if not holds[-1] and getattr(screen, "NAME", "") == name:
                frames.append(screen_lines(app))
            display(screen, renderable)

        monkeypatch.setattr(app, "_display", draw)
        await pilot.press(VIEWS_BY_NAME[name].key)
        await until(pilot, lambda: getattr(app.screen, "NAME", "") == name and bool(frames))
        assert [word for word in FALSE if word in frames[0]] == []
        assert "● 1 agent" in frames[0] or "reading …" in frames[0]  # where the machine is busy for that long


async def test_a_view_that_waits_for_its_data_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1", session="worker")
    async with inspecting(path) as pilot:
        app: Any = pilot.app
        monkeypatch.setattr("hermes_memory_tui.views.scopes_view.ScopesView._load", lambda _: None)
        await pilot.press("2")
        await until(pilot, lambda: "reading …" in screen_lines(app))
        assert "no agent" not in screen_lines(app)


async def test_the_facts_are_followed_before_they_are_seen_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory_tui.screens.fact_listing.BENEATH_S", 3600.0)
    path = tmp_path / "memory.db"
    fill(path, *(f"V[a{number}]: {number}" for number in range(5)))
    async with inspecting(path, size=(140, 38)) as pilot:
        app: Any = pilot.app
        main = main_screen(pilot)
        view = await opened(pilot, "journal")
        layouts: list[object] = []
        lay_out = main._refresh_layout
        monkeypatch.setattr(main, "_refresh_layout", lambda *given, **named: (layouts.append(given), lay_out(*given)))
        fill(path, "V[newest]: 1")
        await until(pilot, lambda: any("newest" in row for row in rows_of(view)), "the view following")
        assert layouts == []
        assert "newest" not in targets(pilot)
        frames: list[str] = []
        display: Callable[..., None] = app._display

        def draw(screen: Any, renderable: Any) -> None:
            if screen is main:
                frames.append(screen_lines(app))
            display(screen, renderable)

        monkeypatch.setattr(app, "_display", draw)
        await pilot.press("1")
        await until(pilot, lambda: app.screen is main and bool(frames), "the facts")
        assert "newest" in frames[0]
