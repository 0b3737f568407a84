"""The view of captured conversations."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key

from hermes_memory_store.model import Millis, Origin, Way
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.views.conversations_view import ConversationsView
from tests.tui.inspector.driving import (
    NOW,
    beside,
    frozen,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(path: Path) -> Path:
    """A conversation of three turns, and a turn of another theme."""
    with Store.open(path, clock=frozen) as store:
        who = store.sessions.open("ops", "worker")
        for minutes, (role, content) in enumerate(
            (("user", "deploy the canary\nthen watch it"), ("assistant", "the canary is out"), ("user", "roll it back"))
        ):
            store.turns.add("ops", role, content, session=who, at=Millis(NOW - (10 - minutes) * 60_000))
        store.turns.add("marketing", "user", "write plainly", at=Millis(NOW - 3_600_000))
    return path


def turns_in(path: Path) -> dict[str, int]:
    with Store.open(path, clock=frozen, read_only=True) as store:
        return {theme: store.turns.count(theme) for theme in ("ops", "marketing")}


async def test_turns_are_listed_newest_first_and_read_whole(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        assert [row.split("  ")[-1] for row in rows_of(view)] == [
            "roll it back",
            "the canary is out",
            "deploy the canary then watch it",
            "write plainly",
        ]
        await to_row(pilot, "deploy")
        await until(pilot, lambda: "deploy the canary\nthen watch it" in beside(pilot))
        assert "→ assistant  the canary is out" in beside(pilot)


async def test_a_search_lists_a_line_a_session_and_copies_how_its_host_goes_on_with_it(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        for name, words in (("abc-1", "the canary canary"), ("abc-2", "the canary of the release is out, is it not")):
            session = store.sessions.open("ops", name, client="codex-mcp-client")
            origin = Origin(way=Way.HISTORY, client="codex-mcp-client")
            for text in (words, f"not yet. {words}"):
                store.turns.add("ops", "user", text, session=session, at=Millis(NOW - 5_000), origin=origin)
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        await pilot.press("slash")
        await type_text(pilot, "canary")
        await until(pilot, lambda: len(rows_of(view)) == 4)
        assert sorted(row.split()[2:5] for row in rows_of(view) if "▸" in row) == [["Codex", "2", "found"]] * 2
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.focused is view.grid)
        await pilot.press("g")
        await until(pilot, lambda: "codex resume abc-1" in beside(pilot))
        assert "2 messages found" in beside(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "Copied codex resume abc-1" in said(pilot))
        assert pilot.app.clipboard == "codex resume abc-1"
        await pilot.press("enter")
        await until(pilot, lambda: len(rows_of(view)) == 6)
        await pilot.press("j")
        await until(pilot, lambda: "surrounding messages" in beside(pilot) and "codex resume abc-1" in beside(pilot))


async def test_searching_and_giving_it_up(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        await pilot.press("slash")
        await type_text(pilot, "canary")
        await until(pilot, lambda: len(rows_of(view)) == 2)
        await until(pilot, lambda: "2 found" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.focused is view.grid)
        await pilot.press("escape")
        await until(pilot, lambda: len(rows_of(view)) == 4)
        assert isinstance(view, ConversationsView)
        assert not view.filter.display
        await pilot.press("slash")
        await type_text(pilot, "nobody said it")
        await until(pilot, lambda: "No matching messages." in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: len(rows_of(view)) == 4)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))


async def test_no_words_break_the_search(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        for words in ('"', "(canary", "canary AND", "type:decision", "-canary", "*", "[red", "[/x]", "'; --"):
            await pilot.press("slash")
            await type_text(pilot, words)
            await pilot.pause(0.2)
            await pilot.app.workers.wait_for_complete()
            await pilot.press("enter", "j", "k", "escape")
            await until(pilot, lambda: len(rows_of(view)) == 4)
            assert "error" not in said(pilot), words


async def test_a_purge_is_armed_by_the_name_of_the_theme(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        await to_row(pilot, "canary is out")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "3 messages of theme ops will be purged")
        await pilot.press("enter")
        await type_text(pilot, "op")
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Question)
        await type_text(pilot, "s")
        await pilot.press("enter")
        await until(pilot, lambda: turns_in(path) == {"ops": 0, "marketing": 1})
        await until(pilot, lambda: "3 messages purged" in said(pilot))
        await until(pilot, lambda: len(rows_of(view)) == 1)
    assert b"the canary is out" not in path.read_bytes()


async def test_a_line_that_sends_what_is_typed_and_enter_at_once_is_understood(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "turns")
        await to_row(pilot, "canary is out")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        for key in ("o", "p", "s", "enter"):
            pilot.app.post_message(Key(key, key if len(key) == 1 else "\r"))
        await until(pilot, lambda: turns_in(path) == {"ops": 0, "marketing": 1})


async def test_who_purges_turns_that_a_team_has_is_told_so(path: Path, home: Path) -> None:
    (home / "memory-themes.toml").write_text("[themes.ops]\nsync = true\nsync_turns = true\n")
    with Store.open(path) as store:
        store.shared_turns.themes(store.sync.themes())
    async with inspecting(path) as pilot:
        await opened(pilot, "turns")
        await to_row(pilot, "canary is out")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "they are purged on every machine")


async def test_more_turns_come_when_the_cursor_nears_the_end(path: Path) -> None:
    with Store.open(path, clock=frozen) as store, store.db.write_transaction():
        for number in range(320):
            store.turns.add("ops", "user", f"turn {number}")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "turns")
        assert len(rows_of(view)) == 300
        await pilot.press("G")
        await until(pilot, lambda: len(rows_of(view)) == 324)


async def test_without_turns_it_says_how_they_come(tmp_path: Path) -> None:
    async with inspecting(tmp_path / "empty.db") as pilot:
        await opened(pilot, "turns")
        await until(pilot, lambda: "hooks and the tool memory_turn capture what agents say" in screen_text(pilot))
        await pilot.press("P", "enter", "y", "escape", "escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
