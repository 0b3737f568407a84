"""Torture a folder: does a store that lies there keep what it acknowledged?

Real processes write to stores of their own in a temporary folder: nothing else is written, and it is removed.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hermes_memory_store import errors
from hermes_memory_store.database.store_reading import file_size
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.model import Check, FactFilter, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.system import filesystem
from hermes_memory_store.system.own_process import to_isolated_environment

MOST_BYTES = 200 * 1024 * 1024
"""What all tries together may take of the disk."""

FILE_LIMIT = 2 * 1024 * 1024
"""Bytes of one file at which the try with a full disk finds no more room."""

SECTOR = 512
"""Bytes that a disk writes whole."""

WRITERS = 4

CHANCE = random.SystemRandom()

PATIENCE_S = 60.0
"""How long a child may take to say its first word on a busy machine."""

WRITER = """
import resource, sys
from hermes_memory_store import errors
from hermes_memory_store.store import Store
db, who, limit, is_asked = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "asked"
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
store, number, full = Store.open(db), 0, False
print("ready", flush=True)
while not full and (not is_asked or sys.stdin.readline()):
    number += 1
    line = f"V[{who}.{number}]: value {number} of {who} " + "x" * (number % 90)
    try:
        uid = store.facts.write("torture", line, scope=f"scope-{number % 3}").fact.uid
    except errors.DiskFull:
        full = True
        print("full", flush=True)
    else:
        print(uid, flush=True)
