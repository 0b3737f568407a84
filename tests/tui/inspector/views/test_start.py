"""The view that a new memory begins with: what is on this machine, and the next step with each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.working_folder import find_working_theme
from hermes_memory_tui.screens.fact_editor import Editor
from hermes_memory_tui.views.base_view import BaseView
from tests.store.test_projects import make_repository
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    inspecting,
    main_screen,
    rows_of,
    said,
    screen_text,
    to_row,
    type_text,
    until,
    view_of,
)

OLD_FILE = Path(__file__).parents[3] / "store" / "fixtures" / "hermes_memory_0_3_0.db"


@pytest.fixture(autouse=True)
def machine(home: Path) -> Path:
    """A machine with a host, its own memory, and what it evicted."""
    (home / ".claude.json").write_text("{}")
    (home / "memories" / "MEMORY.md").write_text("the printer is on the third floor\n§\nD[cache]: redis")
    archive = home / "memories" / "ARCHIVE.jsonl"
    archive.write_text(json.dumps({"content": "V[port]: 6379", "archived_at": "2026-03-01"}) + "\n")
    return home


async def open_sources(pilot: Pilot[int]) -> None:
    """As a memory with facts has it: from *Now*."""
    await pilot.press("0")
    await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") in ("now", "start"))
    if getattr(pilot.app.screen, "NAME", "") == "now":
        await pilot.press("M")
    await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "start" and view_of(pilot).data is not None)


async def started(pilot: Pilot[int]) -> BaseView[object]:
    """The view, which opened by itself."""
    await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "start")
    view = view_of(pilot)
    await until(pilot, lambda: view.data is not None and rows_of(view))
    return view


async def test_an_empty_memory_begins_with_what_is_on_this_machine(path: Path) -> None:
    async with inspecting(path, offers_start=True) as pilot:
        await started(pilot)
        await until(pilot, lambda: "This memory is empty." in beside(pilot))
        assert all(name in screen_text(pilot) for name in ("MEMORY.md", "ARCHIVE.jsonl", "Claude Code"))


async def test_a_memory_with_facts_does_not(path: Path) -> None:
    fill(path, "V[a]: 1")
    async with inspecting(path, offers_start=True) as pilot:
        await until(pilot, lambda: "V[a]" in screen_text(pilot) or "1 fact" in screen_text(pilot))
        assert pilot.app.screen is main_screen(pilot)
        await open_sources(pilot)
        await until(pilot, lambda: "This memory holds 1 fact" in beside(pilot))


async def test_n_writes_the_first_fact_where_the_command_line_would(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repository(tmp_path / "shop"))
    async with inspecting(path, offers_start=True) as pilot:
        await started(pilot)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.screen, Editor))
        await type_text(pilot, "V[port]: 6379")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "port" in facts_of(path))
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
    assert facts_of(path)["port"].theme == "shop"
    with Store.open(path, read_only=True) as store:
        assert find_working_theme(store) == "shop"


@pytest.mark.parametrize(("row", "begins"), [("MEMORY.md", "MEMORY.md"), ("ARCHIVE.jsonl", "archive")])
async def test_enter_on_the_hosts_memory_goes_to_its_relief(path: Path, row: str, begins: str) -> None:
    async with inspecting(path, offers_start=True) as pilot:
        await started(pilot)
        await to_row(pilot, row)
        await pilot.press("enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "pressure")
        await until(pilot, lambda: view_of(pilot).grid.key == begins)


async def test_enter_on_a_host_shows_what_it_would_write_and_writes_it_after_that(path: Path, machine: Path) -> None:
    async with inspecting(path, offers_start=True) as pilot:
        view = await started(pilot)
        await to_row(pilot, "Claude Code")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until(pilot, lambda: "SessionStart" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is view)
        assert (machine / ".claude.json").read_text() == "{}"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "Claude Code is connected; restart it." in said(pilot))
        assert "hermes-memory" in json.loads((machine / ".claude.json").read_text())["mcpServers"]
        await until(pilot, lambda: any("Claude Code" in row and "✓" in row for row in rows_of(view)))
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.screen is view


async def test_f5_looks_again_and_enter_copies_the_command_that_opens_an_older_file(path: Path, machine: Path) -> None:
    async with inspecting(path, offers_start=True) as pilot:
        view = await started(pilot)
        (machine / ".hermes").mkdir()
        shutil.copy(OLD_FILE, machine / ".hermes" / "my old.db")
        await pilot.press("f5")
        await until(pilot, lambda: any("my old.db" in row for row in rows_of(view)))
        await to_row(pilot, "my old.db")
        await pilot.press("enter")
        await until(pilot, lambda: "Copied" in said(pilot))
        assert pilot.app.clipboard == f"hermes-memory-tui --db '{machine}/.hermes/my old.db'"


async def test_reading_only_nothing_is_connected(path: Path, machine: Path) -> None:
    fill(path, "V[a]: 1")
    async with inspecting(path, read_only=True) as pilot:
        await open_sources(pilot)
        await to_row(pilot, "Claude Code")
        await pilot.press("enter", "n")
        await until(pilot, lambda: "open read-only" in said(pilot))
        assert view_of(pilot).NAME == "start"
    assert (machine / ".claude.json").read_text() == "{}"
