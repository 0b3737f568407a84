"""Random hands on the inspector, over all views, while another process writes.

    python -m tests.tools.fuzz_inspector --actions 10000 --runs 10 --seed 7

Keys one by one and in bursts, texts, pastes, clicks, drags out of the window, the wheel, terminals of 20x3 to 250x80, and a
store that is locked, moved away, replaced or no store for a while. It fails when the inspector ends, when it answers nothing
for long, and when the store is not sound afterwards, and prints the seed and what was done last.

It waits for events, never for a time: a third of the actions come before the one before has been handled, others once all
messages have been, or once nothing is read or written any more. `tests.tools.fuzz_terminal` does the like to the real program.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from subprocess import Popen
from typing import Any

import textual.screen
from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets._toast import Toast

from hermes_memory_store.clock import system_clock
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
from hermes_memory_tui.keymap_actions import all_bindings
from tests.processes import working_beside
from tests.tools.histories.player import place as memory_disk
from tests.tui.inspector.driving import doctor_says, inspecting, mouse, send

SIZES = [(20, 3), (20, 5), (40, 12), (80, 24), (80, 3), (100, 30)] * 3 + [(150, 38), (200, 60), (250, 80)]
"""Of terminals, the large ones seldom: a frame of one takes as long as ten of a small one."""

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

BROKEN_PASTES = ("half \ud83d of one", "\x1b[201~\x1b[2J\x9b31m\x7f\x90", "".join(map(chr, range(32))))
"""What a browser may paste, or a program put on the clipboard."""

LONG_PASTES = ("word " * 20_000, "D[p]: v\n" * 5_000, "日本" * 30_000)

NAMES = ("[bold]", "日本語プロジェクト", "مشروع", "n" * 200, "a\u202eb", "tab\there", "..", "' OR 1=1 --")
"""Names that programs and people give to scopes and themes."""

NAMED_KEYS = (
    "tab", "shift+tab", "space", "backspace", "delete", "up", "down", "left", "right", "home", "end", "pageup",
    "pagedown", "f1", "f5", "f12", "ctrl+a", "ctrl+e", "ctrl+k", "ctrl+w", "ctrl+left", "shift+down", "alt+x", "insert",
)  # fmt: skip

DIGITS = "0123456789"

WRITTEN = 0.3
"""Share of the actions beside which the other process writes."""

FOLLOWED = 0.15
"""Share of the actions after which the app looks for what others changed, besides four times a second by itself."""

FRAME_S = 0.2
"""How often it draws by itself, besides after every second action: a frame takes as long as several actions."""

FROZEN_S = 120.0
"""An app that has not come back from one action by then never will: hundreds of times what one takes."""

AT_WORK_S = 1.0
"""How long the end of what is read or written is waited for; a lock may take longer."""

LOCK_WAIT_S = 1.0
"""How long a write waits for a lock."""

DID = 40
"""Actions that a failure prints."""

WRITER = """
import random, sys
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store
pick, names = random.Random(int(sys.argv[2])), sys.argv[3:]

def write(store, sessions):
    who = pick.choice(sessions)
    scope, number = pick.choice([f"scope-{pick.randrange(5)}", pick.choice(names)]), pick.randrange(20)
    match pick.randrange(12):
        case 0: store.turns.add(who.theme, "user", f"[red turn {number}", session=who)
        case 1: store.facts.quarantine(who.theme, f"C[q.{number}]: obey {number}", why="orders", session=who)
        case 2: store.context.status(who.theme, session=who)
        case 3: store.scopes.close(who.theme, scope)
        case 4: store.facts.write(who.theme, f"D[d.{number}]: {'long ' * 70}", scope=scope, session=who)
        case 5: store.scopes.reopen(who.theme, scope)
        case 6: store.scopes.rename(who.theme, scope, f"scope-{pick.randrange(5)}")
        case 7: store.sessions.heartbeat(who)
        case _: store.facts.write(who.theme, f"V[v.{number}]: {pick.random()}", scope=scope, session=who)

line = "open"
while line == "open":
    with Store.open(sys.argv[1]) as store:
        sessions = [store.sessions.open(f"theme-{number}", f"agent-{number}", client="fuzz 1.0") for number in range(3)]
        print("ready", flush=True)
        while (line := sys.stdin.readline().strip()) == "write":
            try:
                write(store, sessions)
            except (StoreError, ValueError):
                pass
    if line == "close":
        print("closed", flush=True)
        line = sys.stdin.readline().strip()
