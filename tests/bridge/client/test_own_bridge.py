"""Without an endpoint a client uses this user's own bridge: it starts one where there is none, and keeps it while it is there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_bridge.client import AsyncMemoryClient, MemoryClient
from hermes_memory_bridge.client.mcp_messages import BridgeUnreachable
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import FactFilter, SessionStatus, Tier
from hermes_memory_store.store import Store
from tests.bridge.running import Shim, bridge, environment, until

QUICK = "session_config={'heartbeat_interval_s': 0.4, 'heartbeat_timeout_s': 2}"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "own.db"


def worker(db: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a worker whose own bridge serves this store, and see that bridge leave by itself."""
    env = environment(db.parent) | {"HERMES_MEMORY_DB": str(db)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=db.parent, capture_output=True, text=True, timeout=60
    )
    until(lambda: not Path(BridgePaths.of(db).pid).exists(), "the end of the bridge")
    return done


def test_without_an_endpoint_it_starts_this_users_own_bridge(db: Path) -> None:
    done = worker(
        db,
        "from hermes_memory_bridge import MemoryClient\n"
        "with MemoryClient(theme='me') as memory:\n"
        "    print(memory.write('D[a]: b').data['status'])\n",
    )
    assert done.stdout == "created\n", done.stderr
    with Store.open(db) as store:
        assert store.facts.count(FactFilter(theme="me", tiers=frozenset({Tier.HOT}))) == 1


@pytest.mark.parametrize(
    ("doing", "config"), [("memory.search('anything')", ""), ("time.sleep(0.05)", QUICK)], ids=["calling", "quiet"]
)
def test_a_bridge_started_on_demand_stays_while_a_client_has_a_session(db: Path, doing: str, config: str) -> None:
    """It leaves a tenth of a second after the client has closed its session, however long the lease still ran."""
    done = worker(
        db,
        "import time\n"
        "from hermes_memory_bridge import MemoryClient\n"
        "from hermes_memory_bridge.wire.paths import BridgePaths\n"
        f"with MemoryClient(retry_policy={{'max_retries': 0}}, {config}) as memory:\n"
        "    began, pid = time.monotonic(), open(BridgePaths.of().pid).read()\n"
        "    while time.monotonic() - began < 1.5:\n"
        f"        {doing}\n"
        "    assert open(BridgePaths.of().pid).read() == pid\n",
    )
    assert done.returncode == 0, done.stderr
    with Store.open(db) as store:
        assert [session.status for session in store.sessions.list()] == [SessionStatus.CLOSED]


def test_a_bridge_started_on_demand_leaves_after_a_killed_client_and_leaves_the_session_to_its_lease(db: Path) -> None:
    done = worker(
        db,
        "import psutil\n"
        "from hermes_memory_bridge import MemoryClient\n"
        "from hermes_memory_bridge.wire.paths import BridgePaths\n"
        "with MemoryClient():\n"
        "    earlier = psutil.Process(int(open(BridgePaths.of().pid).read()))\n"
        "earlier.kill()\n"
        "earlier.wait(60)\n"
        "with MemoryClient() as memory:\n"
        "    print(memory.write('D[a]: b').data['status'])\n",
    )
    assert done.stdout == "created\n", done.stderr


GOING = """
import asyncio, psutil, subprocess, sys, time
from hermes_memory_bridge import AsyncMemoryClient, MemoryClient
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths

def kill():
    found = psutil.Process(int(open(BridgePaths.of().pid).read()))
    found.kill()
    found.wait(60)

def stop():
    assert subprocess.run([sys.executable, "-m", "hermes_memory_bridge", "stop"], capture_output=True).returncode == 0
"""

SYNC = """
with MemoryClient(retry_policy={{"max_retries": 0}}) as memory:
    memory.write("D[a]: before", scope="work")
    session = memory.session_id
    {end}()
    print(memory.write("D[b]: after").data["status"])
    {end}()
    print(memory.search("after").text, memory.session_id == session)
"""

ASYNC = """
async def run():
    async with AsyncMemoryClient(retry_policy={{"max_retries": 0}}) as memory:
        await memory.write("D[a]: before", scope="work")
        session = memory.session_id
        {end}()
        print((await memory.write("D[b]: after")).data["status"])
        {end}()
        print((await memory.search("after")).text, memory.session_id == session)
asyncio.run(run())
"""


@pytest.mark.crash
@pytest.mark.parametrize("script", [SYNC, ASYNC], ids=["sync", "async"])
@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_client_starts_its_bridge_again_between_two_calls(db: Path, script: str, end: str) -> None:
    done = worker(db, GOING + script.format(end=end))
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("created", "| D[b]: after True"), done.stderr
    with Store.open(db) as store:
        assert [session.status for session in store.sessions.list()] == [SessionStatus.CLOSED]
        ops = [(change.op, change.entity) for change in store.journal.changes() if change.entity == "fact"]
        assert ops == [("create", "fact"), ("create", "fact")]


