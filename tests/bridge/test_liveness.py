"""Liveness: an agent is alive while it answers, whatever the clock says; a stopped one is stale within half its lease."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.provider.bridge_line import BridgeLine
from hermes_memory_bridge.runtime.lease_keeper import LeaseKeeper
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection, LeaseTimes
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.silence import find_process_state
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.model import Millis, Session, SessionStatus
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, dial, environment, until

LEASE_S = 3.0
OPTIONS = ("--heartbeat", "1", "--timeout", str(LEASE_S))

HOST = """
import subprocess, sys
shim = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin.buffer:
    shim.stdin.write(line)
    shim.stdin.flush()
    if b'"id"' in line:
        sys.stdout.buffer.write(shim.stdout.readline())
        sys.stdout.buffer.flush()
"""
"""A host: it passes on what it is told to its shim, and the answers back."""


class Host(Shim):
    """A host with a shim of its own, spoken to as a shim is."""

    def __init__(self, db: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOST, "-m", "hermes_memory_bridge", "--db", str(db)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(db.parent),
        )
        self.number = 0


@pytest.fixture
def store(db: Path) -> Iterator[Store]:
    with bridge(db, *OPTIONS), Store.open(db) as opened:
        yield opened


def status(store: Store) -> SessionStatus:
    ((found,),) = store.db.rows("SELECT status FROM sessions")
    return SessionStatus(found)


def stop_and_wait_for_stale(store: Store, stopped: int) -> None:
    """Stop a process, and see its session go stale within half of its lease."""
    os.kill(stopped, signal.SIGSTOP)
    since = time.monotonic()
    until(lambda: status(store) is SessionStatus.STALE, "a stale session")
    took = time.monotonic() - since
    assert took < LEASE_S / 2 + 1.0, took  # a second for a machine that is busy
    (shown,) = store.sessions.list()
    assert shown.ended_at is None


@pytest.mark.crash
@pytest.mark.parametrize("agent", [Shim, Host])
def test_a_stopped_agent_is_stale_within_half_its_lease_and_lives_when_it_goes_on(
    agent: Callable[[Path], Shim], store: Store
) -> None:
    with agent(store.path) as stopped:
        stopped.open()
        stopped.call("memory_write", content="D[a]: b")
        stop_and_wait_for_stale(store, stopped.process.pid)
        os.kill(stopped.process.pid, signal.SIGCONT)
        until(lambda: status(store) is SessionStatus.LIVE, "a live session")
        stopped.call("memory_write", content="D[c]: d")
        stopped.close()


@pytest.mark.crash
def test_an_orphan_that_answers_again_is_alive_and_that_is_in_the_journal(store: Store) -> None:
    with Shim(store.path) as stopped:
        stopped.open()
        stopped.call("memory_status")
        os.kill(stopped.process.pid, signal.SIGSTOP)
        until(lambda: status(store) is SessionStatus.ORPHANED, "an orphaned session")
        os.kill(stopped.process.pid, signal.SIGCONT)
        until(lambda: status(store) is SessionStatus.LIVE, "a live session")
        assert [change.op for change in store.journal.changes(ops=["open", "orphaned"])].count("open") == 2
        (session,) = store.sessions.list()
        assert session.ended_at is None
        stopped.close()


def greet(places: object, **hello: object) -> socket.socket:
    """A client that speaks for itself, with a session."""
    made = dial(places)  # type: ignore[arg-type]
    made.sendall(json.dumps({"hermes-memory": 1, **hello}).encode() + b"\n")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}
    for message in (INITIALIZE, INITIALIZED, call):
        made.sendall(json.dumps(message).encode() + b"\n")
    return made


@pytest.mark.crash
def test_a_shim_of_before_is_never_asked_and_judged_by_its_connection(db: Path) -> None:
    with (
        bridge(db, "--heartbeat", "0.2", "--timeout", "0.6") as places,
        Store.open(db) as store,
        greet(places) as old,
        greet(places, pulse=1) as mute,
    ):
        until(lambda: len(store.sessions.list()) == 2, "two sessions")
        until(lambda: store.sessions.counts().get("orphaned") == 1, "the end of the one that does not answer")
        assert store.sessions.counts()["live"] == 1
        assert b'"ping"' not in old.recv(1 << 20)
        assert b'"ping"' in mute.recv(1 << 20)


def test_the_state_of_a_process_is_read_even_with_a_hostile_name(tmp_path: Path) -> None:
    program = tmp_path / "a) T 1 1 1 ("
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "60"]) as running:
        try:
            until(lambda: psutil.Process(running.pid).status() == psutil.STATUS_SLEEPING, "a sleeping process")
            state = find_process_state(running.pid)
            assert state is not None
            assert state[0] == b"S"
            assert state[1:] == (os.getpid(), os.getsid(0))
        finally:
            running.kill()
    assert find_process_state(running.pid) is None


class Clocks:
    """Both clocks, moved by hand."""

    def __init__(self) -> None:
        self.utc_ms = 1_790_000_000_000
        self.monotonic_s = 1000.0

    def clock(self) -> Millis:
        return Millis(self.utc_ms)

    def monotonic(self) -> float:
        return self.monotonic_s

    def forward(self, seconds: float) -> None:
        self.monotonic_s += seconds
        self.utc_ms += round(seconds * 1000)


LEASE = LeaseTimes(10_000, 25_000)
HOUR_MS = 3_600_000
YEAR_MS = 365 * DAY_MS


class Desk:
    """A lease keeper on a real store, with an agent that can be asked and one that only makes calls."""

    def __init__(self, worker: StoreWorker, clocks: Clocks) -> None:
        self.clocks = clocks
        self.worker = worker
        self.asked = self.made("asked")
        self.answers = True
        self.asked.ask = self.answer
        self.calling = self.made("calling", holds=False)
        self.keeper = LeaseKeeper(
            worker, LEASE, lambda: [self.asked, self.calling], monotonic=clocks.monotonic, clock=clocks.clock
        )

    def made(self, name: str, *, holds: bool = True) -> Connection:
        made = Connection(self.worker.store, "default", resume=name, holds=holds, lease=LEASE)
        made.heard_at = made.last_activity = self.clocks.monotonic()
        made.add_session(made.open_session(name))
        return made

    def answer(self) -> None:
        if self.answers:
            self.asked.heard_at = self.clocks.monotonic()

    async def live(self, seconds: float) -> None:
        """Let time pass, with a look at every second."""
        for _ in range(round(seconds)):
            self.clocks.forward(1.0)
            await self.keeper.look()

    def session(self, name: str) -> Session:
        return self.worker.store.sessions.get("default", name)


def at_desk(db: Path, story: Callable[[Desk], object]) -> None:
    clocks = Clocks()

    async def play() -> None:
        worker = StoreWorker(db, clock=clocks.clock)
        try:
            await story(Desk(worker, clocks))  # type: ignore[misc]
        finally:
            worker.close()

    asyncio.run(play())


@pytest.mark.parametrize("jump_ms", [HOUR_MS, -HOUR_MS, YEAR_MS, -YEAR_MS, 60_000, -60_000])
@pytest.mark.parametrize("slept", [False, True], ids=["clock-set", "process-stopped"])
def test_after_a_jump_of_the_clock_nobody_who_answers_is_judged(db: Path, jump_ms: int, slept: bool) -> None:
    async def story(desk: Desk) -> None:
        await desk.live(20)
        desk.clocks.utc_ms += jump_ms
        if slept:
            desk.clocks.monotonic_s += abs(jump_ms) / 1000
        for _ in range(60):
            desk.calling.last_activity = desk.clocks.monotonic()
            await desk.live(1)
            for name in ("asked", "calling"):
                assert desk.session(name).status in (SessionStatus.OPEN, SessionStatus.LIVE), name
            assert desk.session("asked").heartbeat_at <= desk.clocks.utc_ms
        now = desk.clocks.utc_ms
        assert now - desk.session("asked").heartbeat_at <= LEASE.heartbeat_ms

    at_desk(db, story)


@pytest.mark.parametrize("jump_ms", [HOUR_MS, -HOUR_MS, YEAR_MS, -YEAR_MS])
def test_after_a_jump_of_the_clock_who_is_dead_is_judged_as_late_as_before(db: Path, jump_ms: int) -> None:
    async def story(desk: Desk) -> None:
        await desk.live(5)
        desk.answers = False
        desk.clocks.utc_ms += jump_ms
        await desk.live(13)
        assert desk.session("asked").status is SessionStatus.STALE
        assert desk.session("calling").status is SessionStatus.LIVE, "its lease is not over"
        await desk.live(13)
        assert desk.session("calling").status is SessionStatus.STALE
        await desk.live(40)
        assert [desk.session(name).status for name in ("asked", "calling")] == [SessionStatus.ORPHANED] * 2

    at_desk(db, story)


def test_a_silent_agent_is_stale_within_half_its_lease_wherever_it_stops(db: Path) -> None:
    async def story(desk: Desk) -> None:
        for alive_s in range(7, 18):
            desk.answers = True
            await desk.live(alive_s)
            assert desk.session("asked").status is SessionStatus.LIVE
            desk.answers = False
            await desk.live(12)
            assert desk.session("asked").status is SessionStatus.STALE
            assert desk.session("asked").ended_at is None

    at_desk(db, story)


def test_a_lease_that_begins_in_the_future_does_when_the_clock_was_set_back_while_no_bridge_ran(db: Path) -> None:
    async def story(desk: Desk) -> None:
        desk.clocks.utc_ms -= YEAR_MS
        desk.answers = False
        desk.worker.store.sessions.shift_leases(0)
        assert desk.session("calling").heartbeat_at == desk.clocks.utc_ms

    at_desk(db, story)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["nothing", "clock set", "process stopped", "machine slept"]),
        st.integers(-2 * YEAR_MS, 2 * YEAR_MS) | st.integers(-100_000, 100_000),
        st.integers(0, 40),
    ),
    max_size=6,
)


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(events=EVENTS)
def test_whatever_the_clocks_do_who_answers_is_alive_and_who_does_not_is_stale_in_time(
    tmp_path: Path, events: list[tuple[str, int, int]]
) -> None:
    async def story(desk: Desk) -> None:
        for event, by_ms, then_s in events:
            match event:
                case "clock set":
                    desk.clocks.utc_ms += by_ms
                case "process stopped":
                    desk.clocks.forward(abs(by_ms) / 1000)
                case "machine slept":
                    desk.clocks.utc_ms += abs(by_ms)
            for _ in range(then_s):
                await desk.live(1)
                assert desk.session("asked").status in (SessionStatus.OPEN, SessionStatus.LIVE)
        desk.answers = False
        await desk.live(13)
        found = desk.session("asked")
        assert found.status is SessionStatus.STALE
        assert found.ended_at is None
        desk.answers = True
        await desk.live(2)  # asked at the first look, heard at the second
        assert desk.session("asked").status is SessionStatus.LIVE

    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        at_desk(Path(folder) / "memory.db", story)


@pytest.mark.crash
def test_the_providers_line_answers_between_calls_and_within_them(store: Store) -> None:
    line = BridgeLine(str(store.path), "default", str(store.path.parent))
    line.call("memory_status", {})
    assert 0 < line.pulse_s <= LEASE_S / 6
    ends = time.monotonic() + 2 * LEASE_S
    while time.monotonic() < ends:
        line.answer_pings()
        assert status(store) in (SessionStatus.OPEN, SessionStatus.LIVE)
        time.sleep(line.pulse_s / 2)  # as the provider's worker waits
    until(lambda: status(store) is SessionStatus.STALE, "a stale session of a thread that says nothing")
    line.call("memory_status", {})
    until(lambda: status(store) is SessionStatus.LIVE, "a live session")
    line.close()
    until(lambda: status(store) is SessionStatus.CLOSED, "the end of the session")


FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


@pytest.mark.long
@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime is not installed")
@pytest.mark.parametrize("jump", ["+3600", "-31536000"])
def test_a_real_bridge_whose_clock_jumps_orphans_nobody_who_answers(db: Path, tmp_path: Path, jump: str) -> None:
    offset = tmp_path / "offset"
    offset.write_text("+0\n")
    faked = environment(db.parent) | {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with subprocess.Popen(
        [
            sys.executable,
            "-m",
            "hermes_memory_bridge",
            "serve",
            "--db",
            str(db),
            "--heartbeat",
            "0.5",
            "--timeout",
            "1.5",
        ],
        env=faked,
        stderr=subprocess.DEVNULL,
    ) as serving:
        try:
            until(lambda: ask_bridge(BridgePaths.of(db), "status"), "the bridge")
            with Shim(db) as shim, Store.open(db) as store:
                shim.open()
                shim.call("memory_status")
                (before,) = store.sessions.list()
                offset.write_text(jump + "\n")
                until(
                    lambda: abs(store.sessions.list()[0].heartbeat_at - before.heartbeat_at) > abs(int(jump)) * 900,
                    "a lease by the clock as it was set",
                )
                until_s = time.monotonic() + 5
                while time.monotonic() < until_s:  # three leases
                    assert status(store) in (SessionStatus.OPEN, SessionStatus.LIVE)
                    time.sleep(0.05)
                assert store.journal.changes(ops=["orphaned"]) == []
                os.kill(shim.process.pid, signal.SIGSTOP)
                until(lambda: status(store) is SessionStatus.STALE, "a stale session")
        finally:
            serving.terminate()