"""
"""Writes facts and says each as soon as it is acknowledged."""


Attempted = tuple[str, str, str]
"""What went wrong, empty where nothing did; what was done; and what holds for this folder then, and what does not follow."""


class TortureResult(NamedTuple):
    check: Check
    proves: str
    """What holds for this folder now, and what does not follow."""


class WriterProcess(subprocess.Popen[bytes]):
    """A process that writes to a store and reports acknowledged facts in a file; killed when the block ends."""

    def __init__(self, db: Path, name: str, *, limit: int = 0, is_asked: bool = False) -> None:
        """Start it.

        :param limit: bytes that none of its files may exceed; 0 for no limit
        :param is_asked: whether it writes only when it is asked to
        """
        self._output = db.with_name(name)
        with self._output.open("wb") as output:
            super().__init__(
                [sys.executable, "-P", "-c", WRITER, str(db), name, str(limit), "asked" if is_asked else "free"],
                stdin=subprocess.PIPE,
                stdout=output,
                env=to_isolated_environment(),
                cwd=db.parent,
                start_new_session=True,
                bufsize=0,
            )

    def __exit__(self, *error: Any) -> None:
        self.kill()
        super().__exit__(*error)

    @property
    def words(self) -> list[str]:
        return self._output.read_text().split("\n")[:-1]

    @property
    def acknowledged(self) -> set[str]:
        """The uids of the facts it was told are written."""
        return {word for word in self.words if len(word) == 36}

    def wait_for(self, count: int, seconds: float = PATIENCE_S) -> None:
        """Wait for so many words, the end of the process or of the time. :raises BrokenPipeError: it printed none"""
        deadline = time.monotonic() + seconds
        while len(self.words) < count and time.monotonic() < deadline and self.poll() is None:
            time.sleep(0.002)
        if not self.words:
            raise BrokenPipeError

    def ask(self) -> None:
        """Ask for one write. :raises BrokenPipeError: it has ended"""
        assert self.stdin is not None
        self.stdin.write(b"\n")


def torture_folder(
    folder: Path, store: Path, *, seconds: float = 60.0, progress: Callable[[str], None] | None = None
) -> list[TortureResult]:
    """Try a folder.

    :param store: the store of the person, whose folder is refused
    :param seconds: for all tries together, roughly: a try that has begun is finished
    :raises ArgumentError: it is no folder that may be tried; nothing was written then
    """
    refuse_folder(folder, store)
    results = []
    with tempfile.TemporaryDirectory(prefix=".hermes-memory-torture-", dir=folder) as made:
        for name, attempt in ATTEMPTS.items():
            if progress is not None:
                progress(name)
            place = Path(made) / name.replace(" ", "-")
            place.mkdir()
            try:
                problem, detail, proves = attempt(place, seconds / (len(ATTEMPTS) - 1))
                proves = "nothing: it failed" if problem else proves
            except BrokenPipeError:
                problem = "a process that writes did not start, or was ended from outside; its standard error says why"
                detail, proves = "", "nothing: it was not tried to the end"
            results.append(TortureResult(Check(name, not problem, problem or detail), proves))
            shutil.rmtree(place)
    return results


def refuse_folder(folder: Path, store: Path) -> None:
    """Check that a folder may be tried. :raises ArgumentError: it may not"""
    if not folder.is_dir():
        raise errors.ArgumentError(f"{folder} is no folder; name an existing one, in which nothing else lies", folder)
    real = folder.resolve()
    if real == store.expanduser().resolve().parent or any(map(is_store_file, real.iterdir())):
        raise errors.ArgumentError(f"{folder} is the folder of a memory; name another one on the same disk", folder)
    if not os.access(real, os.W_OK | os.X_OK):
        raise errors.ArgumentError(f"{folder} cannot be written; name a folder of your own", folder)
    if shutil.disk_usage(real).free < MOST_BYTES:
        raise errors.ArgumentError(f"the disk of {folder} has less than {MOST_BYTES >> 20} MiB left", folder)


def is_store_file(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            header = opened.read(72)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[68:72] == b"HMEM"


def try_kills(place: Path, seconds: float) -> Attempted:
    db, acknowledged, kills, end = place / "memory.db", set[str](), 0, time.monotonic() + seconds
    while kills == 0 or (time.monotonic() < end and folder_size(place) < MOST_BYTES // 4):
        with WriterProcess(db, f"round{kills}") as writer:
            writer.wait_for(1)
            writer.wait_for(CHANCE.randrange(2, 60))
        acknowledged |= writer.acknowledged
        kills += 1
    problem = find_losses(db, acknowledged)
    detail = (
        f"{kills} kills in the middle of writes, {len(acknowledged)} acknowledged facts, none lost, the store is whole"
    )
    return problem, detail, "a crash of a program loses nothing here; a crash of the whole system is another matter"


def try_power_cuts(place: Path, seconds: float) -> Attempted:
    """Cut off the power, as far as that can be played: of what was not synced yet, only some sectors have arrived.

    A writer stands still between two writes: all it has written so far is synced. It is asked for one more, stopped
    somewhere within it, and each sector that differs by then arrives, or does not, by chance. SQLite writes to the store
    itself only after the log is synced, so where the store differs, the log has arrived whole.
    """
    db, cuts, end = place / "memory.db", 0, time.monotonic() + seconds
    files = (db, db.with_name(db.name + "-wal"))
    with WriterProcess(db, "power", is_asked=True) as writer:
        writer.wait_for(1)
        while cuts == 0 or (time.monotonic() < end and folder_size(place) < MOST_BYTES // 8):
            for _ in range(CHANCE.randrange(1, 10)):
                count = len(writer.words)
                writer.ask()
                writer.wait_for(count + 1)
            acknowledged, synced = writer.acknowledged, [file.read_bytes() for file in files]
            writer.ask()
            time.sleep(CHANCE.uniform(0, 0.003))
            writer.send_signal(signal.SIGSTOP)
            os.waitpid(writer.pid, os.WUNTRACED)
            written = [file.read_bytes() for file in files]
            writer.send_signal(signal.SIGCONT)
            writer.wait_for(len(acknowledged) + 2)
            cut_db, cut_log = map(mix_sectors, synced, written, (CHANCE, CHANCE))
            is_log_synced = synced[0] != written[0]
            copy = place / f"cut-{cuts}"
            for file, content in zip(files, (cut_db, written[1] if is_log_synced else cut_log), strict=True):
                filesystem.create_private_file(copy / file.name)
                (copy / file.name).write_bytes(content)
            problem = find_losses(copy / db.name, acknowledged)
            shutil.rmtree(copy)
            cuts += 1
            if problem:
                return f"cut {cuts}: {problem}", "", ""
    return (
        "",
        f"{cuts} simulated cuts, up to {len(acknowledged)} acknowledged facts, none lost",
        "writes are in their files before they are acknowledged, and torn or reordered ones are recognised; whether the disk "
        "keeps what it says it has synced, only pulling its plug shows",
    )


def try_full_disk(place: Path, seconds: float) -> Attempted:
    db = place / "memory.db"
    with WriterProcess(db, "full", limit=FILE_LIMIT) as writer:
        writer.wait_for(1_000_000, max(seconds, PATIENCE_S))
    acknowledged, is_full = writer.acknowledged, "full" in writer.words
    problem = find_losses(db, acknowledged)
    if not problem and not is_full and writer.returncode not in (0, -signal.SIGKILL):
        problem = "the writer ended with another error"
    limit = f"at {FILE_LIMIT >> 20} MiB a file" if is_full else "the limit was not reached in time"
    return (
        problem,
        f"{limit}: {len(acknowledged)} acknowledged facts, none lost, and it can be written again",
        "a write that finds no room is refused whole; a quota or a full file system may answer later than this limit",
    )


def try_lock_storm(place: Path, seconds: float) -> Attempted:
    db, end = place / "memory.db", time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(WriterProcess(db, f"writer{n}")) for n in range(WRITERS)]
        for writer in writers:
            writer.wait_for(2)
        while time.monotonic() < end and folder_size(place) < MOST_BYTES // 4:
            time.sleep(0.1)
        ended = sum(writer.poll() is not None for writer in writers)
    counts = [len(writer.acknowledged) for writer in writers]
    if ended:
        problem = f"{ended} of {WRITERS} writers gave up"
    else:
        problem = find_losses(db, set[str]().union(*(writer.acknowledged for writer in writers)))
    if not problem and min(counts) == 0:
        problem = "one process never got the lock"
    return (
        problem,
        f"{WRITERS} processes at once, {min(counts)} to {max(counts)} acknowledged facts each, none lost",
        "file locks and shared memory work between processes of this machine; of other machines on a shared disk it says nothing",
    )


def check_file_system(place: Path, _: float) -> Attempted:
    kind = filesystem.filesystem_type(place) or "unknown"
    if kind in filesystem.NETWORK_TYPES:
        return f"{kind} is a network file system, where processes cannot be kept apart", "", ""
    if kind in ("tmpfs", "ramfs"):
        return "", kind, "it lies in memory: nothing survives a real power cut"
    return "", kind, "what the other tries say holds for it"


def find_losses(db: Path, acknowledged: set[str]) -> str:
    """Find what is wrong with a store after a try; empty when nothing is."""
    with Store.open(db, force=True) as store:
        everything = FactFilter(tiers=frozenset(Tier))
        lost = acknowledged - {fact.uid for fact in store.facts.by_ids(store.facts.ids(everything))}
        if lost:
            return f"{len(lost)} of {len(acknowledged)} acknowledged facts are lost"
        broken = [check for check in examine_store(store) if not check.ok]
        if broken:
            return f"{broken[0].name}: {broken[0].detail}"
        store.facts.write("torture", f"V[after]: {len(acknowledged)}")
    return ""


def mix_sectors(before: bytes, after: bytes, chance: random.Random) -> bytes:
    """Return a file of which only some of the changed sectors have arrived, in any order."""
    size = max(len(before), len(after))
    arrived = bytearray(before.ljust(size, b"\0"))
    for start in range(0, size, SECTOR):
        part = after[start : start + SECTOR]
        if part != before[start : start + SECTOR] and chance.random() < 0.5:
            arrived[start : start + len(part)] = part
    return bytes(arrived[: chance.choice((len(before), len(after)))] if len(after) > len(before) else arrived)


def folder_size(folder: Path) -> int:
    return sum(file_size(str(file)) for file in folder.rglob("*") if file.is_file())


ATTEMPTS: dict[str, Callable[[Path, float], Attempted]] = {
    "file system": check_file_system,
    "kill -9": try_kills,
    "power cut": try_power_cuts,
    "full disk": try_full_disk,
    "lock storm": try_lock_storm,
}
