"""Writing what is shown to a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.files import export_import
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from tests.tui.inspector.driving import fill, inspecting, said, screen_text, targets, until, until_shown


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[a]: one", "V[b]: zwei Stück", scope="launch")
    fill(tmp_path / "m.db", "D[c]: three")
    return tmp_path / "m.db"


async def ask(pilot: Pilot[int], file: Path) -> None:
    await pilot.press("x")
    await until(pilot, lambda: isinstance(pilot.app.screen, Question))
    pilot.app.screen.line.value = str(file)  # type: ignore[attr-defined]
    await pilot.press("enter")


async def test_the_listing_is_written_as_jsonl_that_can_be_imported(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    async with inspecting(path) as pilot:
        await ask(pilot, file)
        await until(pilot, lambda: "3 facts written to" in said(pilot))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line.get("target") for line in lines] == [None, "c", "b", "a"]
    assert file.stat().st_mode & 0o777 == 0o600
    with Store.open(tmp_path / "new.db") as store:
        assert export_import.import_file(store, file, theme="default").created == 3


async def test_marked_facts_are_written_as_lines(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    async with inspecting(path, read_only=True) as pilot:
        await pilot.press("space", "space")
        await ask(pilot, file)
        await until(pilot, lambda: "2 facts written to" in said(pilot))
        await until_shown(pilot, "3 facts")
    assert file.read_text() == "# MEMORY_SPEC v1.0\nD[c]: three\n# scope: launch\nV[b]: zwei Stück\n"
    with Store.open(tmp_path / "new.db") as store:
        assert export_import.import_file(store, file, theme="default").created == 2


async def test_the_columns_shown_are_written_for_a_spreadsheet_without_formulas(path: Path, tmp_path: Path) -> None:
    fill(path, "V[d]: =HYPERLINK(1)", theme="work")
    file = tmp_path / "out.csv"
    async with inspecting(path) as pilot:
        await ask(pilot, file)
        await until(pilot, lambda: "4 facts written to" in said(pilot))
    with file.open(newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[0] == ["tier", "type", "target", "content", "scope", "theme", "age"]
    assert ["hot", "value", "b", "zwei Stück", "launch", "default"] in [row[:-1] for row in rows]
    assert ["hot", "value", "d", "'=HYPERLINK(1)", "–", "work"] in [row[:-1] for row in rows]
    assert file.stat().st_mode & 0o777 == 0o600


async def test_no_file_is_replaced_unasked(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    file.write_text("mine")
    async with inspecting(path) as pilot:
        await ask(pilot, file)
        await until(pilot, lambda: "replace it?" in screen_text(pilot))
        await pilot.press("escape")
        assert file.read_text() == "mine"
        await ask(pilot, file)
        await until(pilot, lambda: "replace it?" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "MEMORY_SPEC" in file.read_text())


@pytest.mark.parametrize(("name", "says"), [("out.txt", "Use the suffix"), ("no/out.md", "No such folder")])
async def test_a_name_that_cannot_be_is_said(path: Path, tmp_path: Path, name: str, says: str) -> None:
    async with inspecting(path) as pilot:
        await ask(pilot, tmp_path / name)
        await until(pilot, lambda: says in screen_text(pilot))
        await pilot.press("escape")
        assert len(targets(pilot)) == 3


async def test_one_fact_is_one_fact(path: Path, tmp_path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("space", "x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "export 1 marked fact ")
        await pilot.press("escape")
        await ask(pilot, tmp_path / "out.md")
        await until(pilot, lambda: "1 fact written to" in said(pilot))
