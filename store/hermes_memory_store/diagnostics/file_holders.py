"""Find the processes of this user that have a store's file open."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int
    program: str
    """What it was started as, shortened to what a person recognises."""
    started_at: int
    """UTC milliseconds."""


def find_holders(path: Path) -> list[Holder]:
    """Return the processes with the file open, this one included, oldest first."""
    import psutil  # here, not above: one view asks, and a start need not pay for it

    place = os.path.realpath(path)
    holders = []
    for process in psutil.process_iter():
        try:
            if any(file.path == place for file in process.open_files()):
                started_at = round(process.create_time() * 1000)
                holders.append(Holder(process.pid, program_name(process.cmdline()), started_at))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # it ended meanwhile, or belongs to somebody else
    return sorted(holders, key=lambda file: (file.started_at, file.pid))


def program_name(command: Sequence[str]) -> str:
    """Return what a process runs: its script or module rather than the interpreter."""
    words = [word for word in command if word]
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
