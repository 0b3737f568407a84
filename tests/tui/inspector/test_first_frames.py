"""The first frame of a view says nothing that its data does not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.design import ColorSystem

from hermes_memory_tui.model.memory import ListingRequest, Memory
from hermes_memory_tui.model.view_catalog import VIEWS_BY_NAME
from hermes_memory_tui.screens.facts_screen import MainScreen
from tests.tui.inspector.driving import (
    VIEWS,
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
    screen_text,
    targets,
    until,
)

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
        assert "● 1 agent" in screen_lines(app), "the header stays"


async def test_the_fact_is_shown_in_full_before_anything_is_pressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "memory.db", "V[a]: 1")
    monkeypatch.setattr(MainScreen, "on_line_list_moved", lambda *_: None)  # posted before the screen ran
    async with inspecting(tmp_path / "memory.db") as pilot:
        await until(pilot, lambda: "history" in screen_text(pilot))


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


LATER = {
    "hermes_memory_bridge.trust.vault",
    "hermes_memory_bridge.daemon",
    "hermes_memory_store.intake.detectors.injection",
    "hermes_memory_store.items.fulltext",
}
"""What only writes, searches or bridges need."""


def test_the_facts_screen_imports_nothing_that_its_first_frame_does_not_need(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1")
    script = (
        "import sys; from hermes_memory_tui.app import open_memory; import hermes_memory_tui.inspector\n"
        "open_memory(sys.argv[1], False).first_overview(None); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    assert LATER & set(done.stdout.split()) == set()


def test_a_memory_opens_its_reader_of_listings_with_the_first_of_them(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1")

    def connections() -> int:
        handles = Path("/proc/self/fd").iterdir()
        return sum(1 for one in handles if one.is_symlink() and os.path.realpath(one) == str(path.resolve()))

    before = connections()
    memory = Memory.open(path)
    opened = connections() - before
    assert len(memory.load_listing(ListingRequest()).keys) == 1
    assert connections() - before == opened + opened // 2
    memory.close()
    assert connections() == before


async def test_colours_and_styles_are_made_once_before_the_facts_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1")
    generated: list[object] = []
    styled: list[object] = []
    generate, apply = ColorSystem.generate, Stylesheet.apply

    def note_colours(colours: ColorSystem) -> dict[str, str]:
        generated.append(colours)
        return generate(colours)

    def note_styles(sheet: Stylesheet, node: Any, **how: Any) -> None:
        styled.append(node.id)
        apply(sheet, node, **how)

    monkeypatch.setattr(ColorSystem, "generate", note_colours)
    monkeypatch.setattr(Stylesheet, "apply", note_styles)
    async with inspecting(path, size=(140, 38)):
        assert len(generated) == 1
        assert styled.count("detail") <= 2  # when it is mounted, and when the screen's width is known
