"""The search line: what it completes, remembers and refuses, and what stands out in what it found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_memory_tui.widgets.filter_line import SearchInput
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    said,
    screen_text,
    targets,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "D[deploy.way]: blue green", "V[build.no]: 8140", scope="Release 2", session="worker")
    fill(tmp_path / "m.db", "C[deploy.who]: nobody on Fridays", "V[port]: 8443", scope="login")
    return tmp_path / "m.db"


def line(pilot: Pilot[int]) -> SearchInput:
    found = main_screen(pilot).filter_line
    assert found is not None
    return found.input


COMPLETED = (
    ("sc", ("tab",), "scope:"),
    ("scope:rel", ("tab",), 'scope:"Release 2"'),
    ("type:d", ("tab", "tab", "tab"), "type:done"),
    ("type:d", ("tab", "shift+tab"), "type:done"),
    ("target:dep", ("tab",), "target:deploy.w"),
    ("by:wor", ("tab",), "by:worker"),
    ("tier:arc", ("tab",), "tier:archived"),
)
"""What is typed, the keys after it, and what the line then says."""


async def test_tab_completes(path: Path) -> None:
    async with inspecting(path) as pilot:
        for typed, keys, completed in COMPLETED:
            await pilot.press("slash", "ctrl+u")
            await type_text(pilot, typed)
            await pilot.press(*keys)
            assert line(pilot).value == completed
            assert pilot.app.focused is line(pilot)
            await pilot.press("escape", "escape")


async def test_what_may_be_typed_is_listed_narrowed_and_put_away(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "t")
        await pilot.press("tab")
        await until(pilot, lambda: "  tier:" in screen_text(pilot) and "  target:" in screen_text(pilot))
        await type_text(pilot, "y")
        await until(pilot, lambda: "  target:" not in screen_text(pilot))
        await pilot.press("escape")
        await pilot.pause()
        assert line(pilot).value == "ty"
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.focused is main_screen(pilot).table)


async def test_tab_with_nothing_to_complete_goes_on_to_the_next_pane(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"green", "tab")
        assert pilot.app.focused is not line(pilot)


async def test_earlier_searches_come_back_with_up_also_the_next_time(path: Path, tmp_path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"green", "enter", "slash", "ctrl+u", *"nobody", "enter")
        await until(pilot, lambda: targets(pilot) == ["deploy.who"])
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"wor", "up")
        assert line(pilot).value == "nobody"
        await pilot.press("up", "up")
        assert line(pilot).value == "green"
        await until(pilot, lambda: targets(pilot) == ["deploy.way"])
        await pilot.press("down", "down")
        assert line(pilot).value == "wor"
        await pilot.press("down")
        await until(pilot, lambda: pilot.app.focused is main_screen(pilot).table)
    state = tmp_path / ".hermes" / "inspector-state.json"
    assert state.stat().st_mode & 0o777 == 0o600
    assert json.loads(state.read_text())["lines"] == ["green", "nobody", "wor"]


async def test_reading_only_leaves_no_file(path: Path, tmp_path: Path) -> None:
    async with inspecting(path, read_only=True) as pilot:
        await pilot.press("slash", *"green", "enter", "slash", "up")
        assert line(pilot).value == "green"
    assert not (tmp_path / ".hermes").exists()


async def test_a_pasted_megabyte_is_cut_and_said(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        line(pilot).post_message(events.Paste("green \n" * 150_000))
        await until(pilot, lambda: "1,050,000 characters were pasted" in said(pilot))
        assert len(line(pilot).value) == 4_000
        await pilot.press("ctrl+u", *"green")
        await until(pilot, lambda: targets(pilot) == ["deploy.way"])


async def test_a_short_paste_of_lines_is_one_line(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        line(pilot).post_message(events.Paste("blue\r\ngreen\n"))
        await until(pilot, lambda: targets(pilot) == ["deploy.way"])
        assert said(pilot) == ""


def underlined(pilot: Pilot[int]) -> list[str]:
    """The words that are underlined on the screen, without the head of the table."""
    table = main_screen(pilot).table
    head = {text for text, _ in table._heads(table.scrollable_content_region.width)}
    lines = pilot.app.screen._compositor.render_strips(pilot.app.size)
    runs = [segment.text for strip in lines for segment in strip if segment.style and segment.style.underline]
    return [run for run in runs if run not in head]


async def test_words_that_were_searched_for_stand_out_in_rows_and_in_the_fact(path: Path) -> None:
    fill(path, "D[ÉTÉ]: [red]Greenhouse[/red] and blue", scope="login")
    async with inspecting(path) as pilot:
        await pilot.press("slash", *"gree", "enter")
        await until(pilot, lambda: "ÉTÉ" in targets(pilot))
        await until(pilot, lambda: underlined(pilot).count("Greenhouse") == 2)
        assert "green" in underlined(pilot)
        assert "blue" not in underlined(pilot)
        await until_shown(pilot, "[red]Greenhouse[/red]")
        await pilot.press("escape")
        await until(pilot, lambda: underlined(pilot) == [])
