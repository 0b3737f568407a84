"""Playing a history through shared folders: every machine has a copy of its own, and something unreliable carries between them.

Segments are the real ones, written and read by the exchange that a bridge runs. The carrier is late, brings files in any
order and in parts, brings back what was removed, and repeats, renames and damages files; machines are killed anywhere.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.folder import theme_exchange
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.segment import (
    Segment,
    SegmentError,
    SegmentName,
    ThemeKey,
    open_segment,
    seal_segment,
)
from hermes_memory_bridge.team.folder.segment_rows import newest_rows
from hermes_memory_bridge.team.folder.shared_folder import MARK, SharedFolder, mark_folder
from hermes_memory_bridge.team.sync_outcome import SyncOutcome
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.sync.wire_format import SyncRow
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock
from tests.store.team import THEME, Member, Server
from tests.tools.histories import checks
from tests.tools.histories.player import TICK_MS, Player, hurry
from tests.tools.histories.steps import History, Step, make_history, pick

KEY, FOREIGN = ThemeKey(bytes(range(32))), ThemeKey(b"k" * 32)

DAY_MS = 86_400_000

LATER_MS = 50 * DAY_MS
"""Until then no clock is ahead of any other."""

SKEWS_MS = (3_600_000, -3_600_000, 40 * DAY_MS, -40 * DAY_MS, 240_000)

MOST_ROUNDS = 12
"""Rounds in which everybody is to have everything."""

FILE_EVENTS = frozenset({"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.scandir"})
"""Between two of them a machine may be killed, and before each COMMIT."""

MOMENTS = (1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 25, 30, 40, 60)

PLANTS = ("text", "nothing", "link", "pipe", "folder", "foreign", "garbage", "later version")


class Laptop(Member):
    """A machine with a copy of the folder."""

    def __init__(self, path: Path, clock: HandClock, policies: Policies) -> None:
        super().__init__(path, clock, policies)
        self.paths = BridgePaths.of(path)
        self.paths.make_folder()
        self.keys = FolderKeys(self.paths)
        self.keys.hold(THEME, KEY)
        self.folder = path.with_suffix(".folder")
        self.folder.mkdir()
        self.seen: set[str] = set()
        """Files that the carrier saw here last."""
        self.parts: set[str] = set()
        """Files that are not complete here."""
        self.begin()

    @property
    def files(self) -> Path:
        """The folder of the theme."""
        return self.folder / KEY.tag

    def begin(self) -> None:
        """As a bridge that starts."""
        self.run = FolderRun(self.store, self.keys, Path(self.paths.folder), on_progress=lambda: None)

    def reopen(self) -> None:
        super().reopen()
        self.begin()

    def sync(self) -> SyncOutcome:
        """As `sync now` does."""
        self.run.expire_backoffs()
        return self.run.run(SharedFolder(self.folder))

    def list(self) -> set[str]:
        """The names of plain files that are not being written."""
        if not self.files.is_dir():
            return set()
        there = os.scandir(self.files)
        return {one.name for one in there if one.is_file(follow_symlinks=False) and not one.name.startswith(".")}


class Folders(Server):
    """What stands in the folders, and all that ever stood there."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, bytes] = {}
        """The content of each file that was ever carried."""
        self.there: dict[str, None] = {}
        """Files that are to be brought to everybody."""
        self.removed: set[str] = set()

    def note(self, laptop: Laptop) -> None:
        """Note what is new in a folder, and what is gone from it."""
        names = laptop.list() - laptop.parts
        for name in sorted(names - laptop.seen):
            data = (laptop.files / name).read_bytes()
            self.kept[name] = data
            self.there[name] = None
            self.removed.discard(name)
            self.accepted += read_rows(data)
        for name in laptop.seen - names - laptop.parts:
            self.removed.add(name)
            self.there.pop(name, None)
        laptop.seen = names

    def bring(self, laptop: Laptop, most: int, chance: random.Random) -> None:
        """Bring some of what a folder lacks, in any order, and every removal."""
        for name in (laptop.list() & self.removed) | laptop.parts:
            (laptop.files / name).unlink(missing_ok=True)
        laptop.parts.clear()
        names = laptop.list()
        missing = [name for name in self.there if name not in names]
        laptop.files.mkdir(exist_ok=True)
        for name in chance.sample(missing, min(most, len(missing))):
            (laptop.files / name).write_bytes(self.kept[name])
        laptop.seen = laptop.list()

    def load_rows(self, laptop: Laptop) -> None:
        """Note the newest versions that a folder has."""
        rows = [row for name in sorted(laptop.list()) for row in read_rows((laptop.files / name).read_bytes())]
        self.rows = {row.uid: (1, row) for row in newest_rows(rows)}  # the last of a thing is the newest


