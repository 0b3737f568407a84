"""The official MCP conformance suite, every active scenario, against the bridge with the suite's fixtures, with a token.

It needs Node 22 and `npm install @modelcontextprotocol/conformance`: `$MCP_CONFORMANCE` is the command that runs it, and
`$MCP_CONFORMANCE_MODERN` the command of a version that knows 2026-07-28 (0.2.0).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.access.test_gate import META
from tests.bridge.running import free_port, until

COMMAND = os.environ.get("MCP_CONFORMANCE")
MODERN = os.environ.get("MCP_CONFORMANCE_MODERN")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served(folder: Path, door: str) -> Iterator[str]:
    """The address of a bridge with the fixtures. :param door: `http` or `line`: how it is reached in the end"""
    port = free_port()
    server = subprocess.Popen(
        [
            sys.executable,
            "-W",
            "ignore",
            "-m",
            "tests.bridge.conformance.server",
            str(port),
            str(folder / "m.db"),
            door,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: listens(port), "the port")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


def judged(command: str, folder: Path, door: str, *words: str) -> str:
    """What the suite prints."""
    with served(folder, door) as url:
        done = subprocess.run(
            [*shlex.split(command), "server", "--url", url, *words], capture_output=True, text=True, cwd=folder
        )
    assert "Total: " in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


HTTP_ALONE = {"dns-rebinding-protection", "server-stateless"}
"""Scenarios about HTTP: Host and Origin; headers, and statuses of messages that the line socket takes for an earlier era."""


@pytest.mark.slow
@pytest.mark.parametrize("door", ["http", "line"])
@pytest.mark.skipif(COMMAND is None, reason="$MCP_CONFORMANCE names no conformance suite")
def test_every_active_scenario_of_the_handshake_eras_passes(tmp_path: Path, door: str) -> None:
    said = judged(COMMAND or "", tmp_path, door, "--suite", "active")
    assert set(re.findall(r"✗ ([\w-]+):", said)) <= (HTTP_ALONE if door == "line" else set())
    assert len(re.findall(r"✓ ([\w-]+):", said)) >= 29


@pytest.mark.slow
@pytest.mark.parametrize("door", ["http", "line"])
@pytest.mark.skipif(MODERN is None, reason="$MCP_CONFORMANCE_MODERN names no suite that knows 2026-07-28")
def test_every_scored_scenario_of_2026_07_28_passes(tmp_path: Path, door: str) -> None:
    said = judged(MODERN or "", tmp_path, door, "--requirements", "2026-07-28")
    scenarios, _, unscored = said.partition("Not scored")
    failed = set(re.findall(r"✗ ([\w-]+):", scenarios)) - set(re.findall(r"✗ ([\w-]+)", unscored))
    assert failed <= (HTTP_ALONE if door == "line" else set())
    assert len(re.findall(r"✓ ([\w-]+):", scenarios)) >= 33


@pytest.mark.parametrize("door", ["http", "line"])
def test_the_suites_fixtures_are_tools_of_the_bridge(tmp_path: Path, door: str) -> None:
    """Without the suite at least this: each is permitted, run, counted and logged by our own dispatch, with a token."""
    with served(tmp_path, door) as url, httpx.Client(timeout=60) as http:
        for number, tool in enumerate(
            ("test_simple_text", "test_image_content", "test_error_handling", "no_such_tool")
        ):
            params = {"name": tool, "arguments": {}, "_meta": META}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            headers = {
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": tool,
            }
            said = http.post(url, json=message, headers=headers).text
            result = json.loads(said[said.index("{") :])["result"]
            assert result["content"][0]["type"] == ("image" if tool == "test_image_content" else "text")
            assert result.get("isError", False) is (tool in ("test_error_handling", "no_such_tool"))
        calls = ask_bridge(BridgePaths.of(tmp_path / "m.db"), "calls", limit=10)
    assert calls is not None
    logged = [(one["tool"], one["outcome"]) for one in calls["calls"] if one["outcome"] != "consent.needed"]
    assert logged == [
        ("test_simple_text", "ok"),
        ("test_image_content", "ok"),
        ("test_error_handling", "argument.invalid"),
    ]
