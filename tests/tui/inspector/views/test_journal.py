"""The view of the journal, and the past it leads to."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.model import Millis, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.dialogs.ask import Ask
from hermes_memory_tui.screens.past import PastScreen
from hermes_memory_tui.views.journal import JournalView
from tests.tui.inspector.driving import (
    NOW,
    beside,
    facts_of,
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    type_text,
    until,
)


@pytest.fixture
def path(path: Path) -> Path:
    """A person, two agents and two themes; an hour between any two changes."""
    hours = count(1)
    with Store.open(path, clock=lambda: Millis(NOW - 100 * 3_600_000 + next(hours) * 3_600_000)) as store:
        cache = store.facts.write("ops", "D[cache]: redis", scope="release").fact
        one, two = store.sessions.open("ops", "one"), store.sessions.open("marketing", "two")
        store.facts.write("ops", "V[port]: 6379", scope="release", session=one)
        store.facts.write("marketing", "V[tone]: plain", session=two)
        store.facts.edit(cache.uid, "none")
        store.facts.archive([cache.uid])
    return path


async def filtered(pilot: Pilot[int], line: str) -> list[str]:
    """What the journal lists for a line, or listed before when it means nothing."""
    view = pilot.app.screen
    assert isinstance(view, JournalView)
    await pilot.press("slash")
    view.filter.input.value = line  # at once: what is typed slowly is looked for half typed
    await pilot.pause()
    view.on_filter_line_changed()
    await pilot.press("enter")
    await until(pilot, lambda: pilot.app.focused is view.grid)
    await until(pilot, lambda: not view._loading)
    return rows_of(view)


async def test_the_line_filters_by_who_theme_and_operation(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        everything = rows_of(view)
        assert all("  one  " in row for row in await filtered(pilot, "by:one"))
        rows = await filtered(pilot, "by:person op:edit,archive")
        assert [row.split("  ")[4] for row in rows] == ["archive", "edit"]
        assert all("marketing" in row for row in await filtered(pilot, "theme:marketing"))
        assert await filtered(pilot, "theme:marketing by:one") == []
        await until(pilot, lambda: "No change is of that kind." in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: rows_of(view) == everything)


@pytest.mark.parametrize(
    "line", ["by:", "kind:fact", "op:fly", "theme:nobody", "by:nobody", "[red:x", "[/x]:", "by:[bold]x[/]"]
)
async def test_a_line_that_means_nothing_is_said_and_what_was_found_stays(path: Path, line: str) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        everything = rows_of(view)
        await filtered(pilot, line)
        assert isinstance(view, JournalView)
        assert view.filter._error.display
        assert rows_of(view) == everything
        await pilot.press("escape", "escape")


async def test_any_change_is_taken_back_whoever_made_it(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "V[tone]: plain")
        await pilot.press("U")
        await until(pilot, lambda: "tone" not in facts_of(path))
        await until(pilot, lambda: "undone: create of V[tone]" in said(pilot))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "tone" in facts_of(path))


async def test_a_change_of_several_rows_is_shown_before_it_is_taken_back(path: Path) -> None:
    with Store.open(path) as store:
        store.scopes.close("ops", "release")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "scope release")
        assert "close" in rows_of(view)[view.grid.cursor]
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Ask))
        assert "all are taken back together" in screen_text(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.HOT)


async def test_a_change_others_stand_on_is_refused_with_a_sentence(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "D[cache]: redis")
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Ask))
        await pilot.press("enter")
        await until(pilot, lambda: bool(said(pilot)))
        assert "undo " in said(pilot)
    assert facts_of(path)["cache"].content == "none"


async def test_stepping_back_and_bringing_a_fact_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        assert "as it was on" in screen_text(pilot)
        await until(pilot, lambda: "redis" in screen_text(pilot))
        copy = past.memory.path
        while past.table.fact is None or past.table.fact.target != "cache":
            await pilot.press("j")
        await pilot.press("R")
        await until(pilot, lambda: facts_of(path)["cache"].content == "redis")
        assert facts_of(path)["cache"].tier is Tier.HOT
        await until(pilot, lambda: "D[cache] brought back as it was" in said(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is view)
        await until(pilot, lambda: not copy.exists(), "removing the copy of the past")
        await pilot.press("u")
        await until(pilot, lambda: facts_of(path)["cache"].content == "none")
        assert facts_of(path)["cache"].tier is Tier.ARCHIVED


async def test_what_was_purged_is_written_anew_from_the_past(path: Path) -> None:
    fill(path, "V[late]: 1", theme="ops")
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "V[late]")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        with Store.open(path) as store:
            store.scopes.close("ops", "release")
            store.purge.run("ops", scope="release", tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        assert "port" not in facts_of(path)
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        await until(pilot, lambda: past.table.fact is not None)
        while past.table.fact is None or past.table.fact.target != "port":
            await pilot.press("j")
        await pilot.press("R")
        await until(pilot, lambda: "port" in facts_of(path))


async def test_the_past_changes_nothing_by_itself(path: Path) -> None:
    before = path.read_bytes()
    async with inspecting(path, read_only=True) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        await pilot.press("a", "e", "n", "p", "r", "u", "c", "o", "U")
        await pilot.press("R")
        await until(pilot, lambda: "open for reading only" in said(pilot))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(pilot.app.screen, JournalView))
    assert path.read_bytes() == before


@pytest.mark.parametrize("when", ["98h", "2026-03-13 11:00"])
async def test_any_moment_can_be_looked_at(path: Path, when: str) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await pilot.press("at")
        await until(pilot, lambda: isinstance(pilot.app.screen, Ask))
        await type_text(pilot, "soon")
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Ask)
        await pilot.press(*["backspace"] * 4)
        await type_text(pilot, when)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        await until(pilot, lambda: "as it was on 13 Mar" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, JournalView))


@pytest.mark.parametrize("digit", ["1", "2", "6"])
async def test_a_digit_leaves_the_past(path: Path, digit: str) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        await pilot.press(digit)
        name = {"1": "", "2": "scopes", "6": "journal"}[digit]
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == name)
        assert not any(isinstance(screen, PastScreen) for screen in pilot.app.screen_stack)
        await until(pilot, lambda: not past.memory.path.exists(), "removing the copy of the past")
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))


async def test_the_seal_of_every_row_is_checked(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await pilot.press("V")
        await until(pilot, lambda: "✓" in said(pilot))


async def test_a_broken_seal_is_said(path: Path) -> None:
    import sqlite3

    conn = sqlite3.connect(path, isolation_level=None)
    triggers = conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'journal'").fetchall()
    for (name,) in triggers:
        conn.execute(f"DROP TRIGGER {name}")
    conn.execute("UPDATE journal SET at = at + 1 WHERE seq = 2")
    conn.close()
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await pilot.press("V")
        await until(pilot, lambda: "The journal does not hold" in said(pilot))


async def test_more_rows_come_when_the_cursor_nears_the_end(path: Path) -> None:
    fill(path, *(f"V[many.{number}]: {number}" for number in range(450)), theme="ops")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        assert len(rows_of(view)) == 400
        await pilot.press("G")
        await until(pilot, lambda: len(rows_of(view)) > 450)
        assert "redis" in rows_of(view)[-1] or "redis" in rows_of(view)[-2]


async def test_a_change_is_described_beside_the_list(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await until(pilot, lambda: "redis" in beside(pilot) and "none" in beside(pilot))
        assert "seal" in beside(pilot)


async def test_sessions_and_turns_are_shown_when_asked_for(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        assert not any("session one" in row for row in rows_of(view))
        await pilot.press("e")
        await until(pilot, lambda: any("session one" in row for row in rows_of(view)))
        await pilot.press("e")
        await until(pilot, lambda: not any("session one" in row for row in rows_of(view)))


async def test_what_the_line_does_not_understand_stays_said_while_others_write(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        before = rows_of(view)
        assert await filtered(pilot, "op:foo") == before
        fill(path, "V[new]: 1", theme="ops", session="one")
        await until(pilot, lambda: any("V[new]" in row for row in rows_of(view)))
        assert "there is no operation 'foo'" in screen_text(pilot)


async def test_the_line_finds_changes_by_words_and_by_number(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        rows = await filtered(pilot, "cache")
        assert rows
        assert all("D[cache]" in row for row in rows)
        with Store.open(path, read_only=True) as store:
            newest = store.journal.last_seq()
        rows = await filtered(pilot, f"#{newest - 1}")
        assert rows[0].split()[0] == str(newest - 1)


async def test_the_cursor_stays_on_the_change_that_is_read(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        read = view.grid.key
        fill(path, "V[new]: 1", theme="ops", session="one")
        await until(pilot, lambda: any("V[new]" in row for row in rows_of(view)))
        assert view.grid.key == read
