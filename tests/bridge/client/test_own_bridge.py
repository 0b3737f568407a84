"""Without an endpoint a client uses this user's own bridge: it starts one where there is none, and keeps it while it is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_store.model import FactFilter, SessionStatus, Tier
from hermes_memory_store.store import Store
from tests.bridge.running import environment, until

QUICK = "session_config={'heartbeat_interval_s': 0.4, 'heartbeat_timeout_s': 2}"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "own.db"


def worker(db: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a worker whose own bridge serves this store, and see that bridge leave by itself."""
    env = environment(db.parent) | {"HERMES_MEMORY_DB": str(db)}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
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
        "from hermes_memory_bridge.launcher.paths import BridgePaths\n"
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
        "import os, signal\n"
        "from hermes_memory_bridge import MemoryClient\n"
        f"memory = MemoryClient({QUICK}).open()\n"
        "memory.write('D[a]: b')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
    )
    assert done.returncode == -9, done.stderr
    with Store.open(db) as store:
        assert [session.status for session in store.sessions.list()] == [SessionStatus.STALE]


def test_starting_a_bridge_leaves_a_workers_own_children_to_the_worker(db: Path) -> None:
    done = worker(
        db,
        "import os, subprocess\n"
        "from hermes_memory_bridge import MemoryClient\n"
        "child = subprocess.Popen(['sh', '-c', 'exit 3'])\n"
        "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\n"
        "with MemoryClient():\n"
        "    print(child.wait())\n",
    )
    assert done.stdout == "3\n", done.stderr


def test_the_death_of_an_earlier_bridge_is_no_failed_start(db: Path) -> None:
    done = worker(
        db,
        "import os, signal\n"
        "from hermes_memory_bridge import MemoryClient\n"
        "from hermes_memory_bridge.launcher.paths import BridgePaths\n"
        "with MemoryClient():\n"
        "    pid = int(open(BridgePaths.of().pid).read())\n"
        "os.kill(pid, signal.SIGKILL)\n"
        "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
        "with MemoryClient() as memory:\n"
        "    print(memory.write('D[a]: b').data['status'])\n"
        "try:\n"
        "    os.kill(pid, 0)\n"
        "except ProcessLookupError:\n"
        "    print('waited for')\n",
    )
    assert done.stdout == "created\nwaited for\n", done.stderr
