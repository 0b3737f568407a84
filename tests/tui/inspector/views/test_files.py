"""The view of the memory files that agent hosts read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.screens.fact_editor import EntryEditor, NewFactEditor
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    inspecting,
    opened,
    rows_of,
    said,
    to_row,
    until,
    until_shown,
)

CLAUDE = "# Shop\r\n\r\n- The database listens on port 5433\r\n- Use pnpm\r\n- See @docs/style.md\r\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of Claude Code and Codex, in a home where both are."""
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".claude").mkdir(parents=True)
    (home / ".codex" / "memories").mkdir(parents=True)
    (home / ".codex" / "memories" / "memory_summary.md").write_text("- likes short answers\n")
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "style.md").write_text("Tabs.\n")
    (project / "CLAUDE.md").write_bytes(CLAUDE.encode())
    (project / "AGENTS.md").write_text("- Answer in English\n")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    return project


async def test_entries_show_who_reads_them_and_what_the_memory_says_of_them(path: Path, project: Path) -> None:
    fill(path, "V[db.port]: 5432", "D[pkg.manager]: pnpm")
    async with inspecting(path, "default") as pilot:
        view = await opened(pilot, "files")
        await until_shown(pilot, "opposite")
        await to_row(pilot, "port 5433")
        await until(pilot, lambda: "5432 ≠ 5433" in beside(pilot))
        assert "Claude Code" in beside(pilot)
        rows = rows_of(view)
        assert any("pnpm" in row and "= same" in row for row in rows)
        assert any("style.md" in row and "Tabs." in row for row in rows)
        assert any("short answers" in row and "nobody" in row for row in rows)


async def test_an_edit_changes_one_entry_and_u_takes_it_back(path: Path, project: Path) -> None:
    file = project / "CLAUDE.md"
    async with inspecting(path, "default") as pilot:
        await opened(pilot, "files")
        await to_row(pilot, "port 5433")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, EntryEditor))
        await pilot.press("backspace", "2", "ctrl+s")
        await until(pilot, lambda: file.read_bytes() == CLAUDE.replace("5433", "5432").encode())
        await until(pilot, lambda: "CLAUDE.md edited" in said(pilot))
        await pilot.press("u")
        await until(pilot, lambda: file.read_bytes() == CLAUDE.encode())


async def test_an_entry_that_contradicts_a_fact_takes_its_value_or_gives_it_its_own(path: Path, project: Path) -> None:
    file = project / "CLAUDE.md"
    fill(path, "V[db.port]: 5432 on localhost")
    async with inspecting(path, "default") as pilot:
        await opened(pilot, "files")
        await to_row(pilot, "port 5433")
        await pilot.press("m")
        await until_shown(pilot, "V[db.port]: The database listens on port 5433")
        await pilot.press("escape")
        await pilot.press("comma")
        await until_shown(pilot, "+ The database listens on port 5432")
        assert file.read_bytes() == CLAUDE.encode()
        await pilot.press("enter")
        await until(pilot, lambda: file.read_bytes() == CLAUDE.replace("5433", "5432").encode())
        await pilot.press("u")
        await until(pilot, lambda: file.read_bytes() == CLAUDE.encode())
        await until_shown(pilot, "opposite")
        await to_row(pilot, "port 5433")
        await pilot.press("full_stop")
        await until_shown(pilot, "+ 5433 on localhost")
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["db.port"].content == "5433 on localhost")
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["db.port"].content == "5432 on localhost")
        fill(path, "C[pnpm]: never use pnpm, ask first")
        await to_row(pilot, "Use pnpm")
        await until(pilot, lambda: "never ≠ always" in beside(pilot))
        await pilot.press("full_stop")
        await until_shown(pilot, "+ Use pnpm")


async def test_a_file_that_another_program_writes_is_followed_and_never_overwritten(path: Path, project: Path) -> None:
    file = project / "CLAUDE.md"
    async with inspecting(path, "default") as pilot:
        view = await opened(pilot, "files")
        await to_row(pilot, "port 5433")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, EntryEditor))
        theirs = file.read_bytes() + b"- theirs\r\n"
        file.write_bytes(theirs)
        await pilot.press("X", "ctrl+s")
        await until_shown(pilot, "Not saved: CLAUDE.md was changed by another program meanwhile")
        assert file.read_bytes() == theirs
        await pilot.press("escape")
        await until(pilot, lambda: any("theirs" in row for row in rows_of(view)))
        await to_row(pilot, "port 5433")
        await until(pilot, lambda: "port 5433X" in beside(pilot))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, EntryEditor))
        assert pilot.app.screen.area.text.endswith("5433X")


async def test_an_entry_moves_into_the_memory_and_back_as_one(path: Path, project: Path) -> None:
    file = project / "CLAUDE.md"
    async with inspecting(path, "default") as pilot:
        await opened(pilot, "files")
        await to_row(pilot, "Use pnpm")
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, NewFactEditor))
        await until_shown(pilot, "D[shop]: Use pnpm")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "tokens fewer" in said(pilot))
        assert b"pnpm" not in file.read_bytes()
        assert facts_of(path)["shop"].content == "Use pnpm"
        await pilot.press("u")
        await until(pilot, lambda: file.read_bytes() == CLAUDE.encode())


async def test_a_memory_that_a_host_writes_itself_is_switched_after_its_settings_are_shown(
    path: Path, project: Path
) -> None:
    config = project.parent / "home" / ".codex" / "config.toml"
    config.write_text('model = "x" # mine\n')
    async with inspecting(path, "default") as pilot:
        view = await opened(pilot, "files")
        await to_row(pilot, "short answers")
        await pilot.press("Q")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "+memories = true")
        await pilot.press("enter")
        await until(pilot, lambda: "memories = true" in config.read_text())
        assert config.read_text().startswith('model = "x" # mine\n')
        await until(pilot, lambda: any("short answers" in row and "Codex" in row for row in rows_of(view)))
        await pilot.press("u")
        await until(pilot, lambda: config.read_text() == 'model = "x" # mine\n')


async def test_a_fact_is_added_to_a_file_and_an_entry_taken_out(path: Path, project: Path) -> None:
    fill(path, "C[style]: name tests as sentences")
    file = project / "AGENTS.md"
    async with inspecting(path, "default") as pilot:
        await opened(pilot, "files")
        await to_row(pilot, "Answer in English")
        await pilot.press("plus")
        await until_shown(pilot, "name tests as sentences")
        await pilot.press("enter")
        await until(pilot, lambda: file.read_text() == "- Answer in English\n- name tests as sentences\n")
        await to_row(pilot, "Answer in English")
        await pilot.press("delete")
        await until(pilot, lambda: file.read_text() == "- name tests as sentences\n")
        await pilot.press("u")
        await until(pilot, lambda: file.read_text() == "- Answer in English\n- name tests as sentences\n")
