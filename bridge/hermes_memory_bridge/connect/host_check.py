"""Check of a configured command: start it as a host does, and request the status."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ANSWER_TIMEOUT_S = 20.0

KEPT_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What hosts leave of the environment."""


@dataclass(frozen=True, slots=True)
class HostCheckResult:
    ok: bool
    output: str


def check_configured_command(command: list[str], env: dict[str, str]) -> HostCheckResult:
    """Start the command, perform the handshake, list the tools and call `memory_status`."""
    minimal = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ} | {"PYTHONSAFEPATH": "1"}
    started_at = time.monotonic()
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=minimal | env
        )
    except OSError as error:
        return HostCheckResult(
            False, f"{command[0]} cannot be started: {error.strerror or error}; connect again to correct it"
        )
    with process:
        answers = RpcProcess(process)
        try:
            hello = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "hermes-memory-check", "version": "1"},
            }
            answers.request("initialize", hello)
            answers.send({"method": "notifications/initialized"})
            tools = answers.request("tools/list", {})["tools"]
            status = answers.request("tools/call", {"name": "memory_status", "arguments": {}})
        except (OSError, ValueError, KeyError, TimeoutError) as error:
            process.kill()
            complaint = (process.stderr.read() if process.stderr else b"").decode(errors="replace").strip()
            return HostCheckResult(False, f"{' '.join(command)} did not answer as it should: {complaint or error}")
        theme = status.get("structuredContent", {}).get("theme")
        if theme is None:
            process.kill()
            complaint = "; ".join(part.get("text", "") for part in status.get("content", []))
            return HostCheckResult(False, f"{' '.join(command)} answers, but not what the memory holds: {complaint}")
        took = time.monotonic() - started_at
        assert process.stdin is not None
        process.stdin.close()
    return HostCheckResult(True, f"{len(tools)} tools, theme {theme}, answered in {took * 1000:.0f} ms")


class RpcProcess:
    """A program that answers JSON-RPC on its pipes, a message a line."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._number = 0
        self._pending = b""

    def send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: Mapping[str, Any], deadline: float | None = None) -> Any:
        """Send one request and return its result.

        :param deadline: monotonic time; `ANSWER_TIMEOUT_S` from now unless given
        :raises ValueError: the answer is an error, or missing
        :raises TimeoutError: it came too late
        """
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        deadline = time.monotonic() + ANSWER_TIMEOUT_S if deadline is None else deadline
        while True:
            answer = json.loads(self._read_line(method, deadline))
            if answer.get("id") != self._number:
                continue
            if "error" in answer:
                raise ValueError(answer["error"].get("message", method))
            return answer["result"]

    def _read_line(self, method: str, deadline: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._pending:
            if not select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"no answer to {method} within {ANSWER_TIMEOUT_S:.0f} s")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise ValueError(f"it ended before it answered {method}")
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line
