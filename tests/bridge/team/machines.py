"""Machines of a team: each a home of its own with a store, and a bridge that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.team.dsn import VARIABLE
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.store import Store
from tests.bridge.bridge_forks import fork_bridge
from tests.bridge.running import run_command, until
from tests.processes import PATIENCE_S

THEME = "ours"

POLICY = f"[themes.{THEME}]\nsync = true\nsync_turns = true\n"


class Machine:
    """One machine."""

    def __init__(self, home: Path, dsn: str | None) -> None:
        home.mkdir(exist_ok=True)
        (home / "memory-themes.toml").write_text(POLICY, encoding="utf-8")
        self.home = home
        self.db = home / "memory.db"
        self.places = BridgePaths.of(self.db)
        self.dsn = dsn
        self.process: BaseProcess | None = None

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != VARIABLE}
        named = {VARIABLE: self.dsn} if self.dsn is not None else {}
        return kept | named | {"HOME": str(self.home), "HERMES_HOME": str(self.home), "HERMES_MEMORY_SECRETS": "file"}

    def start(self) -> None:
        """Start the bridge."""
        self.process = fork_bridge(["serve", "--db", str(self.db)], self.environment)
        until(lambda: ask_bridge(self.places, "status"), "the bridge", 120)

    def kill(self) -> None:
        """As a power cut ends it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """As a person ends it."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        if self.process is not None:
            assert self.process.pid is not None
            os.kill(self.process.pid, how)
            self.process.join(PATIENCE_S)
            assert not self.process.is_alive(), "the bridge did not end"
            self.process.close()
            self.process = None

    def command(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command of the bridge, on this machine and within this process."""
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(VARIABLE, raising=False)
            return run_command(*words, "--db", str(self.db), typed=given, **self.environment)

    def run_program(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command in a process of its own, which finds the keyring by its own environment."""
        command = [sys.executable, "-m", "hermes_memory_bridge", *words, "--db", str(self.db)]
        return subprocess.run(command, env=self.environment, input=given, capture_output=True, text=True)

    def status(self) -> dict[str, Any]:
        """What `sync status` says."""
        return ask_bridge(self.places, "sync", action="status") or {}

    def store(self) -> Store:
        """Its store, for this process."""
        return Store.open(self.db, lock_timeout_s=30)

    def write(self, notation: str) -> str:
        """Write a fact, as an agent does; its uid once it is on the disk."""
        with self.store() as store:
            return str(store.facts.write(THEME, notation).fact.uid)

    def contents(self) -> set[str]:
        """What stands."""
        with self.store() as store:
            return {
                row[0] for row in store.db.rows("SELECT content FROM facts WHERE tier IN ('hot', 'cold', 'archived')")
            }

    def heard(self) -> list[str]:
        """What was said."""
        with self.store() as store:
            return sorted(turn.content for turn in store.turns.list(THEME, limit=10_000))

    def digest(self) -> str:
        """Digest of the theme: its facts, and what was said."""
        with self.store() as store:
            return f"{store.sync.standing.digest(THEME)} {hash(tuple(self.heard()))}"

    def at_rest(self) -> bool:
        """Whether it has nothing to send or to fetch, and no row it was refused."""
        status = self.status()
        themes = status.get("themes") or [{}]
        return status.get("state") == "idle" and all(
            one.get("waiting") == one.get("behind") == one.get("turns") == 0 for one in themes
        )


@contextmanager
def team(folder: Path, *dsns: str | None) -> Iterator[list[Machine]]:
    """As many machines as there are DSNs."""
    machines = [Machine(folder / f"machine{n}", dsn) for n, dsn in enumerate(dsns)]
    try:
        yield machines
    finally:
        for machine in machines:
            machine.kill()
