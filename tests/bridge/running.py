"""Real bridges and shims for the tests, and what they leave behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.bridge_forks import fork_bridge
from tests.empty_store import put_empty_store
from tests.processes import PATIENCE_S

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def environment(home: Path) -> dict[str, str]:
    """What a host gives its children, and a bridge that leaves at once when nobody needs it."""
    return os.environ | {"HOME": str(home), "HERMES_HOME": str(home), "HERMES_MEMORY_LINGER": "0.1"}


def until(true: Callable[[], Any], what: str | Callable[[], str], patience_s: float = PATIENCE_S) -> Any:
    """Look until something has come true. :param what: is awaited; a function says so when it never came"""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        found = true()
        if found:
            return found
        time.sleep(0.01)  # nothing tells when another process is done
    raise AssertionError(f"never came: {what if isinstance(what, str) else what()}")


@contextlib.contextmanager
def bridge(db: Path, *options: str, files: int | tuple[int, int] | None = None) -> Iterator[BridgePaths]:
    """A running bridge of its own; stopped and gone afterwards.

    :param files: descriptors it may have: the soft and the hard limit, or one number for both
    """
    places = BridgePaths.of(db)
    limits = (files, files) if isinstance(files, int) else files
    if db.parent.is_dir() and not db.exists():
        put_empty_store(db)  # a bridge spends half of its start on making one
    process = fork_bridge(["serve", "--db", str(db), *options], environment(db.parent), limits)
    try:
        until(lambda: ask_bridge(places, "status"), "the bridge")
        yield places
    finally:
        process.terminate()
        process.join(PATIENCE_S)
        still_running = process.is_alive()
        process.kill()
        process.join()
        process.close()
        assert not still_running, "the bridge did not end after SIGTERM"


class Shim:
    """A host's child, spoken to in plain JSON-RPC."""

    def __init__(self, db: Path, *options: str, cwd: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hermes_memory_bridge", "--db", str(db), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(db.parent),
            cwd=cwd or db.parent,  # a home is no project, so that the theme is `default`
        )
        self.number = 0

    def open(self, client: str | None = None) -> dict[str, Any]:
        """Shake hands. :param client: the client's name, of version 2.1.0; `test 1` unless given"""
        named = {"clientInfo": {"name": client, "version": "2.1.0"}} if client else {}
        self.say({**INITIALIZE, "params": {**INITIALIZE["params"], **named}})  # type: ignore[dict-item]
        answer = self.hear()
        self.say(INITIALIZED)
        return answer

    def say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        heard: dict[str, Any] = json.loads(self.process.stdout.readline())
        return heard

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Ask without waiting; the number of the request."""
        self.number += 1
        self.say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params or {}})
        return self.number

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        number = self.request("tools/call", {"name": tool, "arguments": arguments})
        answer = self.hear()
        assert answer["id"] == number
        return answer

    def close(self) -> int:
        """Close the pipe as a host does; the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def __enter__(self) -> Shim:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


def run_command(*words: str, typed: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """What a command of the bridge's program does, in this process. :param environ: is added to its environment"""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        for name, value in environ.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO(typed))
        code = run_bridge_command([*words])
    out.seek(0)
    err.seek(0)
    return subprocess.CompletedProcess(words, code, out.read(), err.read())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def dial(places: BridgePaths) -> socket.socket:
    """A raw connection to the line socket."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(PATIENCE_S)
    made.connect(places.line)
    return made


def data(answer: dict[str, Any]) -> dict[str, Any]:
    structure: dict[str, Any] = answer["result"]["structuredContent"]
    return structure


def text(answer: dict[str, Any]) -> str:
    return str(answer["result"]["content"][0]["text"])
