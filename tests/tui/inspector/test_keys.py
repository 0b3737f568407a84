"""Keys: what is bound, what is said of it, and that the mouse can do the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.binding import Binding
from textual.widgets import Input

from hermes_memory_store.errors import ArgumentError
from hermes_memory_tui import keymap_actions
from hermes_memory_tui.commands.command_palette import CommandPalette, KeyHelp
from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.dialogs.question import Question
from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.screens import facts_screen
from hermes_memory_tui.system import inspector_settings
from hermes_memory_tui.views.base_view import BaseView
from tests.tui.inspector.driving import (
    VIEWS,
    fill,
    inspecting,
    main_screen,
    opened,
    screen_text,
    shown_facts,
    type_text,
    until,
)


def bindings() -> list[Binding]:
    found = [one for _, one in keymap_actions.all_bindings()]
    assert len(found) > 100
    return found


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
    async with inspecting(tmp_path / "m.db", size=(120, 140)) as pilot:
        await pilot.press("question_mark")
        text = screen_text(pilot)
        for binding in facts_screen.MainScreen.BINDINGS:
            assert isinstance(binding, Binding)
            assert binding.tooltip in text
        await pilot.press("escape")
        assert pilot.app.screen is main_screen(pilot)


async def test_help_says_every_key_of_a_view(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", session="worker")
    async with inspecting(tmp_path / "m.db", size=(120, 160)) as pilot:
        for name in VIEWS:
            view = await opened(pilot, name)
            await pilot.press("question_mark")
            await until(pilot, lambda: isinstance(pilot.app.screen, KeyHelp))
            text = screen_text(pilot)
            owners = [type(view), BaseView, *(type(pane) for pane in (view.grid, view.pages))]
            written = [one for owner in owners for one in vars(owner).get("BINDINGS", ()) if isinstance(one, Binding)]
            anew = {one.key for one in vars(type(view)).get("BINDINGS", ())}
            written = [one for one in written if one not in BaseView.BINDINGS or one.key not in anew]
            assert written
            assert [one.tooltip for one in written if one.tooltip not in text] == [], name
            await pilot.press("escape")
            await until(pilot, lambda view=view: pilot.app.screen is view)


@pytest.mark.parametrize(("dialog", "prefix", "enter"), [(Question, "ask", "accept"), (Picker, "picker", "choose")])
def test_a_dialog_says_all_its_keys(dialog: type, prefix: str, enter: str) -> None:
    assert {one.id for owner, one in keymap_actions.all_bindings() if owner is dialog} >= {
        f"{prefix}.{name}" for name in (enter, "leave", "down", "up")
    }


async def test_the_palette_runs_an_action(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1")
    async with inspecting(tmp_path / "m.db") as pilot:
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await type_text(pilot, "archive")
        await until(pilot, lambda: "Archive the selected facts" in screen_text(pilot))
        await pilot.press("enter", "enter")
        await until(pilot, lambda: shown_facts(pilot) == [])


async def test_the_palette_runs_an_action_once_however_often_enter_is_pressed(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", "V[b]: 2", "V[c]: 3")
    async with inspecting(tmp_path / "m.db") as pilot:
        await until(pilot, lambda: len(shown_facts(pilot)) == 3)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(pilot.app.screen, CommandPalette))
        await type_text(pilot, "archive")
        await until(pilot, lambda: "Archive the selected facts" in screen_text(pilot))
        line = pilot.app.screen.query_one(Input)
        for _ in range(4):
            line.post_message(Input.Submitted(line, line.value))
        await until(pilot, lambda: pilot.app.screen is main_screen(pilot))
        await until(pilot, lambda: len(shown_facts(pilot)) == 2)
        await pilot.pause()
        assert pilot.app.screen is main_screen(pilot)
        assert len(shown_facts(pilot)) == 2


async def test_a_click_moves_the_cursor_and_a_click_on_a_key_does_what_it_says(tmp_path: Path) -> None:
    fill(tmp_path / "m.db", "V[a]: 1", "V[b]: 2", "V[c]: 3")
    async with inspecting(tmp_path / "m.db") as pilot:
        table = main_screen(pilot).table
        await pilot.click("#facts", offset=(10, 3))
        assert table.cursor == 1
        bottom = screen_text(pilot).splitlines()[-1]
        await pilot.click("#keys", offset=(bottom.index("Archive"), 0))
        await until(pilot, lambda: [fact.target for fact in shown_facts(pilot)] == ["c", "a"])


async def test_the_screen_is_drawn_anew_wherever_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "m.db", "V[a]: 1")
    drawn: list[str] = []
    monkeypatch.setattr(Inspector, "action_redraw", lambda self: drawn.append(type(self.screen).__name__))
    async with inspecting(tmp_path / "m.db") as pilot:
        for count, key in enumerate(("question_mark", "ctrl+p", "slash", "n", "at"), 1):
            await pilot.press(key, "ctrl+l")
            await until(pilot, lambda count=count: len(drawn) == count, f"drawing after {key}")
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_screen(pilot))


PAST_KEYS = {"app.jump": "J", "time.play": "f5", "fact.archive": "d"}


def test_a_setting_of_an_earlier_version_is_ignored_with_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "inspector.toml"
    document = {"command": [{"name": "Open issue"}], "keys": PAST_KEYS}
    parsed = inspector_settings.parse_inspector_settings(document, path)
    settings = inspector_settings.resolve_actions(parsed, keymap_actions.binding_ids())
    assert settings.keys == {"fact.archive": "d"}
    assert settings.notice == f"{path}: command, app.jump, time.play of an earlier version are ignored"


def test_a_key_of_an_action_that_never_was_is_refused(tmp_path: Path) -> None:
    settings = inspector_settings.InspectorSettings(keys={"fact.archiv": "d"}, path=tmp_path / "inspector.toml")
    with pytest.raises(ArgumentError, match=r"there is no action 'fact.archiv'; did you mean 'fact.archive'"):
        inspector_settings.resolve_actions(settings, keymap_actions.binding_ids())


SHARED_KEYS = {
    "enter": "does what stands under the cursor, or what a dialog asks",
    "escape": "leaves",
    "q": "leaves",
    "tab": "moves the focus, and completes in a line, which has no other focus",
    "shift+tab": "as tab",
    "up": "moves, and in a line recalls earlier ones",
    "down": "as up",
    "left": "moves between what stands side by side",
    "right": "as left",
    "h": "as left",
    "l": "as right",
    "space": "turns on or off: a mark of a row, and a branch of Textual's tree",
    "ctrl+p": "opens the palette, and closes it",
    "exclamation_mark": "opens the messages, and closes them",
}
"""Keys whose meaning is their place on the keyboard, or a habit of every terminal."""

SYNONYMS = {"Merge": "Move"}
"""Words for one act: merging a scope into another one moves its facts there."""


def test_a_key_has_one_meaning_in_every_view_and_dialog() -> None:
    meanings: dict[str, dict[str, list[str]]] = {}
    for binding in bindings():
        verb = binding.description.split()[0]
        for key in binding.key.split(","):
            meanings.setdefault(key, {}).setdefault(SYNONYMS.get(verb, verb), []).append(str(binding.id))
    several = {key: verbs for key, verbs in meanings.items() if len(verbs) > 1 and key not in SHARED_KEYS}
    assert several == {}


def test_the_keys_of_habit_stay() -> None:
    verbs = {key: binding.description.split()[0] for binding in bindings() for key in binding.key.split(",")}
    habits = {"a": "Archive", "u": "Undo", "U": "Undo", "P": "Purge", "j": "Down", "k": "Up", "g": "First", "G": "Last"}
    assert {key: verbs[key] for key in habits} == habits
    assert {"space", "slash", "question_mark", "enter"} <= verbs.keys()
