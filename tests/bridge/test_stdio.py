"""The transport ends when its host does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture
def bridge(served: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "hermes_memory_bridge", "--db", str(served)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"HERMES_HOME": str(tmp_path), "HERMES_MEMORY_LINGER": "0.1"},
    )
    yield process
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def said(bridge: subprocess.Popen[bytes], line: bytes) -> dict[str, object]:
    assert bridge.stdin is not None
    assert bridge.stdout is not None
    bridge.stdin.write(line + b"\n")
    bridge.stdin.flush()
    answer = json.loads(bridge.stdout.readline())
    assert isinstance(answer, dict)
    return answer


def test_it_ends_when_its_host_closes_the_pipe(bridge: subprocess.Popen[bytes]) -> None:
    said(bridge, json.dumps(HELLO).encode())
    assert bridge.stdin is not None
    bridge.stdin.close()
    assert bridge.wait(timeout=PATIENCE_S) == 0


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_on_a_signal(bridge: subprocess.Popen[bytes], name: signal.Signals) -> None:
    said(bridge, json.dumps(HELLO).encode())
    bridge.send_signal(name)
    assert bridge.wait(timeout=PATIENCE_S) == 0


def test_it_ends_when_its_host_stops_reading(bridge: subprocess.Popen[bytes]) -> None:
    said(bridge, json.dumps(HELLO).encode())
    assert bridge.stdout is not None
    bridge.stdout.close()
    assert bridge.wait(timeout=PATIENCE_S) == 0


def test_help_and_version_cost_no_protocol() -> None:
    probe = (
        "import sys; from hermes_memory_bridge.cli.bridge_commands import run_bridge_command as run;"
        "assert run(['--help']) == run(['--version']) == run(['sync', 'resolve', '--help']) == 0;"
        "assert 'mcp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", probe], check=True)
