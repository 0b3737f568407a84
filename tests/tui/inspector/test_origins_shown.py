"""What screens say of where facts came from, and sessions by the name a person knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.items.project_rows import insert_project
from hermes_memory_store.model import FactFilter, Origin, Way
from hermes_memory_store.store import Store
from tests.tui.inspector.driving import frozen, inspecting, rows_of, screen_text, targets, type_text, until, view_of

NAME = "0199aaaa-0000-7000-8000-000000000001"
TITLE = "claude-code · shop #1"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fact of a session that a host has named by a UUID, written from two captured messages; one of before; one imported."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = tmp_path / "m.db"
    with Store.open(path, clock=frozen) as store:
        with store.db.write_transaction() as conn:
            insert_project(conn, "shop", 0)
        old = store.facts.write("default", "V[old]: from before").fact
        store.facts.write("default", "V[list]: imported", origin=Origin(way=Way.IMPORT, file="/tmp/list.txt", line=7))
        session = store.sessions.open("default", NAME, client="claude-code", client_version="2.1", project="shop")
        store.turns.add("default", "user", "keys must be UUIDs [bold]", session=session)
        store.turns.add("default", "assistant", "noted, UUIDs it is", session=session)
        where = {"root": "/home/me/shop", "folder": "api", "branch": "main", "commit": "4f1c2d9be07a63518c24"}
        origin = Origin(way=Way.TOOL, peer="uid 1000, pid 77", program="/usr/bin/node", **where)
        store.facts.write("default", "C[db.id]: UUID", session=session, origin=origin)
        with store.db.write_transaction() as conn:
            conn.execute("UPDATE facts SET origin_id = NULL WHERE target = ?", (old.target,))
        for number in range(5):
            store.turns.add("default", "user", f"later {number}")
    return path


async def test_the_detail_says_where_a_fact_came_from(path: Path) -> None:
    async with inspecting(path, size=(280, 48)) as pilot:
        await type_text(pilot, "/target:db.id")
        await pilot.press("enter")
        await until(pilot, lambda: "written from" in screen_text(pilot))
        text = screen_text(pilot)
        for part in (
            "a call of an agent's tool", TITLE, NAME, "claude-code 2.1 (as it says)", "main at 4f1c2d9be07a",
            "/home/me/shop/api", "uid 1000, pid 77", "/usr/bin/node", "keys must be UUIDs [bold]", "via tool",
        ):  # fmt: skip
            assert part in text, part


async def test_what_is_older_than_origins_is_unknown_and_an_import_has_its_line(path: Path) -> None:
    async with inspecting(path, size=(240, 48)) as pilot:
        await type_text(pilot, "/target:old")
        await pilot.press("enter")
        await until(pilot, lambda: "from    unknown" in screen_text(pilot))
        await pilot.press("escape")
        await type_text(pilot, "/from:import")
        await pilot.press("enter")
        await until(pilot, lambda: "/tmp/list.txt" in screen_text(pilot) and "line 7" in screen_text(pilot))


async def test_the_filter_line_takes_origins_and_completes_them(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "old" in screen_text(pilot))
        for line, found in (("in:sh", "db.id"), ("by:claude", "db.id"), ("from:imp", "list")):
            await type_text(pilot, f"/{line}")
            await pilot.press("tab", "enter")
            await until(pilot, lambda found=found: "1 fact" in screen_text(pilot) and targets(pilot) == [found], line)
            await pilot.press("escape")
            await until(pilot, lambda: len(targets(pilot)) > 1)


async def test_from_the_fact_to_its_conversation_and_back(path: Path) -> None:
    async with inspecting(path, size=(160, 38)) as pilot:
        await type_text(pilot, "/target:db.id")
        await pilot.press("enter")
        await until(pilot, lambda: "written from" in screen_text(pilot))
        await pilot.press("O")
        await until(pilot, lambda: "esc: all conversations" in screen_text(pilot))
        text = screen_text(pilot)
        assert TITLE in text
        assert "keys must be UUIDs" in text
        assert "later 1" not in text
        await pilot.press("escape")
        await until(pilot, lambda: "later 1" in screen_text(pilot))


@pytest.mark.parametrize("width", [80, 100, 140])
async def test_no_list_shows_the_name_that_a_host_made_up(path: Path, width: int) -> None:
    async with inspecting(path, size=(width, 36)) as pilot:
        await until(pilot, lambda: "db.id" in screen_text(pilot))
        for digit, has_name in (("1", width > 80), ("5", True), ("6", True), ("f8", True)):
            await pilot.press(digit)
            if has_name:
                await until(pilot, lambda: TITLE in screen_text(pilot), f"the title on screen {digit}")
            if digit != "1":  # the detail of a row says the name, and may stand there by now
                assert not any(NAME[:13] in row for row in rows_of(view_of(pilot)))
        await pilot.press("5", "U")
        await until(pilot, lambda: f"undo writes of {TITLE}" in screen_text(pilot))
        await pilot.press("escape", "6", "slash")
        await type_text(pilot, f'by:"{TITLE}"')
        await until(pilot, lambda: "1 found" in screen_text(pilot))


async def test_what_a_person_does_here_carries_the_screen_and_the_folder(path: Path) -> None:
    async with inspecting(path) as pilot:
        await type_text(pilot, "/target:old")
        await pilot.press("enter", "p")
        with Store.open(path, read_only=True) as store:
            await until(pilot, lambda: store.journal.changes(newest_first=True, limit=1)[0].op == "pin")
            origin = store.journal.changes(newest_first=True, limit=1)[0].origin
            assert (origin.way, origin.project, origin.root) == (Way.SCREEN, "desk", str(path.parent / "desk"))
            assert store.facts.page(FactFilter(target="old")).facts[0].origin == Origin()
        await pilot.press("u")
        with Store.open(path, read_only=True) as store:
            await until(pilot, lambda: store.journal.changes(newest_first=True, limit=1)[0].undoes)
            assert store.journal.changes(newest_first=True, limit=1)[0].origin.way is Way.SCREEN
