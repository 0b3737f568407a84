"""A bridge that is killed: what it acknowledged is kept, once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.store import Store
from tests.bridge.bridge_forks import fork_bridge
from tests.bridge.hook_service.hook_line import allow_capture, send_event
from tests.bridge.running import bridge, environment, until

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("rounds", [12])
def test_every_acknowledged_message_is_kept_once_though_the_bridge_is_killed(db: Path, rounds: int) -> None:
    allow_capture(db, "claude-code")
    places = BridgePaths.of(db)
    acknowledged: list[str] = []
    for number in range(rounds):
        process = fork_bridge(["serve", "--db", str(db)], environment(db.parent), None)
        until(lambda: ask_bridge(places, "status"), "the bridge")
        for message in range(4):
            text = f"round {number} message {message}"
            event = "turn" if message % 2 else "prompt"
            send_event(places, event, text=text, turn=text, capture=True)
            acknowledged.append(text)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
    with bridge(db):
        until(lambda: not waiting_records.list_waiting(str(db)), "what waited")
    with Store.open(db) as store:
        kept = [turn.content for turn in store.turns.list("default", limit=1000)]
    assert sorted(kept) == sorted(acknowledged)
