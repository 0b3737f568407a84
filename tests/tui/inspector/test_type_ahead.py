"""Keys that come in one piece, as over a slow line, go where the ones before them led."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

import pytest
from textual import events
from textual.binding import BindingType
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen

from hermes_memory_tui.dialogs.picker import Picker
from hermes_memory_tui.screens.fact_editor import NewFactEditor
from tests.tui.inspector.driving import fill, inspecting, main_screen, opened, scopes_of, screen_text, targets, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", *(f"V[{letter}]: number {letter}" for letter in "abcdef"), scope="launch")
    return tmp_path / "m.db"


def send_at_once(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        pilot.app.post_message(events.Key(name, key if len(key) == 1 else None))


async def test_letters_after_the_slash_are_the_search(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, "/", *"number c")
        await until(pilot, lambda: main_screen(pilot).line == "number c")


@pytest.mark.parametrize("view", ["scopes", "journal", "review", "agents"])
async def test_in_every_view_too(path: Path, view: str) -> None:
    async with inspecting(path) as pilot:
        await opened(pilot, view)
        send_at_once(pilot, "/", *"scop")
        await until(pilot, lambda: "/ scop" in screen_text(pilot))
        assert scopes_of(path)["launch"].status.value == "open"


async def test_letters_after_a_digit_are_meant_for_the_view(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, "2", "/", *"lau", "enter")
        await until(pilot, lambda: "/ lau" in screen_text(pilot) and "1 of 1" in screen_text(pilot))
        send_at_once(pilot, "c")  # once there is a row: before, there is nothing that it could close
        await until(pilot, lambda: scopes_of(path)["launch"].status.value == "closed")


async def test_keys_after_enter_are_for_the_list(path: Path) -> None:
    async with inspecting(path) as pilot:
        await until(pilot, lambda: len(targets(pilot)) == 6)
        send_at_once(pilot, "/", *"number", "enter", "j", "j")
        await until(pilot, lambda: pilot.app.focused is main_screen(pilot).table and "6 found" in screen_text(pilot))
        assert main_screen(pilot).line == "number"


async def test_text_after_the_key_of_a_dialog_is_typed_into_it(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, "n", *"V[z]: 1")
        await until(pilot, lambda: isinstance(pilot.app.screen, NewFactEditor) and "V[z]: 1" in screen_text(pilot))


async def test_keys_for_a_picker_choose_in_it(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, "s", "/", *"target", "enter")
        await until(pilot, lambda: not isinstance(pilot.app.screen, Picker) and targets(pilot)[0] in "af")


async def test_a_paste_after_the_slash_is_the_search(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, "/")
        pilot.app.post_message(events.Paste("number d"))
        send_at_once(pilot, "x")
        await until(pilot, lambda: main_screen(pilot).line == "number dx")


class LateScreen(Screen[None]):
    """A screen that has its widgets late, as on a machine with other work."""

    BINDINGS: ClassVar[list[BindingType]] = [("l", "look")]

    def __init__(self) -> None:
        super().__init__()
        self.may_begin = asyncio.Event()
        self.looks: list[bool] = []

    async def on_compose(self) -> None:
        await self.may_begin.wait()

    def action_look(self) -> None:
        self.looks.append(self.is_mounted)


async def test_a_key_that_comes_back_when_something_else_has_opened_a_screen_waits_for_its_widgets(path: Path) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("j")
        screen, key = LateScreen(), events.Key("l", "l")
        pilot.app.push_screen(screen)
        key._set_forwarded()  # no widget took it
        pilot.app.post_message(key)
        send_at_once(pilot, "l")
        for _ in range(1000):  # rounds of the event loop, in which the app has had both
            await asyncio.sleep(0)
        assert not screen.is_mounted
        screen.may_begin.set()
        await until(pilot, lambda: len(screen.looks) == 2)
        assert screen.looks == [True, True]


async def test_keys_behind_some_that_nobody_finishes_come_by_themselves_and_in_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with inspecting(path) as pilot:
        await pilot.press("slash", "x")
        monkeypatch.setattr("hermes_memory_tui.system.type_ahead.TIMEOUT_S", 0.1)
        monkeypatch.setattr(type(pilot.app), "_follow", lambda *_, **__: None)  # the widgets have gone with their keys
        send_at_once(pilot, *"abc")
        await until(pilot, lambda: "/ xabc" in screen_text(pilot))


async def test_every_key_of_a_burst_counts_once(path: Path) -> None:
    async with inspecting(path) as pilot:
        send_at_once(pilot, *"jjjjkk", "d", "f", "j")
        await until(pilot, lambda: main_screen(pilot).table.cursor == 3)
        send_at_once(pilot, "j")
        await until(pilot, lambda: main_screen(pilot).table.cursor == 4)
