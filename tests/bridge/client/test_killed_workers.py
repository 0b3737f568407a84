"""A worker that dies without a word: its session is orphaned by its own lease and policy, whoever else is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hermes_memory_bridge.client import MemoryClient
from hermes_memory_bridge.client.mcp_messages import to_request_headers, to_tool_request
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import Rights, SessionStatus
from hermes_memory_store.store import Store
from tests.bridge.access.test_gate import door
from tests.bridge.running import bridge, environment, until


@contextmanager
def worker(db: Path, endpoint: str, policy: str = "checkpoint_and_close", **more: Any) -> Iterator[tuple[Any, str]]:
    """A process that holds a session with a lease of two seconds, and has written; the process, and its session."""
    config = {"heartbeat_interval_s": 0.5, "heartbeat_timeout_s": 2, "on_orphan": policy}
    script = (
        "import signal\n"
        "from hermes_memory_bridge import MemoryClient\n"
        f"memory = MemoryClient({endpoint!r}, session_config={config!r}, **{more!r}).open()\n"
        "memory.write('D[a]: b', scope='work')\n"
        "print(memory.session_id, flush=True)\n"
        "signal.pause()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(db.parent), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def endings(store: Store, name: str) -> list[SessionStatus]:
    """What a session goes through until it has ended."""
    seen: list[SessionStatus] = []

    def ended() -> bool:
        status = store.sessions.get("default", name).status
        if status not in seen:
            seen.append(status)
        return status in (SessionStatus.ORPHANED, SessionStatus.CLOSED)

    until(ended, "the end of a session")
    return seen


@pytest.mark.parametrize(("policy", "kept"), [("checkpoint_and_close", True), ("abort_quietly", False)])
def test_it_is_orphaned_by_its_own_lease_and_policy(db: Path, policy: str, kept: bool) -> None:
    """The bridge forgets silent clients after a lease of its own, shorter here; that must not end what they opened."""
    with (
        bridge(db, "--heartbeat", "0.2", "--timeout", "0.5") as places,
        worker(db, f"unix://{places.http}", policy) as (process, name),
        Store.open(db) as store,
    ):
        process.kill()
        assert endings(store, name)[-2:] == [SessionStatus.STALE, SessionStatus.ORPHANED]
        assert (store.sessions.get("default", name).checkpoint is not None) is kept


def test_workers_of_the_same_token_do_not_keep_a_dead_one_alive(db: Path) -> None:
    with Store.open(db) as store:
        secret = store.credentials.add("ci", "default", Rights.parse("read,write"))[1]
    with (
        door(db, "--heartbeat", "0.6", "--timeout", "2") as made,
        worker(db, f"http://127.0.0.1:{made.port}", token=secret) as (process, dead),
        worker(db, f"http://127.0.0.1:{made.port}", token=secret) as (_, alive),
        Store.open(db) as store,
    ):
        process.kill()
        assert endings(store, dead)[-1] is SessionStatus.ORPHANED
        assert store.sessions.get("default", alive).status is SessionStatus.LIVE


def test_a_session_outlives_a_bridge_that_stops_and_keeps_its_lease(db: Path) -> None:
    config = {"heartbeat_interval_s": 20, "heartbeat_timeout_s": 60}
    with bridge(db) as places:
        memory = MemoryClient(f"unix://{places.http}", session_config=config).open()
        memory.turn("user", "before")
    with Store.open(db) as store:
        assert store.sessions.get("default", str(memory.session_id)).ended_at is None
        with bridge(db):
            memory.turn("user", "after")
            again = store.sessions.get("default", str(memory.session_id))
            assert (again.status, again.lease_ms) == (SessionStatus.LIVE, 60_000)
            memory.close()
        assert store.sessions.get("default", str(memory.session_id)).status is SessionStatus.CLOSED


def test_a_client_that_opened_no_session_has_one_that_ends_with_its_silence(db: Path) -> None:
    with bridge(db, "--heartbeat", "0.2", "--timeout", "0.5") as places, Store.open(db) as store:
        status(places)
        (session,) = store.sessions.list()
        assert endings(store, session.name)[-1] is SessionStatus.CLOSED


def test_it_ends_with_the_bridge_too(db: Path) -> None:
    with bridge(db) as places:
        status(places)
    with Store.open(db) as store:
        assert [session.status for session in store.sessions.list()] == [SessionStatus.CLOSED]


def status(places: BridgePaths) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(uds=places.http)) as client:
        said = client.post(
            "http://localhost/mcp",
            json=to_tool_request(1, "memory_status", {}, None),
            headers=to_request_headers("memory_status", None, None),
        )
    assert said.status_code == 200
