"""The official MCP conformance suite, every active scenario, against the bridge with the suite's fixtures.

It needs Node 22 and `npm install @modelcontextprotocol/conformance`: `$MCP_CONFORMANCE` is the command that runs it, and
`$MCP_CONFORMANCE_MODERN` the command of a version that knows 2026-07-28 (0.2.0).
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bridge.running import free_port, until

COMMAND = os.environ.get("MCP_CONFORMANCE")
MODERN = os.environ.get("MCP_CONFORMANCE_MODERN")


def listens(port: int) -> bool:
    """Whether somebody does."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a bridge with the fixtures."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.bridge.conformance.server", str(port), str(folder / "memory.db")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: listens(port), "the port")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


def judged(command: str, folder: Path, *words: str) -> str:
    """What the suite prints."""
    with served(folder) as url:
        done = subprocess.run(
            [*shlex.split(command), "server", "--url", url, *words], capture_output=True, text=True, cwd=folder
        )
    assert "Total: " in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(COMMAND is None, reason="$MCP_CONFORMANCE names no conformance suite")
def test_every_active_scenario_of_the_handshake_eras_passes(tmp_path: Path) -> None:
    said = judged(COMMAND or "", tmp_path, "--suite", "active")
    assert re.findall(r"✗ .*", said) == []


@pytest.mark.slow
@pytest.mark.skipif(MODERN is None, reason="$MCP_CONFORMANCE_MODERN names no suite that knows 2026-07-28")
def test_every_scored_scenario_of_2026_07_28_passes(tmp_path: Path) -> None:
    said = judged(MODERN or "", tmp_path, "--requirements", "2026-07-28")
    scenarios, _, unscored = said.partition("Not scored")
    failed = set(re.findall(r"✗ ([\w-]+):", scenarios))
    assert failed - set(re.findall(r"✗ ([\w-]+)", unscored)) == set()