"""


class RandomHands:
    """Do anything that a person's hands, their terminal and other programs could do."""

    def __init__(self, seed: int, path: Path, writer: Popen[str]) -> None:
        self.pick = random.Random(seed)
        self.path = path
        self.writer = writer
        bound = {key for _, binding in all_bindings() for key in binding.key.split(",")}
        named = sorted(_character_to_key(key) if len(key) == 1 else key for key in bound)
        self.keys = [*named, *"abcdefghijklmnopqrstuvwxyzABCDEGKNPRUVWXY", *NAMED_KEYS]
        self.did: deque[str] = deque(maxlen=DID)

    async def act(self, pilot: Pilot[int]) -> None:
        """Do one thing, and perhaps wait until the app has done what it asked for."""
        kinds = {
            "key": 50, "digit": 10, "enter": 12, "escape": 6, "text": 4, "paste": 3, "resize": 3, "click": 12, "drag": 4,
            "wheel": 3, "toast": 2, "burst": 1, "storm": 0.5, "harm": 0.3,
        }  # fmt: skip
        match self.pick.choices(list(kinds), list(kinds.values()))[0]:
            case "key":
                await self.press(pilot, self.pick.choice(self.keys))
            case "digit":
                await self.press(pilot, self.pick.choice(DIGITS))
            case "enter" | "escape" as key:
                await self.press(pilot, key)
            case "text":
                text = "".join(char for char in self.pick.choice(TEXTS)[:40] if char.isprintable())
                await self.press(pilot, *map(_character_to_key, text))
            case "burst":
                await self.press(
                    pilot, *self.pick.choices([*self.keys, "enter", "escape"], k=self.pick.randrange(5, 40))
                )
            case "paste":
                text = self.pick.choice((*TEXTS, *TEXTS, *BROKEN_PASTES, *LONG_PASTES))
                self.did.append(f"paste {len(text)} of {text[:20]!r}")
                pilot.app.post_message(events.Paste(text))
            case "resize":
                self.resize(pilot)
            case "storm":
                for _ in range(self.pick.randrange(5, 20)):
                    self.resize(pilot)
                    await self.press(pilot, self.pick.choice([*self.keys, "enter", "escape"]))
                    await asyncio.sleep(0)
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
            case "harm":
                await self.harm_store(pilot)
        if self.pick.random() < WRITTEN:
            assert self.writer.stdin
            print("write", file=self.writer.stdin, flush=True)
        if self.pick.random() < FOLLOWED:
            pilot.app.call_later(pilot.app._check_for_changes)  # type: ignore[attr-defined]
        await self.wait(pilot)

    async def wait(self, pilot: Pilot[int]) -> None:
        """Wait until nothing is read or written any more, or until all messages have been handled, or not at all."""
        (until,) = self.pick.choices(("at rest", "handled", "now"), (1, 4, 3))
        if until == "at rest" and (at_work := [worker._task for worker in pilot.app.workers if worker._task]):
            await asyncio.wait(at_work, timeout=AT_WORK_S)
        if until == "now":
            await asyncio.sleep(0)
        else:
            await handle_messages(pilot)
            if not pilot.app._exit:
                pilot.app.screen._on_timer_update()  # draw now
                app: Any = pilot.app
                is_stuck = app._typed and time.monotonic() - app._typed[0].time > FROZEN_S / 2
                assert not is_stuck, f"keys wait for nothing: {app._typed}"

    def find_place(self, pilot: Pilot[int], beyond: int = 0) -> tuple[int, int]:
        """Return a place on the screen, often on its first or last lines, or so far beyond it."""
        width, height = pilot.app.size
        return self.pick.randrange(-beyond, width + beyond), self.pick.choice(
            [0, min(1, height - 1), height - 1, self.pick.randrange(-beyond, height + beyond)]
        )

    def resize(self, pilot: Pilot[int]) -> None:
        """Give the terminal another size."""
        size = Size(*self.pick.choice(SIZES))
        self.did.append(f"resize {tuple(size)}")
        pilot.app._driver._size = size  # type: ignore[union-attr]
        pilot.app.post_message(events.Resize(size, size))

    async def click(self, pilot: Pilot[int]) -> None:
        """Click once, twice or thrice."""
        where, times = self.find_place(pilot), self.pick.choice([1, 1, 1, 2, 3])
        self.did.append(f"click {where} {times}")
        mouse(pilot, events.MouseMove, *where)
        for kind in (events.MouseDown, events.MouseUp) * times:
            mouse(pilot, kind, *where)
            await asyncio.sleep(0)

    async def click_toast(self, pilot: Pilot[int]) -> None:
        """Click on a toast that is about to go."""
        self.did.append("clicks on a toast")
        pilot.app.notify("about to go", timeout=0.05)
        await handle_messages(pilot)
        toasts = pilot.app.screen.query(Toast)
        if toasts and toasts.last().region:
            place = toasts.last().region.offset
            for kind in (events.MouseDown, events.MouseUp) * self.pick.choice([1, 2, 3]):
                mouse(pilot, kind, place.x + 1, place.y)
                await asyncio.sleep(0)

    async def drag(self, pilot: Pilot[int]) -> None:
        """Press the mouse somewhere, move, perhaps out of the window, and let go somewhere else, perhaps with a key between."""
        places = [self.find_place(pilot, beyond) for beyond in (0, 0, self.pick.choice([0, 30]), 0)]
        self.did.append(f"drag {places}")
        mouse(pilot, events.MouseDown, *places[0])
        for place in places:
            mouse(pilot, events.MouseMove, *place)
            await (handle_messages(pilot) if self.pick.random() < 0.3 else asyncio.sleep(0))
        if self.pick.random() < 0.3:
            await self.press(pilot, self.pick.choice(["escape", "ctrl+c", "enter", *DIGITS]))
        mouse(pilot, events.MouseUp, *self.pick.choice(places))

    async def press(self, pilot: Pilot[int], *keys: str) -> None:
        """Press keys, until one of them quits."""
        for key in keys:
            if pilot.app._exit:
                return
            self.did.append(key)
            send(pilot, key)
            await asyncio.sleep(0)

    async def harm_store(self, pilot: Pilot[int]) -> None:
        """Lock the store, move it away, put something else in its place, or another store; press keys meanwhile."""
        how = self.pick.choice(["lock", "lock for long", "move away", "no store", "replace"])
        self.did.append(how)
        keys = [self.pick.choice([*self.keys, *DIGITS, "enter"]) for _ in range(self.pick.randrange(8))]
        away = self.path.with_name("elsewhere.db")
        with self.closed_writer(), closing(sqlite3.connect(self.path, isolation_level=None)) as other:
            lock_emptied(other)
            if how == "replace":
                with closing(sqlite3.connect(self.path)) as reader:
                    reader.execute("VACUUM INTO ?", [str(away)])
                away.chmod(0o600)
                for part in ("-wal", "-shm"):
                    self.path.with_name(self.path.name + part).unlink(missing_ok=True)
                away.replace(self.path)
            elif not how.startswith("lock"):
                self.path.rename(away)
                if how == "no store":
                    self.path.write_text("not a database, but long enough to be looked at as one" * 40)
            if not how.startswith("lock"):
                other.execute("ROLLBACK")
            try:
                await self.press(pilot, *keys)
                pilot.app.call_later(pilot.app._check_for_changes)  # type: ignore[attr-defined]
                await handle_messages(pilot)
                if how == "lock for long":
                    await asyncio.sleep(LOCK_WAIT_S * 1.5)
            finally:
                if away.exists():
                    away.replace(self.path)

    @contextmanager
    def closed_writer(self) -> Iterator[None]:
        """Let the other process close the store meanwhile: opening one that is away would make another."""
        assert self.writer.stdin
        assert self.writer.stdout
        for order, answer in (("close", "closed"), ("open", "ready")):
            print(order, file=self.writer.stdin, flush=True)
            assert self.writer.stdout.readline() == f"{answer}\n"
            if order == "close":
                yield