def test_a_client_that_is_closed_twice_or_used_afterwards_says_so_in_peace(db: Path) -> None:
    done = worker(
        db,
        GOING + "memory = MemoryClient(transaction_log='tx.jsonl')\n"
        "memory.close()\n"
        "with memory:\n"
        "    assert memory.open() is memory\n"
        "    memory.write('D[a]: b')\n"
        "    memory.close()\n"
        "    memory.close()\n"
        "for _ in range(2):\n"
        "    memory.close()\n"
        "try:\n"
        "    memory.search('b')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error.code)\n"
        "with memory:\n"
        "    print(memory.search('b').text)\n"
        "async def run():\n"
        "    memory = AsyncMemoryClient(transaction_log='tx.jsonl')\n"
        "    await memory.close()\n"
        "    async with memory:\n"
        "        assert await memory.open() is memory\n"
        "        await memory.close()\n"
        "    await memory.close()\n"
        "    try:\n"
        "        await memory.search('b')\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__)\n"
        "asyncio.run(run())\n",
    )
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-2:]) == ("ClientClosed client.closed", ["| D[a]: b", "ClientClosed"]), done.stderr
    with Store.open(db) as store:
        assert {session.status for session in store.sessions.list()} == {SessionStatus.CLOSED}
        assert len(store.sessions.list()) == 3


@pytest.mark.crash
@pytest.mark.parametrize("what", ["client", "start", "status", "stop", "shim"])
def test_whoever_meets_a_stopped_bridge_is_told_its_process_within_seconds(db: Path, what: str) -> None:
    """It accepts connections and never answers. Once it goes on, so does everybody else."""
    command = [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db)]
    with bridge(db) as places:
        process = int(Path(places.pid).read_text())
        os.kill(process, signal.SIGSTOP)
        try:
            env = environment(db.parent) | {"HERMES_MEMORY_DB": str(db)}
            if what == "client":
                client = "from hermes_memory_bridge import MemoryClient; MemoryClient().open()"
                done = subprocess.run([sys.executable, "-c", client], env=env, capture_output=True, text=True)
                said = done.stderr
                assert "BridgeUnreachable" in said
            elif what == "shim":
                with Shim(db) as shim:
                    shim.open()  # the shim answers that by itself
                    said = json.dumps(shim.call("memory_status"))
            else:
                done = subprocess.run([*command, what], env=env, capture_output=True, text=True)
                said = done.stderr
                assert done.returncode == 1
                assert "Traceback" not in said
            assert f"process {process}, is stopped" in said
            assert f"kill -CONT {process}" in said
        finally:
            os.kill(process, signal.SIGCONT)
        with MemoryClient(f"unix://{places.http}") as memory:
            assert memory.write("D[a]: b").data["status"] == "created"


@pytest.mark.crash
@pytest.mark.parametrize("who", ["shim", "client", "async client"])
def test_a_connected_caller_is_told_that_the_bridge_was_stopped_and_goes_on_with_it(db: Path, who: str) -> None:
    with bridge(db) as places, contextlib.ExitStack() as stack:
        process = int(Path(places.pid).read_text())
        if who == "shim":
            shim = stack.enter_context(Shim(db))
            shim.open()
            call = lambda: json.dumps(shim.call("memory_write", content="D[a]: b"))  # noqa: E731
        elif who == "client":
            memory = stack.enter_context(MemoryClient(f"unix://{places.http}"))
            call = lambda: memory.write("D[a]: b").text  # noqa: E731
        else:
            loop = stack.enter_context(asyncio.Runner())
            patient = AsyncMemoryClient(f"unix://{places.http}")
            loop.run(patient.open())
            stack.callback(lambda: loop.run(patient.close()))
            call = lambda: loop.run(patient.write("D[a]: b")).text  # noqa: E731
        call()
        os.kill(process, signal.SIGSTOP)
        try:
            try:
                text = call()
            except BridgeUnreachable as error:
                text = error.message
            assert f"process {process}, is stopped" in text
        finally:
            os.kill(process, signal.SIGCONT)
        assert f"process {process}" not in call()


@pytest.mark.crash
def test_a_message_longer_than_a_stopped_bridge_takes_is_answered_and_its_shim_goes_on(db: Path) -> None:
    with bridge(db) as places, Shim(db) as shim:
        process = int(Path(places.pid).read_text())
        shim.open()
        shim.call("memory_status")
        os.kill(process, signal.SIGSTOP)
        try:
            answer = shim.call("memory_write", content="D[a]: " + "b" * 2_000_000)
            assert f"process {process}, is stopped" in answer["error"]["message"]
        finally:
            os.kill(process, signal.SIGCONT)
        assert "result" in shim.call("memory_write", content="D[a]: b")
