"""Random hands on the inspector, over all views, while another process writes.

    python -m tests.fuzz_inspector --actions 10000 --seed 7

Keys, texts, pastes, clicks, drags, the wheel, and terminals of 20x3 to 250x80. It fails when the inspector ends, when it
answers nothing for long, and when the store is not sound afterwards, and prints the seed and what was done last.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from textual import events
from textual.errors import NoWidget
from textual.keys import _character_to_key
from textual.pilot import OutOfBounds, Pilot
from textual.widgets._toast import Toast

from hermes_memory_store.clock import system_clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
from hermes_memory_tui.keymap_actions import all_bindings
from tests.processes import working_beside
from tests.tui.inspector.driving import doctor_says, inspecting, mouse, send

SIZES = [(20, 3), (20, 5), (40, 12), (80, 24), (80, 3), (100, 30), (150, 38), (200, 60), (250, 80)]

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
    "tier:archived -not",
    "#12",
    "yesterday",
    "facts tier:hot",
    "x" * 400,
    "\x1b[31m",
    "\u202eevil\u2066",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "a\tb\r\nc\n\nD[e]: f\x00\x07",
)

LONG_PASTES = ("word " * 20_000, "D[p]: v\n" * 5_000, "日本" * 30_000)

NAMES = ("[bold]", "日本語プロジェクト", "مشروع", "n" * 200, "a\u202eb", "tab\there", "..", "' OR 1=1 --")
"""Names that programs and people give to scopes and themes."""

NAMED_KEYS = (
    "tab", "shift+tab", "space", "backspace", "delete", "up", "down", "left", "right", "home", "end", "pageup",
    "pagedown", "f1", "f5", "f12", "ctrl+a", "ctrl+e", "ctrl+k", "ctrl+w", "ctrl+left", "shift+down", "alt+x", "insert",
)  # fmt: skip

DIGITS = "0123456789"

WAITED_FOR = 0.1
"""Share of the keys after which it waits for the app to be done."""

FROZEN_S = 60.0
"""An app that has not come back from one action by then never will: hundreds of times what one takes."""

DID = 40
"""Actions that a failure prints."""

WRITER = """
import random, select, sys
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Tier
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
pick, names = random.Random(int(sys.argv[2])), sys.argv[3:]
with Store.open(sys.argv[1]) as store:
    sessions = []
    for number in range(3):
        sessions.append(store.sessions.open(f"theme-{number}", f"agent-{number}", client="fuzz 1.0"))
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        who = pick.choice(sessions)
        scope, number = pick.choice([f"scope-{pick.randrange(5)}", pick.choice(names)]), pick.randrange(20)
        try:
            match pick.randrange(12):
                case 0: store.turns.add(who.theme, "user", f"[red turn {number}", session=who)
                case 1: store.facts.quarantine(who.theme, f"C[q.{number}]: obey {number}", why="orders", session=who)
                case 2: store.injection.status(who.theme, session=who)
                case 3: store.scopes.close(who.theme, scope)
                case 4: store.facts.write(who.theme, f"D[d.{number}]: {'long ' * 70}", scope=scope, session=who)
                case 5: store.scopes.reopen(who.theme, scope)
                case 6: store.scopes.rename(who.theme, scope, f"scope-{pick.randrange(5)}")
                case 7: store.sessions.heartbeat(who)
                case _: store.facts.write(who.theme, f"V[v.{number}]: {pick.random()}", scope=scope, session=who)
        except (StoreError, ValueError):
            pass
