"""Check of a configured command: start it as a host does, and request the status."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass
from typing import Any

ANSWER_TIMEOUT_S = 20.0

KEPT_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What hosts leave of the environment."""


@dataclass(frozen=True, slots=True)
class HostCheckResult:
    """The result of a check."""

    ok: bool
    output: str


def check_configured_command(command: list[str], env: dict[str, str]) -> HostCheckResult:
    """Start the command, perform the handshake, list the tools and call `memory_status`."""
    minimal = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {"PYTHONSAFEPATH": "1"}
    begun = time.monotonic()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=minimal | env
        )
    except OSError as error:
        return HostCheckResult(
            False, f"{command[0]} cannot be started: {error.strerror or error}; connect again to correct it"
        )
    with process:
        try:
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hermes-memory-check", "version": "1"},
            }
            request_from_process(process, 1, "initialize", hello)
            send_to_process(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            tools = request_from_process(process, 2, "tools/list", {})["tools"]
            status = request_from_process(process, 3, "tools/call", {"name": "memory_status", "arguments": {}})
        except (OSError, ValueError, KeyError, TimeoutError) as error:
            process.kill()
            complaint = (process.stderr.read() if process.stderr else b"").decode(errors="replace").strip()
            return HostCheckResult(False, f"{' '.join(command)} did not answer as it should: {complaint or error}")
        theme = status.get("structuredContent", {}).get("theme")
        if theme is None:
            process.kill()
            said = "; ".join(part.get("text", "") for part in status.get("content", []))
            return HostCheckResult(False, f"{' '.join(command)} answers, but not what the memory holds: {said}")
        took = time.monotonic() - begun
        assert process.stdin is not None
        process.stdin.close()
    return HostCheckResult(True, f"{len(tools)} tools, theme {theme}, answered in {took * 1000:.0f} ms")


def send_to_process(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def request_from_process(
    process: subprocess.Popen[bytes], number: int, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Send one request and return its result.

    :raises ValueError: the response is an error, or missing
    """
    send_to_process(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert process.stdout is not None
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while True:
        if not select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(f"no answer to {method} within {ANSWER_TIMEOUT_S:.0f} s")
        line = process.stdout.readline()
        if not line:
            raise ValueError(f"it ended before it answered {method}")
        answer = json.loads(line)
        if answer.get("id") != number:
            continue
        if "error" in answer:
            raise ValueError(answer["error"]["message"])
        result: dict[str, Any] = answer["result"]
        return result
