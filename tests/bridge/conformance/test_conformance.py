"""The official MCP conformance suite, every active scenario, against the bridge with the suite's fixtures.

It needs Node 22: `npm install @modelcontextprotocol/conformance`, and `$MCP_CONFORMANCE` with the command that runs it.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.access.test_gate import free_port
from tests.bridge.running import until

COMMAND = os.environ.get("MCP_CONFORMANCE")


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
@pytest.mark.skipif(COMMAND is None, reason="$MCP_CONFORMANCE names no conformance suite")
def test_every_active_scenario_passes(tmp_path: Path) -> None:
    port = free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.bridge.conformance.server",
            str(port),
            str(tmp_path / "memory.db"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: listens(port), "the port")
        command = [*shlex.split(COMMAND or ""), "server", "--url", f"http://127.0.0.1:{port}/mcp", "--suite", "active"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        failed = re.findall(r"✗ .*", done.stdout)
        assert not failed
        assert re.search(r"Total: \d\d+ passed, 0 failed", done.stdout), done.stdout[-2000:] + done.stderr[-2000:]
    finally:
        server.kill()
        server.wait()
