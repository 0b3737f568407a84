"""One simulated agent: a process that speaks MCP to the bridge through the shim, as any host does.

    python -m hermes_memory_tui.demo.simulated_agent THEME NAME SEED STORE SOCKET

It works until its standard input is closed, so that it never outlives its parent, and writes one JSON line
per call to standard output. Standard library only: it starts in a few milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import subprocess
import sys
import time
from typing import Any

from hermes_memory_tui.demo import demo_jobs

PAUSE_S = (0.5, 3.0)
"""Between two calls: a person could follow."""

LOOK_S = 0.05
"""How often to look whether the bridge listens already."""

LEAVE_S = 3.0
"""How long a shim may take to leave."""

OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}}


class ShimExited(Exception):
    """Raised when the shim has exited."""


class ShimProcess:
    """A shim process, used over its pipes as an MCP host does."""

    def __init__(self, store: str, theme: str) -> None:
        host = demo_jobs.HOSTS[theme]
        self.number = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hermes_memory_bridge", "--db", store, "--theme", theme, "--tools", "all"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.join(os.path.dirname(store), demo_jobs.PROJECTS, host.project),  # noqa: PTH120 - see above
        )
        self.ask("initialize", OPENING | {"clientInfo": {"name": host.client, "version": host.version}})
        self.say({"method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return False, str(answer["error"].get("message"))
        result = answer["result"]
        refused = result.get("isError") or "error" in (result.get("structuredContent") or {})
        return not refused, "\n".join(part.get("text", "") for part in result["content"])

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for the answer. :raises Gone:"""
        self.number += 1
        self.say({"id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self.number and "method" not in answer:
                return answer
        raise ShimExited

    def say(self, message: dict[str, Any]) -> None:
        """Send one line to the shim. :raises Gone:"""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise ShimExited from error

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_simulated_agent(theme: str, name: str, seed: int, store: str, socket: str) -> None:
    """Make calls until standard input is closed."""
    chance = random.Random(seed)  # noqa: S311 - the same at every run, and no secret
    while not os.path.exists(socket):  # noqa: PTH110 - pathlib takes longer to import than all the rest
        if is_stdin_closed(LOOK_S):
            return
    shim = None
    try:
        for tool, arguments in demo_jobs.demo_calls(theme, name, seed):
            if is_stdin_closed(chance.uniform(*PAUSE_S)):
                return
            started = time.monotonic()
            try:
                shim = shim or ShimProcess(store, theme)
                done, answer = shim.call(tool, arguments)
            except ShimExited:
                if shim is not None:
                    shim.close()
                shim, done, answer = None, False, "the shim has ended; another one is started"
            print_call_report(theme, name, tool, arguments, done, answer, time.monotonic() - started)
    finally:
        if shim is not None:
            shim.close()


def is_stdin_closed(wait_s: float) -> bool:
    """Wait this long for standard input to close, and return whether it did."""
    ready, _, _ = select.select([0], [], [], wait_s)
    return bool(ready) and not os.read(0, 1024)


def print_call_report(
    theme: str, name: str, tool: str, arguments: dict[str, Any], is_done: bool, answer: str, took_s: float
) -> None:
    text = next((arguments[key] for key in ("content", "query", "message", "scope") if key in arguments), "")
    report = {
        "theme": theme,
        "agent": name,
        "tool": tool,
        "said": text,
        "done": is_done,
        "answer": answer[:200],
        "ms": round(took_s * 1000, 1),
    }
    # One write, shorter than a pipe's buffer: several agents share it.
    os.write(1, json.dumps(report).encode() + b"\n")


if __name__ == "__main__":
    try:
        run_simulated_agent(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:6])
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(0)
