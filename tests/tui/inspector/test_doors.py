"""Opening: what is imported, what an old or broken file gets."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.store import Store
from hermes_memory_tui.app import run_inspector
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.screens.main import MainScreen
from tests.tui.inspector.driving import fill, inspecting, opened, screen_text, until

FORBIDDEN = ("mcp", "httpx", "pydantic", "keyring", "psycopg", "sqlite_utils", "tree_sitter", "markdown_it")


def test_the_inspector_imports_nothing_it_cannot_afford() -> None:
    code = "import json, sys, hermes_memory_tui.inspector; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded & set(FORBIDDEN) == set()


def test_without_a_terminal_it_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run_inspector(tmp_path / "m.db") == 1
    assert "needs a terminal" in capsys.readouterr().err
    assert not (tmp_path / "m.db").exists()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as hermes-memory 0.3.0 left it."""
    made = Path(__file__).parents[2] / "store" / "fixtures" / "hermes_memory_0_3_0.db"
    return Path(shutil.copy(made, tmp_path / "old.db"))


async def test_an_old_file_is_not_touched_when_the_person_quits(old: Path) -> None:
    before = old.read_bytes()
    app = Inspector(None, old=old)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "hermes-memory 0.3.0" in screen_text(pilot))
        await pilot.press("q")
    assert old.read_bytes() == before


async def test_an_old_file_is_upgraded_when_asked_for(old: Path) -> None:
    app = Inspector(None, old=old)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("u")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
    with Store.open(old, read_only=True) as store:
        assert store.themes()


async def test_an_old_file_can_be_looked_at_as_a_copy(old: Path) -> None:
    app = Inspector(None, old=old)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
        assert "read-only" in screen_text(pilot)
    with closing(sqlite3.connect(old)) as conn:
        assert conn.execute("PRAGMA application_id").fetchone()[0] == 0


async def test_quitting_after_looking_at_views_leaves_no_log_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    fill(path, "C[db.id]: UUID mndtry", "D[cache]: redis")
    async with inspecting(path) as pilot:
        await pilot.press("j", "a", "u")
        await opened(pilot, "journal")
        await opened(pilot, "scopes")
        await pilot.press("q")
    assert [file.name for file in sorted(tmp_path.glob("memory.db-*"))] == []
