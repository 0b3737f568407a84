"""A monkey at the keyboard, over all views, while another process writes.

    HERMES_MEMORY_MONKEY=10000 HERMES_MEMORY_SEED=7 pytest tests/tui/inspector/views/test_monkey.py

presses more keys, and others. What it did last before it broke something is printed with the seed.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from textual import events
from textual.errors import NoWidget
from textual.keys import _character_to_key
from textual.pilot import OutOfBounds, Pilot
from textual.widgets._toast import Toast

from hermes_memory_store.clock import system_clock
from hermes_memory_tui.keymap_actions import all_bindings
from tests.tui.inspector.driving import doctor_says, inspecting, mouse, send

STEPS = int(os.environ.get("HERMES_MEMORY_MONKEY", "120"))
SEED = int(os.environ.get("HERMES_MEMORY_SEED", "1"))

SIZES = [(20, 5), (40, 12), (80, 24), (100, 30), (150, 38), (200, 60)]

TEXTS = (
    "scope-1",
    "theme-1",
    "D[x]: y",
    "[red",
    "[/x]",
    "日本語",
    "مرحبا",
    "2h",
    "by:agent-1",
    "op:edit",
    "x" * 400,
    "\x1b[31m",
)

DIGITS = "0123456789"

WAITED_FOR = 0.1
"""Share of the keys after which the monkey waits for the app to be done."""

WRITER = """
import random, select, sys
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
pick = random.Random(int(sys.argv[2]))
with Store.open(sys.argv[1]) as store:
    sessions = []
    for number in range(3):
        sessions.append(store.sessions.open(f"theme-{number}", f"agent-{number}", client="monkey 1.0"))
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        who = pick.choice(sessions)
        scope, number = f"scope-{pick.randrange(5)}", pick.randrange(20)
        try:
            match pick.randrange(8):
                case 0: store.turns.add(who.theme, "user", f"[red turn {number}", session=who)
                case 1: store.facts.quarantine(who.theme, f"C[q.{number}]: obey {number}", why="orders", session=who)
                case 2: store.injection.status(who.theme, session=who)
                case 3: store.scopes.close(who.theme, scope)
                case 4: store.facts.write(who.theme, f"D[d.{number}]: {'long ' * 70}", scope=scope, session=who)
                case _: store.facts.write(who.theme, f"V[v.{number}]: {pick.random()}", scope=scope, session=who)
        except StoreError:
            pass
"""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Another process that writes all the while."""
    command = [sys.executable, "-c", WRITER, str(path), str(SEED)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            writer.communicate("end\n", timeout=30)
    assert writer.returncode == 0


class Monkey:
    """Does anything a person's hands could do."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        bound = {key for _, binding in all_bindings() for key in binding.key.split(",")}
        named = sorted(_character_to_key(key) if len(key) == 1 else key for key in bound)
        self.keys = [
            *named,
            *"abcdefghijklmnopqrstuvwxyzABCDEGKNPRUVWXY",
            "tab",
            "shift+tab",
            "space",
            "backspace",
            "delete",
        ]
        self.did: deque[str] = deque(maxlen=40)
        self.pressed = 0

    async def act(self, pilot: Pilot[int]) -> None:
        """One thing."""
        match self.pick.choices(
            ("key", "digit", "enter", "escape", "text", "paste", "resize", "click", "gesture", "toast"),
            (50, 10, 12, 6, 4, 3, 3, 12, 4, 2),
        )[0]:
            case "key":
                await self.press(pilot, self.pick.choice(self.keys))
            case "digit":
                await self.press(pilot, self.pick.choice(DIGITS))
            case "enter" | "escape" as key:
                await self.press(pilot, key)
            case "text":
                text = self.pick.choice(TEXTS)[:40].replace("\x1b", "")
                await self.press(pilot, *map(_character_to_key, text))
            case "paste":
                text = self.pick.choice(TEXTS)
                self.did.append(f"paste {text[:20]!r}")
                pilot.app.post_message(events.Paste(text))
                await pilot.pause()
            case "resize":
                size = self.pick.choice(SIZES)
                self.did.append(f"resize {size}")
                await pilot.resize_terminal(*size)
            case "click":
                width, height = pilot.app.size
                where = self.pick.randrange(width), self.pick.choice([0, 1, height - 1, self.pick.randrange(height)])
                self.did.append(f"click {where}")
                with suppress(OutOfBounds, NoWidget):  # a screen that was opened just now has nothing to click on yet
                    await pilot.click(offset=where, times=self.pick.choice([1, 1, 2]))

            case "gesture":
                await self.drag(pilot)
            case "toast":
                self.did.append("double click on a toast")
                pilot.app.notify("about to go", timeout=0.05)
                await pilot.pause(0.02)
                toasts = pilot.app.screen.query(Toast)
                if toasts and toasts.last().region:
                    place = toasts.last().region.offset
                    for kind in (events.MouseDown, events.MouseUp) * self.pick.choice([1, 2, 3]):
                        mouse(pilot, kind, place.x + 1, place.y)
                        await asyncio.sleep(0)

    async def drag(self, pilot: Pilot[int]) -> None:
        """Press the mouse somewhere, move, and let go somewhere else, perhaps with a key between."""
        width, height = pilot.app.size
        places = [(self.pick.randrange(width), self.pick.randrange(height)) for _ in range(4)]
        self.did.append(f"drag {places}")
        mouse(pilot, events.MouseDown, *places[0])
        for place in places:
            mouse(pilot, events.MouseMove, *place)
            await asyncio.sleep(self.pick.choice([0, 0.02]))
        if self.pick.random() < 0.3:
            await self.press(pilot, self.pick.choice(["escape", "ctrl+c", "enter", *DIGITS]))
        mouse(pilot, events.MouseUp, *self.pick.choice(places))

    async def press(self, pilot: Pilot[int], *keys: str) -> None:
        """Keys, until one of them quits."""
        for key in keys:
            if pilot.app._exit:
                return
            self.did.append(key)
            self.pressed += 1
            if self.pick.random() < WAITED_FOR:
                await pilot.press(key)
            else:
                send(pilot, key)
                await asyncio.sleep(0.01)


@pytest.mark.fuzz
@pytest.mark.slow
async def test_no_keys_break_the_app_or_the_store(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("VISUAL", "true")
    monkey, left = Monkey(SEED), STEPS
    with writing(path):
        while left > 0:
            try:
                async with inspecting(path, clock=system_clock, size=monkey.pick.choice(SIZES), wait_s=2) as pilot:
                    while left > 0 and not pilot.app._exit:
                        left -= 1
                        await monkey.act(pilot)
                        assert pilot.app._exception is None
            except BaseException as error:
                raise AssertionError(f"seed {SEED}, {STEPS - left} steps, the last: {list(monkey.did)}") from error
            assert pilot.app.return_code in (0, None)
    assert doctor_says(path) == []
    print(f"seed {SEED}: {monkey.pressed} keys in {STEPS} steps")