"""


class RandomHands:
    """Do anything that a person's hands could do."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        bound = {key for _, binding in all_bindings() for key in binding.key.split(",")}
        named = sorted(_character_to_key(key) if len(key) == 1 else key for key in bound)
        self.keys = [*named, *"abcdefghijklmnopqrstuvwxyzABCDEGKNPRUVWXY", *NAMED_KEYS]
        self.did: deque[str] = deque(maxlen=DID)

    async def act(self, pilot: Pilot[int]) -> None:
        """Do one thing."""
        match self.pick.choices(
            ("key", "digit", "enter", "escape", "text", "paste", "resize", "click", "drag", "wheel", "toast"),
            (50, 10, 12, 6, 4, 3, 3, 12, 4, 3, 2),
        )[0]:
            case "key":
                await self.press(pilot, self.pick.choice(self.keys))
            case "digit":
                await self.press(pilot, self.pick.choice(DIGITS))
            case "enter" | "escape" as key:
                await self.press(pilot, key)
            case "text":
                text = "".join(char for char in self.pick.choice(TEXTS)[:40] if char.isprintable())
                await self.press(pilot, *map(_character_to_key, text))
            case "paste":
                text = self.pick.choice((*TEXTS, *TEXTS, *LONG_PASTES))
                self.did.append(f"paste {len(text)} of {text[:20]!r}")
                pilot.app.post_message(events.Paste(text))
                await pilot.pause()
            case "resize":
                size = self.pick.choice(SIZES)
                self.did.append(f"resize {size}")
                await pilot.resize_terminal(*size)
            case "click":
                await self.click(pilot)
            case "drag":
                await self.drag(pilot)
            case "wheel":
                where = self.find_place(pilot)
                self.did.append(f"wheel {where}")
                for _ in range(self.pick.choice([1, 3, 10])):
                    mouse(pilot, self.pick.choice([events.MouseScrollDown, events.MouseScrollUp]), *where)
                    await asyncio.sleep(0)
            case "toast":
                await self.click_toast(pilot)

    def find_place(self, pilot: Pilot[int]) -> tuple[int, int]:
        """Return a place on the screen, often on its first or last lines."""
        width, height = pilot.app.size
        return self.pick.randrange(width), self.pick.choice(
            [0, min(1, height - 1), height - 1, self.pick.randrange(height)]
        )

    async def click(self, pilot: Pilot[int]) -> None:
        where = self.find_place(pilot)
        self.did.append(f"click {where}")
        with suppress(OutOfBounds, NoWidget):  # a screen that was opened just now has nothing to click on yet
            await pilot.click(offset=where, times=self.pick.choice([1, 1, 2]))

    async def click_toast(self, pilot: Pilot[int]) -> None:
        """Click on a toast that is about to go."""
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
        places = [self.find_place(pilot) for _ in range(4)]
        self.did.append(f"drag {places}")
        mouse(pilot, events.MouseDown, *places[0])
        for place in places:
            mouse(pilot, events.MouseMove, *place)
            await asyncio.sleep(self.pick.choice([0, 0.02]))
        if self.pick.random() < 0.3:
            await self.press(pilot, self.pick.choice(["escape", "ctrl+c", "enter", *DIGITS]))
        mouse(pilot, events.MouseUp, *self.pick.choice(places))

    async def press(self, pilot: Pilot[int], *keys: str) -> None:
        """Press keys, until one of them quits."""
        for key in keys:
            if pilot.app._exit:
                return
            self.did.append(key)
            if self.pick.random() < WAITED_FOR:
                await press_until_exit(pilot, key)
            else:
                send(pilot, key)
                await asyncio.sleep(0.01)


async def press_until_exit(pilot: Pilot[int], key: str) -> None:
    """Press a key and wait as a pilot does, which waits for good for an animation that ended with the app."""
    pressed = asyncio.ensure_future(pilot.press(key))
    while not pressed.done() and not pilot.app._exit:
        await asyncio.wait({pressed}, timeout=0.1)
    if pressed.done():
        await pressed
    else:
        pressed.cancel()


def fill_store(path: Path) -> None:
    """Write facts under names that are hard to show."""
    with Store.open(path) as store:
        for number, name in enumerate((*NAMES, *TEXTS)):
            label = " ".join(name.split())[:100] or "blank"
            theme = f"theme-{number % 3}"
            with suppress(StoreError):
                store.facts.write(theme, f"V[start.{number}]: {name}", scope=label)


def watch_for_freeze() -> None:
    """End the process, and say where it stands, unless this is called again soon."""
    assert sys.__stderr__ is not None  # the inspector takes the other one
    faulthandler.dump_traceback_later(FROZEN_S, exit=True, file=sys.__stderr__)


async def fuzz_inspector(path: Path, actions: int, seed: int, seconds: float = float("inf")) -> int:
    """Do so many random things to the inspector on a store; return how many were done.

    :param path: where the store is, or is made
    :param seconds: end after so long
    :raises AssertionError: with the seed and what was done last
    """
    fill_store(path)
    hands, done, until = RandomHands(seed), 0, time.monotonic() + seconds
    with working_beside(WRITER, str(path), str(seed), *NAMES):
        while done < actions and time.monotonic() < until:
            try:
                size = hands.pick.choice(SIZES)
                hands.did.append(f"start {size}")
                watch_for_freeze()
                async with inspecting(path, clock=system_clock, size=size, wait_s=2) as pilot:
                    while done < actions and not pilot.app._exit and time.monotonic() < until:
                        done += 1
                        watch_for_freeze()
                        await asyncio.wait_for(hands.act(pilot), FROZEN_S / 2)
                        if pilot.app._exception is not None:
                            raise getattr(pilot.app._exception, "error", pilot.app._exception)
            except BaseException as error:
                raise AssertionError(f"seed {seed}, {done} actions, the last: {list(hands.did)}") from error
            finally:
                faulthandler.cancel_dump_traceback_later()
            assert pilot.app.return_code in (0, None)
    said = doctor_says(path)
    assert said == [], f"seed {seed}: {said}"
    return done


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=1_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="T", help="end after so long")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "HERMES_HOME": folder, "EDITOR": "true", "VISUAL": "true"}
        os.environ["HERMES_MEMORY_SECRETS"] = "file"
        os.chdir(folder)
        begin = time.perf_counter()
        done = asyncio.run(fuzz_inspector(Path(folder) / "memory.db", args.actions, args.seed, args.seconds))
    print(f"seed {args.seed}: {done:,} actions in {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    main()
