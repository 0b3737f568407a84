"""The hook program as a process, and sockets that behave like bridges in every state."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import until
from tests.processes import PATIENCE_S

RUN = "from hermes_memory_bridge.hook_program.program import main; main()"


class HookRun(NamedTuple):
    """What a hook's process did."""

    said: str
    errors: str
    code: int
    seconds: float


Hook = Callable[..., HookRun]


class LineBridge:
    """A listener at a store's line socket that notes what it is sent."""

    def __init__(self, paths: BridgePaths, answer: dict[str, Any] | bytes | None) -> None:
        """:param answer: of each line; None for a bridge that never answers"""
        self.answer = answer
        self.lines: list[dict[str, Any]] = []
        self.heard = threading.Event()
        paths.make_folder()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.bind(paths.line)
        self.socket.listen(8)
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connected, _ = self.socket.accept()
            except OSError:
                return
            with connected, connected.makefile("rb") as file:
                line = file.readline()
                if not line.endswith(b"\n"):
                    continue
                self.lines.append(json.loads(line))
                self.heard.set()
                if self.answer is None:
                    file.read()  # until the hook has gone
                    continue
                said = self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode() + b"\n"
                with contextlib.suppress(ConnectionError):  # the hook's time was over
                    connected.sendall(said)

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(PATIENCE_S)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where a store would be, in a home of its own."""
    return tmp_path / "home" / "memory.db"


@pytest.fixture
def hook(store: Path, tmp_path: Path) -> Iterator[Hook]:
    """Run the hook program. A bridge that it starts is ended afterwards."""
    home = tmp_path / "home"
    home.mkdir()

    def run(host: str, event: str, payload: object = None, *options: str, **environ: str) -> HookRun:
        said = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", RUN, host, event, "--db", str(store), *options],
            input=said,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
            cwd=tmp_path,
            env=os.environ | {"HOME": str(home), "HERMES_HOME": str(home), "HERMES_MEMORY_LINGER": "0.1"} | environ,
        )
        seconds = time.monotonic() - began
        return HookRun(done.stdout.decode(), done.stderr.decode(), done.returncode, seconds)

    yield run
    end_bridge(BridgePaths.of(store))


def end_bridge(paths: BridgePaths) -> None:
    """End the bridge that a hook has started, if it has: none may be left."""
    if not Path(paths.starting).exists():
        return
    import fcntl

    def is_gone() -> bool:
        ask_bridge(paths, "stop")
        try:
            with open(paths.lock, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return False
        return True

    until(is_gone, "the end of the bridge")


@pytest.fixture
def line_bridge(store: Path, hook: Hook) -> Iterator[Callable[..., LineBridge]]:
    """Make a listener in place of the store's bridge."""
    made: list[LineBridge] = []

    def listen(answer: dict[str, Any] | bytes | None = None) -> LineBridge:
        made.append(LineBridge(BridgePaths.of(store), answer))
        return made[-1]

    yield listen
    for one in made:
        one.close()
