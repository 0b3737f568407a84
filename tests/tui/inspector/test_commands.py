"""The palette and the help: what they find, run, remember and refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_memory_tui.commands.command_palette import CommandPalette, KeyHelp
from hermes_memory_tui.dialogs.modal import Modal
from hermes_memory_tui.screens.facts_screen import MainScreen
from hermes_memory_tui.system import palettes
from tests.tui.inspector.driving import (
    facts_of,
    fill,
    inspecting,
    main_screen,
    opened,
    rows_of,
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


async def open_palette(pilot: Pilot[int], text: str = "") -> CommandPalette:
    await pilot.press("ctrl+p")
    await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette), "the palette")
    palette = pilot.app.screen
    assert isinstance(palette, CommandPalette)
    await type_text(pilot, text)
    await until(pilot, lambda: palette.list.pattern == text, "finding")
    return palette


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
        for key in ("ctrl+p", "question_mark"):
            await pilot.press(key, *"ar")
            await until(pilot, lambda: "ar" in screen_text(pilot), f"what was typed after {key}")
            if size[1] >= 3:
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


async def test_a_scope_that_several_themes_have_is_found_in_each(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: len(main_screen(pilot).overview.scopes) == 3, "the scopes")
        palette = await open_palette(pilot, "release")
        scopes = [choice for choice in palette.list.choices if choice.group == "scope"]
        assert {(choice.title, choice.help) for choice in scopes} == {
            ("Scope: release", "open scope of default"),
            ("Scope: release", "open scope of work"),
        }
        await pilot.press(
            *["down"] * palette.list.choices.index(next(one for one in scopes if "work" in one.help)), "enter"
        )
        await until(pilot, lambda: targets(pilot) == ["page"], "the scope of that theme")


async def test_what_agents_made_is_known_though_the_facts_lie_beneath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_memory_tui.screens.fact_listing.BENEATH_S", 3600.0)
    path = tmp_path / "memory.db"
    fill(path, "V[a]: 1")
    async with inspecting(path) as pilot:
        view = await opened(pilot, "journal")
        fill(path, "V[b]: 1", theme="fresh")
        await until(pilot, lambda: any("fresh" in row for row in rows_of(view)), "the view following")
        await open_palette(pilot, "fresh")
        await pilot.press("enter")
        await until(pilot, lambda: targets(pilot) == ["b"], "the theme")


async def test_a_colon_opens_the_palette_too(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("colon", *"journal", "enter")
        await until(pilot, lambda: getattr(pilot.app.screen, "NAME", "") == "journal", "the journal")


# The help


async def open_help(pilot: Pilot[int], text: str) -> KeyHelp:
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, KeyHelp), "the help")
    screen = pilot.app.screen
    assert isinstance(screen, KeyHelp)
    await type_text(pilot, text)
    await until(pilot, lambda: screen.list.pattern == text, "finding")
    return screen


async def test_help_is_searched_and_runs_what_stands_under_the_cursor(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: "port" in targets(pilot), "the facts")
        key_help = await open_help(pilot, "cool")  # the name of an action comes before what only mentions it
        assert [(choice.help, choice.key) for choice in key_help.list.choices[:2]] == [
            ("Cool", "W"),
            ("Close scope", "c"),
        ]
        await pilot.press("escape")
        await open_help(pilot, "pin")
        await pilot.press("enter")
        await until(pilot, lambda: any(fact.pinned for fact in facts_of(path).values()), "the pin")


async def test_help_does_not_run_what_is_not_possible_here(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(screen: MainScreen, action: str, parameters: tuple[object, ...]) -> bool | None:
        return None if action == "pin" else True

    monkeypatch.setattr(MainScreen, "check_action", check)
    async with inspecting(path) as pilot:
        key_help = await open_help(pilot, "pin")
        await pilot.press("enter")
        await until(pilot, lambda: "Not possible here now: Pin or unpin" in screen_text(pilot), "the reason")
        assert pilot.app.screen is key_help
        await pilot.press("escape", "question_mark", "question_mark")
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot), "closing")
        assert not any(fact.pinned for fact in facts_of(path).values())
