"""`kill -9` of bridge, shims and clients at random moments, while sixteen agents write.

What was acknowledged is there, nothing is there twice, and nothing is left over. `$HERMES_MEMORY_KILLS` sets how many are
killed (100 takes two minutes).
"""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import psutil
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.memory.sessions import LEASE_MS
from hermes_memory_store.model import FactFilter, SessionStatus, Tier
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, until
from tests.processes import PATIENCE_S

KILLS = int(os.environ.get("HERMES_MEMORY_KILLS", "10"))

AGENTS = 16

BETWEEN_S = (0.05, 0.7)
"""Pauses between two kills, drawn at random: into starts, handshakes, writes and idle moments."""


class Agent(threading.Thread):
    """Writes facts and turns, each with words of its own, and makes a call again until it is acknowledged."""

    def __init__(self, db: Path, number: int, stop: threading.Event) -> None:
        super().__init__(name=f"agent {number}", daemon=True)
        self.db = db
        self.number = number
        self.stop_now = stop
        self.acknowledged: list[str] = []
        self.unsure: list[str] = []
        """Calls whose shim died before it said anything: they may or may not have been carried out, once at most."""
        self.shim: Shim | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            count = 0
            while not self.stop_now.is_set():
                count += 1
                self.write(f"a{self.number}n{count}")
            if self.shim is not None:
                self.shim.close()
        except BaseException as error:
            self.failure = error

    def write(self, word: str) -> None:
        """One write that nobody else makes."""
        for _ in range(60):
            try:
                shim = self.opened()
                if len(word) % 2:
                    answer = shim.call("memory_write", content=f"V[{word}]: value of {word}")
                else:
                    answer = shim.call("memory_turn", role="user", content=f"turn {word}")
            except (OSError, ValueError, AssertionError):
                # The shim was killed: its agent died, so nobody makes this call again.
                self.shim = None
                self.unsure.append(word)
                return
            if "error" not in answer:
                data = answer["result"]["structuredContent"]
                assert "error" not in data, data
                self.acknowledged.append(word)
                return
        raise AssertionError(f"{word} was never acknowledged")

    def opened(self) -> Shim:
        if self.shim is None:
            shim = Shim(self.db)
            self.shim = shim
            while "error" in shim.open():
                pass
        return self.shim


@pytest.mark.crash
def test_nothing_acknowledged_is_lost_and_nothing_is_stored_twice(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    Store.open(db).close()
    stop = threading.Event()
    agents = [Agent(db, number, stop) for number in range(AGENTS)]
    for agent in agents:
        agent.start()
    until(lambda: all(agent.acknowledged for agent in agents), "a first write of each agent")
    chance = random.Random(7)
    killed = {"bridge": 0, "shim": 0}
    for _ in range(KILLS):
        threading.Event().wait(chance.uniform(*BETWEEN_S))
        running = ask_bridge(BridgePaths.of(db), "status", 2.0)
        if running is not None and chance.random() < 0.5:
            os.kill(running["pid"], signal.SIGKILL)
            killed["bridge"] += 1
        else:
            shim = chance.choice(agents).shim
            if shim is not None:
                shim.process.kill()
                killed["shim"] += 1
    before = [len(agent.acknowledged) for agent in agents]
    until(
        lambda: sum(len(one.acknowledged) > count for one, count in zip(agents, before, strict=True)) > 12, "recovery"
    )
    stop.set()
    for agent in agents:
        agent.join(PATIENCE_S)
        assert agent.failure is None, agent.failure
    assert min(killed.values()) > 0

    # A bridge that was killed leaves sessions whose leases the next one waits out before it leaves by itself.
    until(
        lambda: not [one for one in psutil.process_iter(["cmdline"]) if str(db) in str(one.info["cmdline"])],
        "the end",
        patience_s=4 * LEASE_MS / 1000,
    )
    assert {file.name for file in Path(BridgePaths.of(db).folder).iterdir()} <= {"bridge.log", "lock", "bridge.log.1"}
    acknowledged = [word for agent in agents for word in agent.acknowledged]
    unsure = {word for agent in agents for word in agent.unsure}
    with Store.open(db) as store:
        everything = FactFilter(tiers=frozenset(Tier) - {Tier.WITHDRAWN})
        facts = [fact.target for fact in store.facts.by_ids(store.facts.ids(everything))]
        turns = [row[0].removeprefix("turn ") for row in store.db.rows("SELECT content FROM turns")]
        assert [check for check in examine_store(store) if not check.ok] == []
        statuses = {session.status for session in store.sessions.list()}
    stored = facts + turns
    assert len(stored) == len(set(stored)), "something was stored twice"
    assert set(acknowledged) - set(stored) == set(), "something acknowledged was lost"
    assert set(stored) - set(acknowledged) <= unsure
    assert statuses <= {
        SessionStatus.CLOSED,
        SessionStatus.STALE,
        SessionStatus.ORPHANED,
        SessionStatus.LIVE,
        SessionStatus.OPEN,
    }
