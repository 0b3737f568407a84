"""Saved views: a search under a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
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
    fill(tmp_path / "m.db", "D[deploy]: blue green", "V[port]: 8443", "C[auth]: passkey")
    return tmp_path / "m.db"


async def test_a_view_is_saved_opened_and_removed(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash")
        await type_text(pilot, "type:value")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await type_text(pilot, "the [values]")
        await pilot.press("enter")
        await until(pilot, lambda: "View 'the [values]' saved" in said(pilot))
    async with inspecting(path) as pilot:
        await pilot.press("v")
        await until(pilot, lambda: "the [values]" in screen_text(pilot))
        await until_shown(pilot, "type:value")
        await pilot.press("enter")
        await until(pilot, lambda: targets(pilot) == ["port"])
        assert pilot.app.focused is main_screen(pilot).table
        await pilot.press("escape", "v")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press("d")
        await until(pilot, lambda: "No saved views" in screen_text(pilot))
        await pilot.press("escape")
        assert main_screen(pilot).kept.views == {}


async def test_typing_narrows_the_views(path: Path) -> None:
    async with inspecting(path) as pilot:
        for name, line in (("limits", "type:constraint"), ("numbers", "type:value"), ("doors", "passkey")):
            main_screen(pilot).kept.save_view(name, line)
        await pilot.press("v", "slash", *"dors")
        await until(pilot, lambda: "numbers" not in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: targets(pilot) == ["auth"])


async def test_a_view_is_not_replaced_unasked(path: Path) -> None:
    async with inspecting(path) as pilot:
        main_screen(pilot).kept.save_view("a", "old")
        await pilot.press("slash", *"new", "ctrl+s", "a", "enter")
        await until(pilot, lambda: "replace it?" in screen_text(pilot))
        assert main_screen(pilot).kept.views == {"a": "old"}
        await pilot.press("enter")
        await until(pilot, lambda: main_screen(pilot).kept.views == {"a": "new"})


async def test_nothing_is_saved_when_reading_only_and_that_is_said(path: Path) -> None:
    async with inspecting(path, read_only=True) as pilot:
        await pilot.press("slash", *"port", "ctrl+s", "a", "enter")
        await until(pilot, lambda: "read-only" in said(pilot))
