"""Who holds a store: every process of this user that has its file open."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

ANSWER_S = 5.0
"""How long `lsof` may take, on systems without /proc."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One process."""

    pid: int
    program: str
    """What it was started as, shortened to what a person recognises."""
    started_at: int
    """UTC milliseconds; 0 when the system does not say."""


def holders(path: Path) -> list[Holder]:
    """The processes that have the file open, this one included, oldest first. Empty when the system does not tell."""
    place = Path(os.path.realpath(path))
    pids = by_proc(place) if Path("/proc/self/fd").exists() else by_lsof(place)
    return sorted(
        (Holder(pid, program(pid), started_at(pid)) for pid in pids), key=lambda one: (one.started_at, one.pid)
    )


def by_proc(place: Path) -> set[int]:
    """As Linux tells it."""
    found = set()
    wanted = str(place)
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended meanwhile, or belongs to somebody else
            if any(str(entry.readlink()) == wanted for entry in (folder / "fd").iterdir()):
                found.add(int(folder.name))
    return found


def by_lsof(place: Path) -> set[int]:
    """As `lsof` tells it."""
    lsof = shutil.which("lsof")
    if lsof is None:
        return set()
    try:
        said = subprocess.run([lsof, "-F", "p", "--", str(place)], capture_output=True, text=True, timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        return set()
    return {int(line[1:]) for line in said.stdout.splitlines() if line.startswith("p")}


def program(pid: int) -> str:
    """What a process runs: its script or module rather than the interpreter."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        words = asked(pid, "command").split()
    words = [word for word in words if word]
    if not words:
        return "?"
    name = Path(words[0]).name
    if not name.startswith("python"):
        return name
    options = list(itertools.takewhile(lambda word: word.startswith("-"), words[1:]))
    if "-c" in options:
        return f"{name} -c"
    rest = [word for word in words[1:] if not word.startswith("-") or word == "-m"]
    if rest[:1] == ["-m"] and len(rest) > 1:
        return rest[1]
    return Path(rest[0]).name if rest and rest[0] != "-m" else name


def started_at(pid: int) -> int:
    """When a process began, UTC milliseconds; 0 when the system does not say."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        boot = time.time() - float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return int(1000 * (boot + ticks / os.sysconf("SC_CLK_TCK")))


def asked(pid: int, what: str) -> str:
    """What `ps` says of a process."""
    ps = shutil.which("ps")
    if ps is None:
        return ""
    return subprocess.run([ps, "-o", f"{what}=", "-p", str(pid)], capture_output=True, text=True).stdout.strip()