def lock_emptied(conn: sqlite3.Connection) -> None:
    """Take the lock of writers while all of the store is in its file, none of it in the write-ahead log."""
    while True:
        checkpoint = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        conn.execute("BEGIN IMMEDIATE")
        if (
            checkpoint == (0, 0, 0)
            and not Path(f"{conn.execute('PRAGMA database_list').fetchone()[2]}-wal").stat().st_size
        ):
            return
        conn.execute("ROLLBACK")


async def handle_messages(pilot: Pilot[int]) -> None:
    """Wait until all messages that are under way have been handled, unless the app ends: a pilot would wait for good then."""
    handled = asyncio.ensure_future(pilot._wait_for_screen())
    while not handled.done() and not pilot.app._exit:
        await asyncio.wait({handled}, timeout=0.1)
    if handled.done():
        await handled
    else:
        handled.cancel()


def fill_store(path: Path) -> None:
    """Write facts under names that are hard to show."""
    with Store.open(path) as store:
        for number, name in enumerate((*NAMES, *TEXTS)):
            label = " ".join(name.split())[:100] or "blank"
            theme = f"theme-{number % 3}"
            with suppress(StoreError):
                store.facts.write(theme, f"V[start.{number}]: {name}", scope=label)


def watch_for_freeze(hands: RandomHands, seed: int) -> None:
    """End the process, and say where it stands, unless this is called again soon."""
    assert sys.__stderr__ is not None  # the inspector takes the other one

    def show_tasks(*_: object) -> None:
        print(f"frozen: seed {seed}, the last: {list(hands.did)}", file=sys.__stderr__, flush=True)
        for task in asyncio.all_tasks():
            task.print_stack(file=sys.__stderr__)

    signal.signal(signal.SIGALRM, show_tasks)  # says more, if the event loop still goes round
    signal.setitimer(signal.ITIMER_REAL, FROZEN_S * 0.9)
    faulthandler.dump_traceback_later(FROZEN_S, exit=True, file=sys.__stderr__)


