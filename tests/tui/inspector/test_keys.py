"""Keys: what is bound, what is said of it, and that the mouse can do the same."""

from __future__ import annotations

import inspect
from pathlib import Path

from textual.binding import Binding
from textual.command import CommandPalette

from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.screens import confirming, editor, main, picker, upgrade
from hermes_memory_tui.screens import help as help_screen
from hermes_memory_tui.widgets import fact_detail, fact_table, filter_line, line_list, scope_tree
from tests.tui.inspector.driving import fill, inspecting, main_screen, screen_text, shown_facts, type_text, until

MODULES = (
    confirming,
    editor,
    help_screen,
    main,
    picker,
    upgrade,
    fact_detail,
    fact_table,
    filter_line,
    line_list,
    scope_tree,
)


def bindings() -> list[Binding]:
    """Every binding that is written in this app."""
    owners = [Inspector] + [
        owner
        for module in MODULES
        for owner in vars(module).values()
        if inspect.isclass(owner) and owner.__module__ == module.__name__
    ]
    found = [one for owner in owners for one in vars(owner).get("BINDINGS", ())]
    assert len(found) > 40
    return [one for one in found if isinstance(one, Binding)]


def test_every_binding_has_an_id_and_says_what_it_does() -> None:
    assert [binding for binding in bindings() if not binding.id or not binding.tooltip or not binding.description] == []


def test_no_two_bindings_share_an_id() -> None:
    ids = [binding.id for binding in bindings()]
    assert sorted(ids) == sorted(set(ids))


def test_no_binding_needs_a_chord_that_terminals_cannot_send() -> None:
    keys = {key for binding in bindings() for key in binding.key.split(",")}
    assert keys & {"ctrl+i", "ctrl+m", "ctrl+h", "ctrl+left_square_bracket"} == set()


async def test_help_says_every_key_of_the_screen(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1")
    async with inspecting(tmp_path / "m.db", size=(120, 100)) as pilot:
        await pilot.press("question_mark")
        text = screen_text(pilot)
        for binding in main.MainScreen.BINDINGS:
            assert isinstance(binding, Binding)
            assert binding.tooltip in text
        await pilot.press("escape")
        assert pilot.app.screen is main_screen(pilot)


async def test_the_palette_runs_an_action(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1")
    async with inspecting(tmp_path / "m.db") as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await type_text(pilot, "archive")
        await until(pilot, lambda: "Put the marked facts" in screen_text(pilot))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: shown_facts(pilot) == [])


async def test_a_click_moves_the_cursor_and_a_click_on_a_key_does_what_it_says(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", "V[b]: 2", "V[c]: 3")
    async with inspecting(tmp_path / "m.db") as pilot:
        table = main_screen(pilot).table
        await pilot.click("#facts", offset=(10, 2))
        assert table.cursor == 1
        bottom = screen_text(pilot).splitlines()[-1]
        await pilot.click("#keys", offset=(bottom.index("Archive"), 0))
        await until(pilot, lambda: [fact.target for fact in shown_facts(pilot)] == ["c", "a"])
