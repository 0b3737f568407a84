"""Lists follow what is newest until the person has chosen a row, and stop when told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_tui.views.journal_view import JournalView
from hermes_memory_tui.widgets.lists import marked_list
from tests.tui.inspector.driving import facts_of, fill, inspecting, main_screen, opened, rows_of, screen_text, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", *(f"V[{letter}]: number {letter}" for letter in "abcdef"))
    return tmp_path / "m.db"


async def test_an_untouched_first_row_stays_the_newest(path: Path) -> None:
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        for number in range(60):
            fill(path, f"V[new.{number}]: 1")
        await until(pilot, lambda: table.fact is not None and table.fact.target == "new.59")
        assert table.cursor == 0


async def test_a_row_that_was_chosen_stays_and_the_new_ones_are_counted(path: Path) -> None:
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        await pilot.press("j")
        for number in range(12):
            fill(path, f"V[new.{number}]: 1")
        await until(pilot, lambda: "12 new, g" in screen_text(pilot))
        assert table.fact is not None
        assert table.fact.target == "e"
        await pilot.press("g")
        await until(pilot, lambda: "new, g" not in screen_text(pilot))
        fill(path, "V[last]: 1")
        await until(pilot, lambda: table.fact is not None and table.fact.target == "last")


async def test_a_key_at_the_moment_a_row_arrives_acts_on_the_row_that_was_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marked_list, "REACTION_S", 60.0)
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        fill(path, "V[intruder]: 1")
        await until(pilot, lambda: table.fact is not None and table.fact.target == "intruder")
        await pilot.press("a")
        await until(pilot, lambda: len(facts_of(path)) == 6 or "archived" in screen_text(pilot))
        assert facts_of(path)["intruder"].tier.value == "hot"
        assert facts_of(path)["f"].tier.value == "archived"


async def test_the_journal_follows_too(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        assert isinstance(view, JournalView)
        fill(path, "V[x]: 1")
        await until(pilot, lambda: "V[x]" in rows_of(view)[view.grid.cursor])
        await pilot.press("j")
        fill(path, "V[y]: 1", "V[z]: 1")
        await until(pilot, lambda: "2 new, g" in screen_text(pilot))


async def test_following_is_paused_everywhere_and_catches_up(path: Path) -> None:
    async with inspecting(path) as pilot:
        table = main_screen(pilot).table
        await pilot.press("F")
        await until(pilot, lambda: "paused" in screen_text(pilot))
        fill(path, "V[x]: 1", "V[y]: 1")
        await until(pilot, lambda: "paused, 2 new" in screen_text(pilot))
        assert len(table.keys) == 6
        view = await opened(pilot, "journal")
        fill(path, "V[z]: 1")
        await until(pilot, lambda: "paused, 3 new" in screen_text(pilot))
        assert not any("V[z]" in row for row in rows_of(view))
        await pilot.press("F")
        await until(pilot, lambda: any("V[z]" in row for row in rows_of(view)))
        await pilot.press("escape")
        await until(pilot, lambda: len(table.keys) == 9)
