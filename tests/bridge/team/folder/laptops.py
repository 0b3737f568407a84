"""Laptops that share a folder: real stores and real files, with a carrier that copies, holds up and loses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from hermes_memory_bridge.team.folder.folder_keys import FolderKeys
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.segment import ThemeKey, open_segment
from hermes_memory_bridge.team.folder.shared_folder import SharedFolder, mark_folder
from hermes_memory_bridge.team.folder.theme_exchange import ThemeExchange
from hermes_memory_bridge.team.sync_outcome import SyncOutcome
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import system_clock
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

THEME = "ours"

POLICY = f'[themes.{THEME}]\nsync = "folder"\nsync_turns = true\n'

KEY = ThemeKey(bytes(range(32)))


class Laptop:
    """One machine: its store, and its copy of the folder or the folder itself."""

    def __init__(
        self, home: Path, folder: Path, *, theme: str = THEME, key: ThemeKey = KEY, name: str = "a laptop"
    ) -> None:
        home.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
        mark_folder(folder)
        self.home, self.folder, self.theme, self.name = home, folder, theme, name
        self.offset_ms = 0
        (home / "memory-themes.toml").write_text(POLICY.replace(THEME, theme), encoding="utf-8")
        self.paths = BridgePaths.of(home / "memory.db")
        self.paths.make_folder()
        self.keys = FolderKeys(self.paths)
        self.keys.hold(theme, key)
        self.open()

    def open(self) -> None:
        """Open the store, as a bridge that starts does."""
        policies = Policies.load(self.home / "memory-themes.toml")
        self.store = Store.open(self.home / "memory.db", policies=policies, clock=self.clock)
        notes = Path(self.paths.folder)
        self.run = FolderRun(self.store, self.keys, notes, on_progress=lambda: None, author=self.name)

    def clock(self) -> int:
        """Return the time by this machine's clock."""
        return system_clock() + self.offset_ms

    def restart(self) -> None:
        """End, and start again."""
        self.store.close()
        self.open()

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def sync(self) -> SyncOutcome:
        """Sync once, as `sync now` does."""
        self.run.expire_backoffs()
        return self.look()

    def look(self) -> SyncOutcome:
        """Sync once, as a bridge does when it looks into the folder."""
        return self.run.run(SharedFolder(self.folder))

    @property
    def exchange(self) -> ThemeExchange:
        """What it knows of the folder."""
        return self.run.exchange_of(self.theme)

    def write(self, notation: str) -> str:
        """Write a fact; return its uid."""
        return str(self.store.facts.write(self.theme, notation).fact.uid)

    def contents(self) -> list[str]:
        """Return what stands."""
        rows = self.store.db.rows("SELECT content FROM facts WHERE tier IN ('hot', 'cold', 'archived')")
        return sorted(content for (content,) in rows)

    def heard(self) -> list[str]:
        """Return what was said."""
        return sorted(turn.content for turn in self.store.turns.list(self.theme, limit=10_000))

    def digest(self) -> tuple[str, list[str], list[str]]:
        """Return what two machines that agree have in common."""
        return self.store.sync.standing.digest(self.theme), self.contents(), self.heard()

    def files(self, key: ThemeKey = KEY) -> list[Path]:
        """Return the segments in its folder."""
        return sorted((self.folder / key.tag).glob("*.hms"))


Maker = Callable[..., Laptop]


def settle(*laptops: Laptop) -> None:
    """Sync until nothing moves."""
    for _ in range(8):
        done = [laptop.sync() for laptop in laptops]
        if all(one.idle for one in done):
            break
    else:
        raise AssertionError("the exchange does not come to rest")
    assert len({str(laptop.digest()) for laptop in laptops}) == 1


def words_in(laptop: Laptop) -> str:
    """Return all that whoever has the key reads in the folder."""
    found = [open_segment(KEY, THEME, path.read_bytes())[1] for path in laptop.files()]
    return str([(one.rows, one.turns) for one in found])


def carry(*folders: Path) -> None:
    """Carry new files and removals to all of these folders, as a carrier does that never changes a file."""
    gone: set[str] = set()
    there: dict[str, Path] = {}
    for folder in folders:
        seen, removed = read_notes(folder)
        present = list_files(folder)
        gone |= removed | (seen - present)
        there |= {name: folder / name for name in present}
    for folder in folders:
        for name in list_files(folder) & gone:
            (folder / name).unlink()
        for name in there.keys() - gone - list_files(folder):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(there[name], folder / name)
        notes = {"seen": sorted(list_files(folder)), "removed": sorted(gone)}
        (folder / ".carrier").write_text(json.dumps(notes))


def read_notes(folder: Path) -> tuple[set[str], set[str]]:
    """Return which files a carrier saw last in a folder, and which were removed anywhere."""
    try:
        notes = json.loads((folder / ".carrier").read_text())
    except FileNotFoundError:
        return set(), set()
    return set(notes["seen"]), set(notes["removed"])


def list_files(folder: Path) -> set[str]:
    """Return the names of the files that are carried."""
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")
    }
