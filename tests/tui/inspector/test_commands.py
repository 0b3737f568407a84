"""The palette and the command line: what they find, run, remember and refuse."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_store.model import Millis, ScopeStatus
from hermes_memory_tui.commands.command_line import CommandLine
from hermes_memory_tui.commands.command_palette import CommandPalette
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.system import palettes
from tests.tui.inspector.driving import (
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
    scopes_of,
    screen_text,
    send,
    targets,
    type_text,
    until,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "m.db"
    fill(made, "V[port]: 1", scope="payments")
    fill(made, "V[host]: 2", scope="release")
    fill(made, "V[page]: 3", scope="release", theme="work")
    return made


def inspector(pilot: Pilot[int]) -> Inspector:
    assert isinstance(pilot.app, Inspector)
    return pilot.app


async def enter_line(pilot: Pilot[int], line: str) -> None:
    await pilot.press("colon")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandLine), "the command line")
    await type_text(pilot, line)
    await pilot.press("enter")


async def run_line(pilot: Pilot[int], line: str) -> None:
    await enter_line(pilot, line)
    await until(pilot, lambda: not isinstance(pilot.app.screen, CommandLine), f"running {line!r}")


async def open_palette(pilot: Pilot[int], text: str = "") -> CommandPalette:
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette), "the palette")
    palette = pilot.app.screen
    assert isinstance(palette, CommandPalette)
    await type_text(pilot, text)
    await until(pilot, lambda: palette.list.wanted == text, "finding")
    return palette


# The command line


async def test_a_scope_is_closed_by_its_name(path: Path) -> None:
    async with inspecting(path) as pilot:
        await run_line(pilot, "close payments")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.CLOSED, "closing")
        await run_line(pilot, "reopen payments")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.OPEN, "reopening")


async def test_a_line_goes_to_a_theme_a_scope_a_search_and_a_view(path: Path) -> None:
    async with inspecting(path) as pilot:
        await run_line(pilot, "theme work")
        await until(pilot, lambda: targets(pilot) == ["page"], "the theme")
        await run_line(pilot, "scope payments")
        await until(pilot, lambda: targets(pilot) == ["port"], "the scope")
        await run_line(pilot, "scope work/release")
        await until(pilot, lambda: targets(pilot) == ["page"], "the scope of that theme")
        await run_line(pilot, "journal")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "journal", "the journal")
        await run_line(pilot, "context")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "told", "the context")
        await run_line(pilot, "facts type:constraint")
        await until(pilot, lambda: main_screen(pilot).line == "type:constraint" and targets(pilot) == [], "the search")
        await run_line(pilot, "q")


WRONG = {
    "clsoe payments": "no command 'clsoe'; did you mean 'close'",
    "close paymets": "no scope 'paymets'; did you mean 'payments'",
    "scope release": "several themes have the scope 'release': say default/release or work/release",
    "theme wrok": "no theme 'wrok'; did you mean 'work'",
    "look nrod": "no look 'nrod'; did you mean 'nord'",
    "scope": "scope needs SCOPE",
    "at noon-ish": "noon-ish",
    "journal now": "journal takes nothing after it, not 'now'",
    "export f.xls": ".jsonl",
}


async def test_a_wrong_line_stays_and_says_what_is_wrong(path: Path) -> None:
    async with inspecting(path) as pilot:
        for line, says in WRONG.items():
            await enter_line(pilot, line)
            await until(pilot, lambda says=says: says in " ".join(screen_text(pilot).split()), says)
            assert isinstance(pilot.app.screen, CommandLine)
            assert pilot.app.screen.line.value == line
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(pilot.app.screen, Modal), "closing")


async def test_tab_completes_words_and_their_values(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("colon", "c", "l", "o", "tab")
        screen = pilot.app.screen
        assert isinstance(screen, CommandLine)
        assert screen.line.value == "close "
        await pilot.press("p", "a", "y", "tab")
        assert screen.line.value == "close payments"
        await pilot.press("enter")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.CLOSED, "closing")


async def test_only_scopes_that_can_be_closed_are_offered(path: Path) -> None:
    async with inspecting(path) as pilot:
        await run_line(pilot, "close payments")
        await until(pilot, lambda: scopes_of(path)["payments"].status is ScopeStatus.CLOSED, "closing")
        for word, offers in (("close", False), ("reopen", True), ("scope", True)):
            await pilot.press("colon")
            await type_text(pilot, f"{word} ")
            line = pilot.app.screen
            assert isinstance(line, CommandLine)
            assert (f"{word} payments" in [choice.key for choice in line.list.choices]) is offers
            assert (f"{word} release" in [choice.key for choice in line.list.choices]) is (word != "reopen")
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(pilot.app.screen, Modal), "closing the line")


async def test_tab_again_takes_the_next_completion(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("colon", *"look ", "tab")
        screen = pilot.app.screen
        assert isinstance(screen, CommandLine)
        first = screen.line.value
        await pilot.press("tab")
        assert screen.line.value != first
        await pilot.press("shift+tab")
        assert screen.line.value == first


async def test_lines_are_remembered_across_runs(path: Path) -> None:
    async with inspecting(path) as pilot:
        await run_line(pilot, "theme work")
        await run_line(pilot, "journal")
    async with inspecting(path) as pilot:
        await pilot.press("colon", "x", "up", "up")
        screen = pilot.app.screen
        assert isinstance(screen, CommandLine)
        assert screen.line.value == "theme work"
        await pilot.press("down")
        assert screen.line.value == "journal"
        await pilot.press("down")
        assert screen.line.value == "x"


async def test_a_line_exports_and_travels(path: Path, tmp_path: Path) -> None:
    async with inspecting(path, clock=lambda: Millis(int(time.time() * 1000))) as pilot:
        await run_line(pilot, f"export {tmp_path}/facts.jsonl")
        await until(pilot, lambda: (tmp_path / "facts.jsonl").exists(), "the export")
        await enter_line(pilot, f"export {tmp_path}/facts.jsonl")
        await until(pilot, lambda: "exists" in screen_text(pilot), "that it exists")
        await pilot.press("escape")
        await opened(pilot, "scopes")
        await run_line(pilot, f"export {tmp_path}/scopes.csv")
        await until(pilot, lambda: "payments" in (tmp_path / "scopes.csv").read_text(), "the list")
        await run_line(pilot, "at #1")
        await until(pilot, lambda: inspector(pilot).is_past, "the past")
        await enter_line(pilot, "close payments")
        await until(pilot, lambda: "the past" in screen_text(pilot), "the refusal")


async def test_what_is_typed_after_a_command_is_known_though_the_facts_lie_beneath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory_tui.screens.fact_listing.BENEATH_S", 3600.0)
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        fill(path, "V[b]: 1", theme="fresh")
        await until(pilot, lambda: any("fresh" in row for row in rows_of(view)), "the view following")
        await run_line(pilot, "theme fresh")
        await until(pilot, lambda: targets(pilot) == ["b"], "the theme")


# The palette


async def test_what_was_used_last_stands_first(path: Path) -> None:
    async with inspecting(path) as pilot:
        await open_palette(pilot, "undo")
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Modal), "closing")
        palette = await open_palette(pilot)
        assert palette.list.choices[0].group == "recent"
        assert palette.list.choices[0].title == "Undo"
        assert len({choice.line for choice in palette.list.choices}) == len(palette.list.choices)


async def test_a_scope_is_found_before_what_is_merely_like_it(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: len(main_screen(pilot).overview.scopes) == 3, "the scopes")
        palette = await open_palette(pilot, "paymen")
        assert palette.list.choices[0].title == "Scope: payments"
        await pilot.press("enter")
        await until(pilot, lambda: targets(pilot) == ["port"], "the scope")


async def test_a_look_is_shown_while_the_cursor_is_on_it_and_kept_by_enter(path: Path) -> None:
    async with inspecting(path) as pilot:
        await open_palette(pilot, "nord")
        await until(pilot, lambda: pilot.app.theme == "nord", "the preview")
        await pilot.press("escape")
        assert pilot.app.theme == palettes.DEFAULT_LOOK
        await open_palette(pilot, "nord")
        await until(pilot, lambda: pilot.app.theme == "nord", "the preview")
        await pilot.press("enter")
        await until(pilot, lambda: main_screen(pilot).kept.look == "nord", "keeping it")
        assert pilot.app.theme == "nord"
        assert palettes.initial_look({}, None, main_screen(pilot).kept.look) == "nord"
    assert palettes.initial_look({}, "hermes-light", "nord") == "hermes-light"
    assert palettes.initial_look({}, None, "a look that is gone") == palettes.DEFAULT_LOOK


@pytest.mark.parametrize("size", [(80, 24), (40, 8), (30, 3), (10, 2)])
async def test_the_typed_line_is_seen_on_any_screen(path: Path, size: tuple[int, int]) -> None:
    async with inspecting(path, size=size) as pilot:
        for key in ("ctrl+p", "colon"):
            await pilot.press(key, *"ar")
            await until(pilot, lambda: "ar" in screen_text(pilot), f"what was typed after {key}")
            if size[1] >= 3 and key == "ctrl+p":
                await until(pilot, lambda: "Archive" in screen_text(pilot), "what was found")
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(pilot.app.screen, Modal), "closing")


async def test_enter_that_comes_with_the_letters_runs_what_they_name(path: Path) -> None:
    async with inspecting(path) as pilot:
        for key in ("ctrl+p", *"journal", "enter"):
            send(pilot, key)
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "journal", "the journal")


async def test_actions_and_views_of_a_name_stand_before_places_and_help(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: len(main_screen(pilot).overview.scopes) == 3)
        palette = await open_palette(pilot, "scope")
        groups = [choice.group for choice in palette.list.choices]
        titles = [choice.title for choice in palette.list.choices]
        assert "Scopes" in titles[: groups.index("scope")]
        assert "scope" not in groups[: titles.index("Scopes")]
        assert titles.index("Purge") > max(place for place, group in enumerate(groups) if group == "scope")


async def test_a_search_after_facts_is_completed_filter_by_filter(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandLine))
        line = pilot.app.screen
        assert isinstance(line, CommandLine)
        await type_text(pilot, "facts port ti")
        await until(pilot, lambda: [one.says for one in line.list.choices] == ["port tier:"])
        await pilot.press("tab")
        await type_text(pilot, "ho")
        await until(pilot, lambda: [one.says for one in line.list.choices] == ["port tier:hot"])
        await pilot.press("tab", "enter")
        await until(pilot, lambda: targets(pilot) == ["port"])