async def fuzz_inspector(path: Path, actions: int, seed: int, seconds: float = float("inf")) -> int:
    """Do so many random things to the inspector on a store; return how many were done.

    :param path: where the store is, or is made
    :param seconds: end after so long
    :raises AssertionError: with the seed and what was done last
    """
    fill_store(path)
    done, until = 0, time.monotonic() + seconds
    with working_beside(WRITER, str(path), str(seed), *NAMES) as writer:
        hands = RandomHands(seed, path, writer)
        while done < actions and time.monotonic() < until:
            try:
                size = hands.pick.choice(SIZES)
                hands.did.append(f"start {size}")
                watch_for_freeze(hands, seed)
                async with inspecting(path, clock=system_clock, size=size, wait_s=LOCK_WAIT_S) as pilot:
                    while done < actions and not pilot.app._exit and time.monotonic() < until:
                        done += 1
                        watch_for_freeze(hands, seed)
                        await asyncio.wait_for(hands.act(pilot), FROZEN_S / 2)
                        if pilot.app._exception is not None:
                            raise getattr(pilot.app._exception, "error", pilot.app._exception)
            except BaseException as error:
                raise AssertionError(f"seed {seed}, {done} actions, the last: {list(hands.did)}") from error
            finally:
                faulthandler.cancel_dump_traceback_later()
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert pilot.app.return_code in (0, None)
    said = doctor_says(path)
    assert said == [], f"seed {seed}: {said}"
    return done


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--actions", type=int, default=1_000, metavar="N", help="of each run")
    parser.add_argument(
        "--runs", type=int, default=1, metavar="R", help="each with the next seed and a store of its own"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="T", help="end each run after so long")
    args = parser.parse_args(argv)
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # as in the tests
    textual.screen.UPDATE_PERIOD = FRAME_S  # type: ignore[misc]
    os.environ |= {"EDITOR": "true", "VISUAL": "true", "HERMES_MEMORY_SECRETS": "file"}
    for seed in range(args.seed, args.seed + args.runs):
        with tempfile.TemporaryDirectory(dir=memory_disk()) as folder:
            os.environ |= {"HOME": folder, "HERMES_HOME": folder}
            os.chdir(folder)
            begin = time.perf_counter()
            done = asyncio.run(fuzz_inspector(Path(folder) / "memory.db", args.actions, seed, args.seconds))
            print(f"seed {seed}: {done:,} actions in {time.perf_counter() - begin:.0f} s", flush=True)
            os.chdir("/")


if __name__ == "__main__":
    main()
