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
from hermes_memory_tui.app import open_memory as opened_memory
from hermes_memory_tui.app import run_inspector
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.screens.facts_screen import MainScreen
from tests.tui.inspector.driving import fill, inspecting, main_screen, opened, said, screen_text, until, until_shown

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
        await pilot.press("u")  # undoes elsewhere
        await until_shown(pilot, "⏎")
        assert not isinstance(pilot.app.screen, MainScreen)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
    with Store.open(old, read_only=True) as store:
        assert store.themes()


async def test_an_old_file_can_be_looked_at_as_a_copy(old: Path) -> None:
    app = Inspector(None, old=old)
    async with app.run_test(size=(140, 40)) as pilot:
        await pilot.press("C")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen) and "read-only" in screen_text(pilot))
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


async def test_an_old_file_is_offered_as_a_copy_alone_when_nothing_may_be_changed(old: Path) -> None:
    before = old.read_bytes()
    app = Inspector(None, old=old, read_only=True)
    async with app.run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "hermes-memory 0.3.0" in screen_text(pilot))
        assert "in place" not in screen_text(pilot)
        await pilot.press("enter", "u", "C")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen) and "read-only" in screen_text(pilot))
    assert old.read_bytes() == before


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A store as the version before the last one left it."""
    path = tmp_path / "older.db"
    fill(path, "C[db.id]: UUID mndtry")
    with closing(sqlite3.connect(path)) as conn:
        names = conn.execute("SELECT type, name FROM sqlite_master WHERE name LIKE '%!_sync!_%' ESCAPE '!'").fetchall()
        names += conn.execute(
            "SELECT type, name FROM sqlite_master WHERE type = 'table' AND name LIKE 'sync!_%' ESCAPE '!'"
        )
        for kind, name in names:
            if kind in ("trigger", "table"):
                conn.execute(f"DROP {kind} IF EXISTS {name}")
        conn.execute("DELETE FROM _sqlite_migrations WHERE name = 'm004_sync'")
        conn.execute("PRAGMA user_version = 3")
        conn.commit()
    return path


async def test_an_older_store_is_read_as_a_copy_when_nothing_may_be_changed(older: Path) -> None:
    before = older.read_bytes()
    memory = opened_memory(older, True)
    copy = memory.path
    async with Inspector(memory, read_only=True).run_test(size=(140, 40)) as pilot:
        await until(pilot, lambda: "mndtry" in screen_text(pilot))
        await until_shown(pilot, "read-only")
        assert main_screen(pilot).title_bar.file.endswith("older.db")
        assert memory.shown_path == older
    assert older.read_bytes() == before
    assert not list(older.parent.glob("*.bak"))
    assert not copy.parent.exists()


async def test_an_older_store_is_brought_up_to_date_and_says_where_it_is_kept(older: Path) -> None:
    async with Inspector(opened_memory(older, False)).run_test(size=(140, 40), notifications=True) as pilot:
        (kept,) = older.parent.glob("older.db.version-3.*.bak")
        await until(pilot, lambda: str(kept) in said(pilot))
