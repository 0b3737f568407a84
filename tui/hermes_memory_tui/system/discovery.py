"""Discovery on this machine: older store files, host memory, and hosts to connect."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hermes_memory_bridge.connect.host_entries import find_bridge_entry, find_own_command
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_store.database import driver
from hermes_memory_store.errors import StoreError
from hermes_memory_store.host_files import eviction_archive, memory_files
from hermes_memory_store.system.filesystem import default_store_path
from hermes_memory_store.upkeep import hermes_030_file

CONNECT_S = 20.0
"""How long changing a host's file may take."""

MOST_FILES = 200
"""Database files that are looked into at most."""


@dataclass(frozen=True, slots=True)
class DiscoveredSource:
    """A discovered source, and what can be done with it next."""

    kind: str
    """`old`, `files`, `archive` or `host`."""
    name: str
    title: str
    state: str
    path: Path
    done: bool = False
    """Whether nothing is left to do."""


def discover_sources(store: Path) -> list[DiscoveredSource]:
    """Discover all sources, most important first. Writes nothing."""
    home = memory_files.hermes_home()
    return [*find_old_stores(home, store), *find_host_files(home), *find_hosts()]


def find_old_stores(home: Path, store: Path) -> Iterator[DiscoveredSource]:
    """Find files of hermes-memory 0.3.0 in the host's folder and its profiles."""
    folders = [home, Path.home() / ".hermes", *sorted((Path.home() / ".hermes" / "profiles").glob("*"))]
    seen: set[Path] = {store.resolve()}
    for folder in folders:
        for path in sorted(folder.glob("*.db"))[:MOST_FILES]:
            if path.resolve() not in seen:
                seen.add(path.resolve())
                if is_old_store(path):
                    yield DiscoveredSource("old", path.name, "hermes-memory 0.3.0", "upgradable (keeps a backup)", path)


def is_old_store(path: Path) -> bool:
    """Check whether a file is a hermes-memory 0.3.0 store; False also when it cannot be read."""
    try:
        conn = driver.connect(f"{path.resolve().as_uri()}?mode=ro", driver.Connection, timeout=0.2)
        try:
            return hermes_030_file.is_hermes_030(conn)
        finally:
            conn.close()
    except driver.Error:
        return False


def find_host_files(home: Path) -> Iterator[DiscoveredSource]:
    """Find MEMORY.md, USER.md and ARCHIVE.jsonl of the profile."""
    try:
        for pressure in memory_files.file_pressures(home):
            if pressure.file.path.exists():
                state = f"{pressure.pct:.0f}% full, {pressure.tokens} tokens per turn"
                yield DiscoveredSource("files", pressure.file.path.name, "host memory", state, pressure.file.path)
        lost = eviction_archive.load_evicted_entries(home)
    except StoreError as error:
        yield DiscoveredSource("files", "memories", "host memory", str(error), home / "memories", True)
        return
    archive = eviction_archive.find_archive_file(home)
    if archive is not None and lost:
        yield DiscoveredSource(
            "archive",
            archive.name,
            "evicted by the host",
            f"{len(lost)} {'entry' if len(lost) == 1 else 'entries'} can be imported",
            archive,
        )


def find_hosts() -> Iterator[DiscoveredSource]:
    place = HostEnvironment(Path.home(), sys.platform, dict(os.environ))
    for host in HOSTS.values():
        file = host.file(place)
        if file.exists() or file.parent.exists():
            is_connected = find_bridge_entry(host, file) is not None
            state = "connected" if is_connected else "not connected"
            yield DiscoveredSource("host", host.name, host.title, state, file, is_connected)


def connect_discovered_host(host: str, store: Path, *, dry_run: bool) -> tuple[bool, str]:
    """Add the bridge to a host's configuration, as `hermes-memory-bridge connect` does.

    Return whether it succeeded, and its output.
    """
    options = [] if store.absolute() == default_store_path().absolute() else ["--db", str(store)]
    command = [*find_own_command(), "connect", host, *options, "--dry-run" if dry_run else "--yes"]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    return run.returncode == 0, (run.stdout if run.returncode == 0 else run.stderr or run.stdout).strip()
