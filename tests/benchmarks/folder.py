"""Exchange through a shared folder: a whole theme to a second machine, a change's way there, and words that must leave no trace.

python -m tests.benchmarks.folder [--facts 100000] [--rounds 3] [--words 10000]

Needs the extras `folder`, `team` and `team-dev`. The floor of the first part is the first pull of the same theme from a team
database, in the same run: rows alone, as they come from the carrier, and taken into an empty store on the disk. The last part
writes random words into facts, targets, scopes and turns, edits and purges, and looks for them in the files of the folder,
sealed and opened with the key.
"""

from __future__ import annotations

import argparse
import random
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from hermes_memory_bridge.team.database.dev_server import DevServer
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.folder.folder_keys import FolderKeys, new_theme_key
from hermes_memory_bridge.team.folder.folder_run import FolderRun
from hermes_memory_bridge.team.folder.segment import ThemeKey, decrypt_payload
from hermes_memory_bridge.team.folder.shared_folder import SharedFolder, mark_folder
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.benchmarks.team import WORDS, pulled
from tests.benchmarks.timing import table
from tests.bridge.team.folder.test_folder_commands import set_up
from tests.bridge.team.machines import THEME as SHARED
from tests.bridge.team.machines import team

THEME = "customers-of-acme"

NAME, AUTHOR = THEME.encode(), b"laptop-of-ann"
"""What a carrier must not learn."""

AT_A_TIME = 500
"""Words that stand in the folder at once."""

POLICY = f"[themes.{THEME}]\nsync = %s\nsync_turns = true\n"

AT_ONCE = 5_000
"""Facts of one import."""


class Laptop:
    """A store with a folder, in this process."""

    def __init__(self, home: Path, folder: Path, key: ThemeKey, carrier: str = '"folder"') -> None:
        home.mkdir()
        (home / "memory-themes.toml").write_text(POLICY % carrier, encoding="utf-8")
        self.store = Store.open(home / "memory.db", policies=Policies.load(home / "memory-themes.toml"))
        paths = BridgePaths.of(home / "memory.db")
        paths.make_folder()
        keys = FolderKeys(paths)
        keys.hold(THEME, key)
        self.folder = folder
        self.run = FolderRun(self.store, keys, Path(paths.folder), on_progress=lambda: None, author=AUTHOR.decode())

    def sync(self) -> None:
        """As `sync now` does."""
        self.run.expire_backoffs()
        self.run.run(SharedFolder(self.folder))


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and by the processor."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def first_exchange(dsn: str, facts: int, rounds: int) -> None:
    """A theme from one machine to an empty one, through a folder and through a database, taking turns."""
    chance = random.Random(7)
    lines: list[Any] = [(f"V[a{n}.b]: {' '.join(chance.choices(WORDS, k=10))}", f"s{n % 50}") for n in range(facts)]
    found: dict[str, list[tuple[float, float]]] = {}
    migrate_team_schema(dsn)
    with tempfile.TemporaryDirectory() as home, TeamServer(dsn) as server:
        at, key = Path(home), new_theme_key()
        (at / "folder").mkdir()
        mark_folder(at / "folder")
        here, sender = (
            Laptop(at / "here", at / "folder", key),
            Laptop(at / "sender", at / "folder", key, "true"),
        )
        for one in (here, sender):
            for start in range(0, facts, AT_ONCE):
                one.store.facts.write_many(THEME, lines[start : start + AT_ONCE], actor=PERSON)
        found["written, folder"] = [timed(here.sync)]
        found["pushed, database"] = [timed(lambda: SyncRun(sender.store).run(server))]
        size = sum(path.stat().st_size for path in (at / "folder").rglob("*.hms"))
        for n in range(rounds):
            there = Laptop(at / f"there{n}", at / "folder", key)
            taker = Laptop(at / f"taker{n}", at / "folder", key, "true")
            exchange = here.run.exchange_of(THEME)
            for name, work in (
                ("rows alone, database", lambda: pulled(server, THEME)),
                ("rows alone, folder", lambda exchange=exchange: sum(len(one.rows) for one in exchange.read_all())),
                ("first pull, database", lambda taker=taker: SyncRun(taker.store).run(server)),
                ("first pull, folder", there.sync),
            ):
                found.setdefault(name, []).append(timed(work))
            for one in (there, taker):
                assert one.store.db.value("SELECT count(*) FROM facts") == facts
                one.store.close()
        for one in (here, sender):
            one.store.close()
    middle = {name: [statistics.median(times) for times in zip(*taken, strict=True)] for name, taken in found.items()}
    floors = {name: middle[name.replace("folder", "database").replace("written", "pushed")] for name in middle}
    table(
        ("way", "facts/s", "of the database", "by the processor's time"),
        [
            (name, round(facts / wall), floors[name][0] / wall, floors[name][1] / used)
            for name, (wall, used) in middle.items()
        ],
    )
    print(f"\n{facts:,} facts are {size / 2**20:.1f} MiB in the folder")


