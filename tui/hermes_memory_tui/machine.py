"""What is on this machine that a new memory could begin with: older files, a host's own memory, hosts to connect."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.connect.command import connected, own_command
from hermes_memory_bridge.connect.hosts import HOSTS, Place
from hermes_memory_store import evicted, hermes_file, memory_files
from hermes_memory_store.errors import StoreError

CONNECT_S = 20.0
"""How long changing a host's file may take."""

MOST_FILES = 200
"""Database files that are looked into at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, and what could be done with it next."""

    kind: str
    """`old`, `files`, `archive` or `host`."""
    name: str
    title: str
    state: str
    path: Path
    done: bool = False
    """Whether nothing is left to do."""


def findings(store: Path) -> list[Finding]:
    """Everything, what matters most first. Writes nothing."""
    home = memory_files.hermes_home()
    return [*old_files(home, store), *host_files(home), *hosts()]


def old_files(home: Path, store: Path) -> Iterator[Finding]:
    """Files of hermes-memory 0.3.0 in the host's folder and its profiles."""
    folders = [home, Path.home() / ".hermes", *sorted((Path.home() / ".hermes" / "profiles").glob("*"))]
    seen: set[Path] = {store.resolve()}
    for folder in folders:
        for path in sorted(folder.glob("*.db"))[:MOST_FILES]:
            if path.resolve() not in seen:
                seen.add(path.resolve())
                if is_old(path):
                    yield Finding("old", path.name, "hermes-memory 0.3.0", "can be upgraded, a backup beside it", path)


def is_old(path: Path) -> bool:
    """Whether a file is a memory of hermes-memory 0.3.0; False too when it cannot be read."""
    try:
        conn = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0.2)
        try:
            return hermes_file.recognise(conn)
        finally:
            conn.close()
    except sqlite3.Error:
        return False


def host_files(home: Path) -> Iterator[Finding]:
    """MEMORY.md, USER.md and ARCHIVE.jsonl of the profile."""
    try:
        for one in memory_files.pressure(home):
            if one.file.path.exists():
                state = f"{one.pct:.0f}% full, {one.tokens} tokens in every turn"
                yield Finding("files", one.file.path.name, "the host's own memory", state, one.file.path)
        lost = evicted.entries(home)
    except StoreError as error:
        yield Finding("files", "memories", "the host's own memory", str(error), home / "memories", True)
        return
    archive = evicted.archive(home)
    if archive is not None and lost:
        yield Finding("archive", archive.name, "evicted by the host", f"{len(lost)} entries can be rescued", archive)


def hosts() -> Iterator[Finding]:
    """Hosts that are installed, and whether each knows the bridge."""
    place = Place(Path.home(), sys.platform, dict(os.environ))
    for host in HOSTS.values():
        file = host.file(place)
        if file.exists() or file.parent.exists():
            known = connected(host, file) is not None
            state = "connected" if known else "does not know this memory yet"
            yield Finding("host", host.name, host.title, state, file, known)


def connecting(host: str, store: Path, *, dry_run: bool) -> tuple[bool, str]:
    """Name the bridge in a host's file, as `hermes-memory-bridge connect` does; whether that went well, and what it said."""
    command = [*own_command(), "connect", host, "--db", str(store), "--dry-run" if dry_run else "--yes"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return done.returncode == 0, (done.stdout if done.returncode == 0 else done.stderr or done.stdout).strip()