class FolderPlayer(Player):
    """The machines of a history around shared folders."""

    sync = '"folder"'

    def __init__(self, history: History, home: Path) -> None:
        self.folders = Folders()
        self.chance = random.Random(history.seed)
        self.children = itertools.count()
        self.snapshots: list[frozenset[str]] = []
        self.sizes = theme_exchange.MOST_SMALL, theme_exchange.SEGMENT_ROWS
        theme_exchange.MOST_SMALL = self.chance.choice((1, 2, 32))
        theme_exchange.SEGMENT_ROWS = self.chance.choice((1, 3, 12, 2_000))
        super().__init__(history, home, server=self.folders)
        self.latest = 0
        """The latest time that a clock ever showed which was set back since."""
        laptops = self.laptops
        mark_folder(laptops[0].folder)
        for laptop in laptops[1:]:
            shutil.copy(laptops[0].folder / MARK, laptop.folder)

    def close(self) -> None:
        super().close()
        theme_exchange.MOST_SMALL, theme_exchange.SEGMENT_ROWS = self.sizes

    @property
    def laptops(self) -> list[Laptop]:
        """The machines."""
        return [one for one in self.members if isinstance(one, Laptop)]

    def join(self, path: Path, clock: HandClock, policies: Policies) -> Member:
        return Laptop(path, clock, policies)

    def exchange(self, laptop: Laptop) -> SyncOutcome:
        """What a bridge does when it looks into its folder."""
        outcome = laptop.sync()
        self.folders.note(laptop)
        self.snapshots.append(frozenset(laptop.seen))
        return outcome

    # Steps of any history.

    def push(self, member: Member, limit: int, acknowledged: bool) -> None:
        laptop = to_laptop(member)
        if acknowledged:
            self.exchange(laptop)
        else:
            self.kill(laptop, self.chance.choice(MOMENTS))

    def pull(self, member: Member, limit: int) -> None:
        laptop = to_laptop(member)
        self.folders.bring(laptop, limit, self.chance)
        self.exchange(laptop)

    def deliver_again(self, member: Member, picked: Sequence[int]) -> None:
        """What was removed comes back, as it was or under another name."""
        laptop = to_laptop(member)
        kept = list(self.folders.kept)
        laptop.files.mkdir(exist_ok=True)
        for number in picked if kept else ():
            name = kept[number % len(kept)]
            as_name = name if number % 3 else f"{name.removesuffix('.hms')} ({number}).hms"
            if not (laptop.files / as_name).exists():
                (laptop.files / as_name).write_bytes(self.folders.kept[name])
        self.exchange(laptop)

    def collect(self, member: Member) -> None:
        """Everybody exchanges everything; a folder collects nothing."""
        self.exchange_everything()

    # Steps of histories through folders alone.

    def kill(self, member: Member, moment: int) -> None:
        """Killed in the middle of an exchange."""
        self.in_child(to_laptop(member), moment, lambda: os.kill(os.getpid(), signal.SIGKILL))

    def vanish(self, member: Member, moment: int) -> None:
        """The folder is taken away in the middle of an exchange."""
        laptop = to_laptop(member)
        away = laptop.folder.with_suffix(".away")
        self.in_child(laptop, moment, partial(os.rename, laptop.folder, away))
        if away.exists():
            away.rename(laptop.folder)
        self.folders.note(laptop)

    def in_child(self, laptop: Laptop, moment: int, act: Callable[[], Any]) -> None:
        """Exchange in a process of its own, in which something happens at a moment."""
        laptop.store.close()
        noise = random.Random(f"{self.history.seed} {next(self.children)}")
        child = os.fork()
        if not child:
            os.urandom = noise.randbytes  # type: ignore[assignment]
            exchange_until(laptop, moment, act)
        _, status = os.waitpid(child, 0)
        laptop.store = laptop._open()
        hurry(laptop)
        laptop.begin()
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or status == 0, f"an exchange that was interrupted failed: {status}"
        self.folders.note(laptop)

    def half_copy(self, member: Member, number: int) -> None:
        """A file has begun to come."""
        laptop = to_laptop(member)
        missing = sorted(self.folders.there.keys() - laptop.list())
        if missing:
            name = missing[number % len(missing)]
            laptop.files.mkdir(exist_ok=True)
            data = self.folders.kept[name]
            (laptop.files / name).write_bytes(data[: number % max(1, len(data))])
            laptop.parts.add(name)
        self.exchange(laptop)

    def rename_file(self, member: Member, number: int) -> None:
        laptop = to_laptop(member)
        if names := sorted(laptop.seen):
            name = names[number % len(names)]
            (laptop.files / name).rename(laptop.files / f"{name.removesuffix('.hms')} (conflict {number}).hms")
        self.folders.note(laptop)

    def damage_file(self, member: Member, number: int) -> None:
        """A file is changed, and carried so."""
        names = sorted(name for name in self.folders.there if self.folders.kept[name])
        if not names:
            return
        name = names[number % len(names)]
        data = bytearray(self.folders.kept[name])
        if number % 2:
            del data[number % len(data) :]
        else:
            data[number % len(data)] ^= 1 + number % 255
        self.folders.kept[name] = bytes(data)
        for laptop in self.laptops:
            if (laptop.files / name).is_file() and name not in laptop.parts:
                (laptop.files / name).write_bytes(data)

    def plant(self, member: Member, kind: str, number: int) -> None:
        """Somebody puts something into the folder."""
        laptop = to_laptop(member)
        laptop.files.mkdir(exist_ok=True)
        name = SegmentName(f"{number:016x}", number, f"{number:016x}")
        path = laptop.files / str(name)
        if any(os.path.lexists(one.files / str(name)) for one in self.laptops):
            return  # a carrier that brings a file to where a folder of that name is would have to choose
        if kind == "link":
            path.symlink_to(laptop.path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.write_bytes(plant_bytes(kind, name, self.folders.kept))
        self.exchange(laptop)

    def restore_folder(self, member: Member, number: int) -> None:
        """An older copy of the folder takes its place."""
        laptop = to_laptop(member)
        if self.snapshots:
            shutil.rmtree(laptop.files, ignore_errors=True)
            laptop.files.mkdir()
            for name in self.snapshots[number % len(self.snapshots)]:
                (laptop.files / name).write_bytes(self.folders.kept[name])
            laptop.parts.clear()
        self.folders.note(laptop)

    def wipe_folder(self, member: Member) -> None:
        laptop = to_laptop(member)
        shutil.rmtree(laptop.files, ignore_errors=True)
        laptop.parts.clear()
        self.folders.note(laptop)

    def lose_notes(self, member: Member) -> None:
        """What the machine knows of the folder is gone."""
        laptop = to_laptop(member)
        for path in Path(laptop.paths.folder).glob("folder-*.json"):
            path.unlink()
        laptop.reopen()
        hurry(laptop)

    def skew(self, member: Member, by_ms: int) -> None:
        self.latest = max(self.latest, member.clock.now)
        member.clock.forward(by_ms // TICK_MS * TICK_MS)

    # What it comes to.

    def settle(self) -> None:
        """Everybody exchanges everything, when every clock is past all that was ever stamped."""
        latest = max(self.latest, *(laptop.clock.now for laptop in self.laptops)) // TICK_MS * TICK_MS + LATER_MS
        for number, laptop in enumerate(self.laptops):
            laptop.clock.now = latest + number
            laptop.reopen()
            hurry(laptop)
        self.exchange_everything()
        self.folders.load_rows(self.laptops[0])

    def exchange_everything(self) -> None:
        """Exchange until nothing moves any more."""
        for _ in range(MOST_ROUNDS):
            idle = True
            for laptop in self.laptops:
                self.folders.bring(laptop, len(self.folders.there), self.chance)
                before = laptop.list()
                idle = self.exchange(laptop).idle and laptop.list() == before and idle
            if idle and len({frozenset(laptop.list()) for laptop in self.laptops}) == 1:
                break
        else:
            raise AssertionError("the machines do not come to rest")

    def finish(self) -> None:
        """No segment holds what was purged, and all list the same conflicts."""
        checks.check_conflicts(self)
        gone = checks.erased_words(self)
        for name in self.laptops[0].list():
            said = str(read_rows((self.laptops[0].files / name).read_bytes()))
            left = {word for word in gone if word in said}
            assert not left, f"segment {name} still holds what was purged: {left}"


def exchange_until(laptop: Laptop, moment: int, act: Callable[[], Any]) -> None:
    """Exchange until something happens, in a child of the process; never return."""
    left = moment

    def count(event: str) -> None:
        nonlocal left
        if event in FILE_EVENTS:
            left -= 1
            if left == 0:
                act()

    code = 1
    try:
        laptop.store = laptop._open()
        hurry(laptop)
        laptop.begin()
        laptop.store.db.conn.set_trace_callback(lambda sql: count("open") if sql == "COMMIT" else None)
        sys.addaudithook(lambda event, _: count(event))
        laptop.sync()
        code = 0
    except TeamError:
        code = 0
    except BaseException:  # the parent is to hear of it, whatever it is
        traceback.print_exc()
    finally:
        os._exit(code)


def to_laptop(member: Member) -> Laptop:
    assert isinstance(member, Laptop)
    return member


def read_rows(data: bytes) -> list[SyncRow]:
    """The rows of a segment; none of what is none."""
    try:
        return open_segment(KEY, THEME, data)[1].rows
    except SegmentError:
        return []


def plant_bytes(kind: str, name: SegmentName, kept: dict[str, bytes]) -> bytes:
    """The content of a file that somebody plants."""
    rows = next((rows for data in kept.values() if (rows := read_rows(data))), [])
    if kind == "foreign":
        return seal_segment(FOREIGN, name, Segment(rows, []))
    if kind == "garbage":
        return seal_segment(KEY, name, Segment([], []))[:57] + bytes(40)
    if kind == "later version":
        return b"HMSEG\r\n\x02" + bytes(80)
    return b"hello" if kind == "text" else b""


def make_folder_history(seed: int) -> History:
    """The history of a seed, with what else goes wrong with folders between its exchanges."""
    history, chance = make_history(seed), random.Random(f"folder {seed}")
    steps: list[Step] = []
    for step in history.steps:
        steps.append(step)
        if chance.random() < TROUBLE * (4 if step.name in EXCHANGED else 1):
            (name,) = chance.choices(tuple(TROUBLES), [weight for weight, _ in TROUBLES.values()])
            steps.append(Step(chance.randrange(history.machines), name, TROUBLES[name][1](chance)))
    return replace(history, steps=tuple(steps))


TROUBLE = 0.08
"""How often something goes wrong after a step; four times as often after an exchange."""

EXCHANGED = ("push", "pull", "deliver_again")

TROUBLES: dict[str, tuple[int, Callable[[random.Random], tuple[Any, ...]]]] = {
    "kill": (6, lambda chance: (chance.choice(MOMENTS),)),
    "vanish": (1, lambda chance: (chance.choice(MOMENTS),)),
    "half_copy": (3, lambda chance: (pick(chance),)),
    "rename_file": (2, lambda chance: (pick(chance),)),
    "damage_file": (2, lambda chance: (pick(chance),)),
    "plant": (3, lambda chance: (chance.choice(PLANTS), pick(chance))),
    "restore_folder": (2, lambda chance: (pick(chance),)),
    "wipe_folder": (1, lambda chance: ()),
    "lose_notes": (1, lambda chance: ()),
    "skew": (2, lambda chance: (chance.choice(SKEWS_MS),)),
}