def changes(count: int, idle_s: float) -> None:
    """A change's way between two bridges that look into one folder, from when its file is there, and what looking costs."""
    with tempfile.TemporaryDirectory() as home, team(Path(home), None, None) as (here, there):
        folder = Path(home) / "shared"
        set_up(here, there, folder)
        here.start()
        there.start()
        while not (here.at_rest() and there.at_rest()):
            time.sleep(0.1)
        carried, whole = [], []
        with here.store() as store, there.store() as other:
            for n in range(count):
                before = set(folder.rglob("*.hms"))
                content = f"port {n} of the day"
                began = time.perf_counter()
                store.facts.write(SHARED, f"V[p{n}]: {content}")
                while set(folder.rglob("*.hms")) <= before:
                    time.sleep(0.005)
                came = time.perf_counter()
                while not other.db.value("SELECT 1 FROM facts WHERE content = ?", (content,)):
                    time.sleep(0.005)
                carried.append(time.perf_counter() - came)
                whole.append(time.perf_counter() - began)
        assert here.process is not None
        process = psutil.Process(here.process.pid)
        time.sleep(3)
        used = sum(process.cpu_times()[:2])
        time.sleep(idle_s)
        used = sum(process.cpu_times()[:2]) - used
    print()
    table(
        ("machines", "median", "slowest"),
        [
            ("a change, once its file is there, s", statistics.median(carried), max(carried)),
            ("a change, once it was written, s", statistics.median(whole), max(whole)),
            ("idle CPU of a bridge, %", 100 * used / idle_s, ""),
        ],
    )


def canaries(count: int) -> None:
    """Random words through every place where they may stand, and all of them purged."""
    words = [secrets.token_hex(10) for _ in range(count)]
    with tempfile.TemporaryDirectory() as home:
        found = count_canaries(Path(home), words)
    print()
    table((f"{count:,} random words", "found"), list(found.items()))


def count_canaries(at: Path, words: list[str]) -> dict[str, int]:
    """Write words into contents, edits, targets, scopes and turns, and purge them; where how many of them are found.

    A scope's label is no part of a fact and stays when its facts are purged: it is not looked for with the key.
    """
    key = new_theme_key()
    (at / "folder").mkdir()
    mark_folder(at / "folder")
    here, there = Laptop(at / "here", at / "folder", key), Laptop(at / "there", at / "folder", key)
    carried: set[bytes] = set()
    kept = here.store.facts.write(THEME, "V[port]: 8080 stays").fact.uid
    for part in range(0, len(words), AT_A_TIME):
        some = words[part : part + AT_A_TIME]
        uids = []
        for n, word in enumerate(some):
            line = f"V[t{n}]: says w{word}" if n % 2 else f"V[w{word}]: has a target"
            uids.append(str(here.store.facts.write(THEME, line, scope=f"s{word}" if n % 5 == 0 else None).fact.uid))
            if n % 3 == 0:
                here.store.turns.add(THEME, "user", f"somebody said w{word}")
        here.sync(), there.sync()
        for uid, word in zip(uids, reversed(some), strict=True):
            there.store.facts.edit(uid, f"edited to w{word}")
        there.sync(), here.sync()
        carried.add(read_folder(at / "folder"))
        (here if part % (2 * AT_A_TIME) else there).store.purge.erase(uids)
        here.store.turns.erase(THEME)
        for _ in range(2):
            here.sync(), there.sync()
        carried.add(read_folder(at / "folder"))
    assert here.store.facts.get(kept).content == there.store.facts.get(kept).content == "8080 stays"
    here.store.close(), there.store.close()
    opened = b"".join(decrypt_payload(key, path.read_bytes())[1] for path in (at / "folder").rglob("*.hms"))
    assert b"8080 stays" in opened
    sealed = b"".join(carried)
    return {
        "in all that the carrier ever held": sum(word.encode() in sealed for word in words),
        "purged, in what it holds, opened with the key": sum(b"w" + word.encode() in opened for word in words),
        "names of the theme and its machines, in all that it ever held": sum(name in sealed for name in (NAME, AUTHOR)),
    }


def read_folder(folder: Path) -> bytes:
    """All bytes that the carrier holds, names included."""
    return b"\n".join(str(path).encode() + path.read_bytes() for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--idle", type=float, default=30.0, help="seconds to look at an idle bridge")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hm-pg-") as folder:
        postgres = DevServer(Path(folder))
        try:
            first_exchange(postgres.dsn, options.facts, options.rounds)
        finally:
            postgres.stop()
    changes(20, options.idle)
    canaries(options.words)


if __name__ == "__main__":
    main()
