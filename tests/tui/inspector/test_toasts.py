"""Toasts and dialogs: what is asked stays readable, and no message is lost."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from hermes_memory_tui.dialogs.modal import Modal
from tests.tui.inspector.driving import fill, inspecting, main_screen, said, screen_text, until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    fill(tmp_path / "m.db", "V[port]: 1", scope="payments")
    return tmp_path / "m.db"


async def test_a_message_stands_in_the_frame_of_a_dialog_and_is_a_toast_after_it(path: Path) -> None:
    async with inspecting(path, size=(100, 30)) as pilot:
        for dialog in ("n", "x", "s", "question_mark", "exclamation_mark", "ctrl+p", "at"):
            await pilot.press(dialog)
            await until(pilot, lambda: isinstance(pilot.app.screen, Modal), f"the dialog of {dialog}")
            pilot.app.notify("the backup\nis [done]", severity="warning", markup=False, timeout=60)
            await until(pilot, lambda: "! the backup is [done]" in screen_text(pilot), f"the line in it, {dialog}")
            assert not pilot.app.screen.query(Toast)
            await pilot.press("escape")
            await until(pilot, lambda: pilot.app.screen is main_screen(pilot), "closing")
            await until(pilot, lambda: pilot.app.screen.query(Toast), "the toast")
            pilot.app.clear_notifications()
            await until(pilot, lambda: not pilot.app.screen.query(Toast), "its end")
        assert said(pilot).count("the backup\nis [done]") == 7


async def test_a_toast_that_shows_when_a_dialog_opens_is_not_over_it(path: Path) -> None:
    async with inspecting(path, size=(100, 30)) as pilot:
        pilot.app.notify("before the dialog", timeout=60)
        await until(pilot, lambda: "before the dialog" in screen_text(pilot), "the toast")
        await pilot.press("n")
        await until(pilot, lambda: isinstance(pilot.app.screen, Modal), "the dialog")
        await pilot.pause()
        assert not pilot.app.screen.query(Toast)
        await pilot.press("escape")
        await until(pilot, lambda: "before the dialog" in screen_text(pilot), "the toast again")


async def test_of_many_messages_the_newest_wait_and_all_are_in_the_log(path: Path) -> None:
    async with inspecting(path, size=(100, 30)) as pilot:
        await pilot.press("x")
        await until(pilot, lambda: isinstance(pilot.app.screen, Modal), "the dialog")
        for number in range(20):
            pilot.app.notify(f"message {number}", timeout=60)
        await until(pilot, lambda: "message 19" in screen_text(pilot), "the newest")
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen.query(Toast)) == 3, "three toasts")
        assert "message 0\n" in said(pilot)


async def test_a_toast_whose_time_is_over_as_it_is_drawn_goes_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Textual's timer never gives way to anything when its time is negative."""
    async with inspecting(path) as pilot:
        chance = random.Random(1)
        monkeypatch.setattr("textual.notifications.time", lambda: time.time() + chance.choice([0, 10]))
        for number in range(40):
            pilot.app.notify(f"number {number}", timeout=0.2)
            await pilot.pause()
        await until(pilot, lambda: not pilot.app.screen.query(Toast), "all toasts to go")
