"""The view of the journal, and the past it leads to."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.model import PERSON, Millis, SessionStatus, Tier
from hermes_memory_store.store import Store
from hermes_memory_tui.commands.command_palette import PaletteList
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.model.view_catalog import VIEWS_BY_NAME
from hermes_memory_tui.screens.past_screen import PastScreen
from hermes_memory_tui.views.journal_view import JournalView
from tests.tui.inspector.driving import (
    NOW,
    beside,
    facts_of,
    fill,
    frozen,
    inspecting,
    opened,
    rows_of,
    said,
    screen_text,
    to_row,
    type_text,
    until,
    until_shown,
    view_of,
)


@pytest.fixture
def path(path: Path) -> Path:
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
    view.on_filter_line_query_changed()
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
        await until(pilot, lambda: "No matching changes." in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: rows_of(view) == everything)


async def test_a_line_that_means_nothing_is_said_and_what_was_found_stays(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        assert isinstance(view, JournalView)
        everything = rows_of(view)
        for line in ("by:", "kind:fact", "op:fly", "theme:nobody", "by:nobody", "[red:x", "[/x]:", "by:[bold]x[/]"):
            await filtered(pilot, line)
            assert view.filter._error.display, line
            assert rows_of(view) == everything, line


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
        await to_row(pilot, "release")
        assert "close" in rows_of(view)[view.grid.cursor]
        await pilot.press("U")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await until_shown(pilot, "they are undone together")
        await pilot.press("enter")
        await until(pilot, lambda: facts_of(path)["port"].tier is Tier.HOT)


async def test_a_change_others_stand_on_is_refused_with_a_sentence(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "D[cache]: redis")
        await pilot.press("U")
        await until(pilot, lambda: bool(said(pilot)))
        later = re.search(r"change (\d+) changed its", said(pilot))
        assert later is not None
        assert f"Undo change {later[1]} first: 6, and U on #{later[1]}" in said(pilot)
        assert "D[cache]: change" in said(pilot)
        assert facts_of(path)["cache"].uid not in said(pilot)
    assert facts_of(path)["cache"].content == "none"


async def test_stepping_back_and_bringing_a_fact_back(path: Path) -> None:
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        await until_shown(pilot, "13 Mar")
        await until(pilot, lambda: "redis" in screen_text(pilot))
        copy = past.memory.path
        while past.table.fact is None or past.table.fact.target != "cache":
            await pilot.press("j")
        await pilot.press("r")
        await until(pilot, lambda: facts_of(path)["cache"].content == "redis")
        assert facts_of(path)["cache"].tier is Tier.HOT
        await until(pilot, lambda: "D[cache] restored. In the present, u undoes." in said(pilot))
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
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        with Store.open(path) as store:
            store.scopes.close("ops", "release")
            store.purge.execute("ops", scope="release", tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        assert "port" not in facts_of(path)
        past = pilot.app.screen
        assert isinstance(past, PastScreen)
        await until(pilot, lambda: past.table.fact is not None)
        while past.table.fact is None or past.table.fact.target != "port":
            await pilot.press("j")
        await pilot.press("r")
        await until(pilot, lambda: "port" in facts_of(path))


async def test_the_past_changes_nothing_by_itself(path: Path) -> None:
    before = path.read_bytes()
    async with inspecting(path, read_only=True) as pilot:
        await opened(pilot, "journal")
        await to_row(pilot, "edit")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        await pilot.press("a", "e", "n", "p", "u", "c", "o", "U")
        await pilot.press("r")
        await until(pilot, lambda: "open read-only" in said(pilot))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(pilot.app.screen, JournalView))
    assert path.read_bytes() == before


@pytest.mark.parametrize("when", ["98h", "2026-03-13 11:00"])
async def test_any_moment_can_be_looked_at(path: Path, when: str) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await pilot.press("at")
        await until(pilot, lambda: isinstance(pilot.app.screen, Question))
        await type_text(pilot, "soon")
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, Question)
        await pilot.press(*["backspace"] * 4)
        await type_text(pilot, when)
        await pilot.press("enter")
        await until(pilot, lambda: "before now" in screen_text(pilot))
        await until_shown(pilot, "13 Mar")
        assert isinstance(pilot.app.screen, JournalView)
        await pilot.press("escape")
        await until(pilot, lambda: "before now" not in screen_text(pilot))


async def test_every_view_shows_the_past_and_escape_the_present(path: Path) -> None:
    async with inspecting(path) as pilot:
        for name in ("scopes", "pressure", "told", "agents", "journal", "review", "turns", "team"):
            past = await step_back(pilot, "edit")
            await pilot.press(VIEWS_BY_NAME[name].key)
            await until(pilot, lambda name=name: getattr(pilot.app.screen, "NAME", "") == name)
            view = view_of(pilot)
            await until(pilot, lambda view=view, past=past: view.data is not None and view.memory is past.memory, name)
            await until(pilot, lambda: "before now" in screen_text(pilot), name)
            await pilot.press("escape")
            await until(pilot, lambda view=view, past=past: view.memory is not past.memory, name)
            await until(pilot, lambda: "before now" not in screen_text(pilot), name)
            assert pilot.app.screen is view
            await until(pilot, lambda past=past: not past.memory.path.exists(), "removing the copy of the past")


async def test_a_key_that_changes_facts_says_that_the_past_stays_as_it_was(path: Path) -> None:
    async with inspecting(path) as pilot:
        past = await step_back(pilot, "edit")
        keys = ("n", "e", "a", "w", "W", "m", "P", "u", "U", "c", "o", "ctrl+r")
        for count, key in enumerate(keys, 1):
            await pilot.press(key)
            await until(pilot, lambda count=count: said(pilot).count("nothing changes here") == count, key)
            assert pilot.app.screen is past


async def test_before_anything_was_written_there_was_nothing(path: Path) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, "journal")
        await pilot.press("G")
        await pilot.press("left_square_bracket")
        await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
        await until(pilot, lambda: "The memory was empty at that time." in screen_text(pilot))
        assert "n: new fact" not in screen_text(pilot)


async def test_the_palette_stays_in_the_past(path: Path) -> None:
    async with inspecting(path) as pilot:
        past = await step_back(pilot, "edit")
        await pilot.press("ctrl+p", *"release")
        await until(pilot, lambda: "Scope: release" in screen_text(pilot))
        await until(pilot, lambda: pilot.app.screen.query_one(PaletteList).row_count == 1)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: pilot.app.screen is past)
        await until(pilot, lambda: "ops › release" in past.tree_pane.place.title)


async def test_agents_that_were_heard_later_are_not_called_stale(path: Path) -> None:
    with Store.open(path, clock=frozen) as store:
        store.sessions.heartbeat(store.sessions.get("ops", "one"))
    async with inspecting(path) as pilot:
        past = await step_back(pilot, "edit")
        then = {one.name: one.status for one in past.agents_pane.sessions}
        assert then["one"] in (SessionStatus.OPEN, SessionStatus.LIVE)
        assert then["two"] is SessionStatus.STALE
        await until(pilot, lambda: "agents at that time" in screen_text(pilot))


async def step_back(pilot: Pilot[int], row: str) -> PastScreen:
    """To the moment before a row of the journal."""
    await opened(pilot, "journal")
    await to_row(pilot, row)
    await pilot.press("left_square_bracket")
    await until(pilot, lambda: isinstance(pilot.app.screen, PastScreen))
    past = pilot.app.screen
    assert isinstance(past, PastScreen)
    return past


async def test_each_row_and_its_heading_say_what_that_change_wrote(path: Path) -> None:
    with Store.open(path) as store:
        port = store.facts.write("ops", "V[limit]: one", scope="launch").fact
        store.facts.edit(port.uid, "two")
        store.facts.pin(port.uid)
        store.facts.edit(port.uid, "three")
        store.undo.change(store.journal.last_seq())
        store.facts.edit(port.uid, "four")
        store.scopes.close("ops", "launch")
        store.scopes.reopen("ops", "launch")
        store.scopes.rename("ops", "launch", "landing")
    async with inspecting(path, size=(100, 30)) as pilot:
        view = await opened(pilot, "journal")
        wordings = [row.partition("V[limit]: ")[2].split()[0] for row in rows_of(view) if "V[limit]" in row]
        assert wordings == ["four", "two", "three", "two", "two", "one"]
        assert any("close" in row and "launch" in row for row in rows_of(view))
        await to_row(pilot, "V[limit]: three")
        await until(pilot, lambda: "V[limit]: three" in beside(pilot))
        await until_shown(pilot, "- two")
        await until_shown(pilot, "+ three")


@pytest.mark.parametrize("size", [(100, 30), (200, 50)])
async def test_which_change_was_undone_can_be_read(path: Path, size: tuple[int, int]) -> None:
    with Store.open(path) as store:
        for number in range(1000):
            store.facts.write("ops", f"V[n{number}]: 1")
        undone = store.journal.last_seq()
        store.undo.change(undone)
    async with inspecting(path, size=size) as pilot:
        view = await opened(pilot, "journal")
        width = view.grid.size.width
        drawn = "".join(segment.text for segment in view.grid.draw_row(0, width, False))
        assert f"#{undone}" in drawn.partition("V[n999]")[0]
        if size[0] == 200:
            assert f"undo of #{undone} " in drawn


async def test_rows_of_an_unfolded_change_say_what_their_facts_said_then(path: Path) -> None:
    with Store.open(path) as store:
        store.facts.write_many("ops", [("V[a]: one", "launch"), ("V[b]: one", "launch")], actor=PERSON)
        store.scopes.close("ops", "launch")
        store.facts.edit(facts_of(path)["a"].uid, "two")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        await to_row(pilot, "launch: 2 facts cooled")
        await until(pilot, lambda: "V[a]: one" in beside(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: any("V[a]: one" in row and "cool" in row for row in rows_of(view)))
