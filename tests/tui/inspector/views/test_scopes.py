"""The view of scopes: close, reopen, rename, merge, purge."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.model import ScopeStatus, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.confirm_dialog import Confirmation
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from tests.tui.inspector.driving import (
    beside,
    facts_of,
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    scopes_of,
    screen_text,
    targets,
    to_row,
    type_text,
    until,
    until_shown,
)


@pytest.fixture
def path(path: Path) -> Path:
    fill(path, "D[cache]: redis", "V[port]: 6379", scope="release-1", theme="ops")
    fill(path, "D[cache]: none", scope="Release 01", theme="ops")
    fill(path, "V[tone]: plain", scope="launch", theme="marketing")
    return path


async def test_closing_and_reopening(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "launch")
        await pilot.press("c")
        await until(pilot, lambda: scopes_of(path)["launch"].status is ScopeStatus.CLOSED)
        assert facts_of(path)["tone"].tier is Tier.COLD
        await to_row(pilot, "launch  closed")  # once it is shown, since the cursor goes on then
        await until(pilot, lambda: "closed by you" in beside(pilot))
        await pilot.press("o")
        await until(pilot, lambda: scopes_of(path)["launch"].status is ScopeStatus.OPEN)
        assert facts_of(path)["tone"].tier is Tier.HOT
        await until(pilot, lambda: "scope launch reopened, 1 fact warmed" in said(pilot))
        assert len(rows_of(view)) == 3


async def test_the_cursor_goes_on_to_the_next_scope_when_one_is_closed(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await pilot.press("g")
        first, second, third = [str(row.cells[3].text) for row in view.grid.rows]
        await pilot.press("c")
        await until(pilot, lambda: [row.cells[3].text for row in view.grid.rows] == [second, third, first])
        assert view.grid.cursor == 0
        await pilot.press("c")
        await until(pilot, lambda: scopes_of(path)[second].status is ScopeStatus.CLOSED)
        assert "already closed" not in said(pilot)


async def test_marked_scopes_are_merged_into_one_of_them(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "release-1")
        await pilot.press("space")
        await to_row(pilot, "Release 01")
        await pilot.press("space", "m")
        await until(pilot, lambda: "marked ·" in screen_text(pilot))
        await type_text(pilot, "release-1")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("enter")
        await until(pilot, lambda: "scope Release 01 merged into release-1" in said(pilot))
        await until(pilot, lambda: len(rows_of(view)) == 2)
        assert facts_of(path)["port"].scope == facts_of(path)["cache"].scope == "release-1"


async def test_a_scope_without_facts_is_neither_listed_nor_a_target(path: Path) -> None:
    with Store.open(path) as store:
        store.purge.execute("ops", scope="Release 01")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await until(pilot, lambda: len(rows_of(view)) == 2)
        await to_row(pilot, "release-1")
        await pilot.press("m")
        await until(pilot, lambda: "has no other scope" in said(pilot))


async def test_renaming(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "launch")
        await pilot.press("N")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("end")
        await type_text(pilot, "-032")
        await pilot.press("enter")
        await until(pilot, lambda: "launch-032" in scopes_of(path))
        await until(pilot, lambda: any("launch-032" in row for row in rows_of(view)))
        assert facts_of(path)["tone"].scope == "launch-032"


async def test_a_label_that_cannot_be_is_said_while_it_is_typed(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await to_row(pilot, "launch")
        await pilot.press("N")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await type_text(pilot, "x" * 200)
        await until(pilot, lambda: "characters, this one has" in screen_text(pilot))
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Question)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Question))
    assert "launch" in scopes_of(path)


async def test_merging_offers_the_similar_name_first(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "release-1")
        await until(pilot, lambda: "similar names: Release 01 (1 fact)" in beside(pilot))
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await until(pilot, lambda: "similar name ·" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "release-1 has 2 facts")
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["port"].scope == "Release 01")
        assert facts_of(path)["cache"].content == "none"
        await until(pilot, lambda: "merged into Release 01" in said(pilot))
        await until(pilot, lambda: len(rows_of(view)) == len(scopes_of(path)))
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["port"].scope == "release-1")


async def test_leaving_a_merge_changes_nothing(path: Path) -> None:
    before = scopes_of(path)
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "release-1")
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is view)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(pilot.app.screen, Picker))
        await type_text(pilot, "zzz")
        await until(pilot, lambda: "No match." in screen_text(pilot))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: pilot.app.screen is view)
    assert scopes_of(path) == before


async def test_the_only_scope_of_a_theme_has_nothing_to_merge_into(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await to_row(pilot, "launch")
        await pilot.press("m")
        await until(pilot, lambda: "has no other scope" in said(pilot))


async def test_a_purge_is_armed_only_by_the_name(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "scopes")
        await to_row(pilot, "launch")
        await pilot.press("P")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await until_shown(pilot, "V[tone]  plain")
        await pilot.press("enter", "P", "enter", "backspace")
        await type_text(pilot, "launc")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, Confirmation)
        assert "tone" in facts_of(path)
        await type_text(pilot, "h")
        await pilot.press("enter")
        await until(pilot, lambda: "tone" not in facts_of(path))
        await until(pilot, lambda: "1 fact of scope launch purged" in said(pilot))
        await until(pilot, lambda: pilot.app.screen is view)
    with Store.open(path, read_only=True) as store:
        assert [change.op for change in store.journal.changes(newest_first=True, limit=1)] == ["purge"]
    assert b"plain" not in path.read_bytes()


async def test_enter_shows_the_facts_of_a_scope(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "scopes")
        await to_row(pilot, "release-1")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await until(pilot, lambda: sorted(targets(pilot)) == ["cache", "port"])
