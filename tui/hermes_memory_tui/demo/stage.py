"""The stage: a home folder that is thrown away, a real bridge on it, and agents that use it.

Whatever ends the demonstration, nothing is left: neither a process nor a socket nor the folder. Agents work until their
standard input is closed and the bridge leaves with the last of them, so that even `kill -9` leaves no process behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from hermes_memory_bridge.control import ask
from hermes_memory_bridge.places import Places
from hermes_memory_store.clock import system_clock
from hermes_memory_tui import settings
from hermes_memory_tui.app import ENDING
from hermes_memory_tui.demo import home, work

LINGER_S = "5"
"""How long the bridge stays without an agent."""

STEP_BACK = 10
"""How much nicer the children are than the inspector: a dozen processes start while it is about to paint."""

LEAVE_S = 5.0
"""How long a process may take to leave before it is killed."""

LOOK_S = 0.5
"""How often to look whether the bridge is still to come."""

SEEN_S = 2.0
"""How long a bridge that an agent is just starting may take to be seen."""

FOREIGN = (
    "HERMES_MEMORY_DB",
    "HERMES_MEMORY_THEME",
    "HERMES_MEMORY_TOKEN",
    "HERMES_MEMORY_TOOLS",
    "HERMES_MEMORY_LINGER",
)
"""Variables that belong to the person's own memory."""


class Told(SystemExit):
    """A signal asks to end."""


class Stage:
    """A demonstration that runs. Use it as a context: it is struck when it ends, however it ends."""

    def __init__(self, agents: int, facts: int = 0, seed: int = 1, *, listening: bool = False) -> None:
        """:param facts: so many more in the store, besides those of the demo day
        :param listening: whether somebody reads `reports`
        """
        self.agents = agents
        self.facts = facts
        self.seed = seed
        self.listening = listening
        self.home = Path(tempfile.gettempdir()) / f"hermes-memory-demo-{secrets.token_hex(4)}"
        self.store = self.home / home.STORE
        self.places = Places.of(self.store)
        self.bridge: subprocess.Popen[bytes] | None = None
        self.crew: list[subprocess.Popen[bytes]] = []
        self._before: dict[str, str | None] = {}
        self._handlers: dict[signal.Signals, object] = {}
        self._held = False
        self._told: int | None = None
        self._pipe: list[int] = []

    def __enter__(self) -> Self:
        self._handlers = {name: signal.signal(name, self._hear) for name in ENDING}
        try:
            self._set()
        except BaseException:
            self._strike()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._strike()

    def dismiss(self) -> None:
        """Let the agents go; they finish the call they are at."""
        for agent in self.crew:
            if agent.stdin is not None:
                agent.stdin.close()

    def reports(self, seconds: float | None) -> Iterator[dict[str, Any]]:
        """What agents call, as they report it, until so long after the first call; to the end when the bridge never came."""
        heard = let_go = False
        until = None
        rest = b""
        while True:
            wait_s = LOOK_S if until is None else max(0.0, until - time.monotonic())
            if not select.select(self._pipe, [], [], wait_s)[0]:
                if let_go:
                    return
                if until is not None or (not heard and self.bridge is not None and ended(self.bridge, 0.0)):
                    self.dismiss()
                    let_go, until = True, time.monotonic() + LEAVE_S
                continue
            piece = os.read(self._pipe[0], 65_536)
            if not piece:
                return
            if not heard and seconds is not None:
                until = time.monotonic() + seconds
            heard = True
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, lines)

    def _set(self) -> None:
        with self._holding():
            self.home.mkdir(mode=0o700)
        home.make(self.home, system_clock(), self.facts)
        wishes = settings.folder() / settings.FILE_NAME
        if wishes.is_file():
            shutil.copy(wishes, self.home)  # the person's keys and colours
        variables = self._variables()
        for name, value in variables.items():
            self._before[name] = os.environ.get(name)
            os.environ[name] = value
        for name in FOREIGN:
            if name not in variables:
                self._before[name] = os.environ.pop(name, None)
        with self._holding(), (self.home / "bridge.out").open("wb") as log:
            self.bridge = subprocess.Popen(
                [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", self.store, "--linger", LINGER_S],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
            step_back(self.bridge)
        if self.listening:
            self._pipe = list(os.pipe())
        for number in range(self.agents):
            theme, name = work.CAST[number % len(work.CAST)]
            again = number // len(work.CAST)
            self._hire(theme, f"{name}-{again + 1}" if again else name)
        if self.listening:
            os.close(self._pipe.pop())  # so that reading ends with the last agent

    def _variables(self) -> dict[str, str]:
        """What keeps all of it away from the person's own memory, hosts and keyring, and from modules in this folder."""
        return {
            "HOME": str(self.home),
            "HERMES_HOME": str(self.home),
            "PYTHONUSERBASE": site.getuserbase(),  # is found by $HOME, and we may be installed there
            "HERMES_MEMORY_SECRETS": "file",
            "HERMES_MEMORY_LINGER": LINGER_S,
            "PYTHONSAFEPATH": "1",
        }

    def _hire(self, theme: str, name: str) -> None:
        """Start one agent, in a process group of its own with the shim that it starts."""
        told = [theme, name, str(self.seed), self.places.store, self.places.line]
        with self._holding():
            self.crew.append(
                subprocess.Popen(
                    [sys.executable, "-m", "hermes_memory_tui.demo.agent", *told],
                    stdin=subprocess.PIPE,
                    stdout=self._pipe[1] if self.listening else subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    process_group=0,
                )
            )
            step_back(self.crew[-1])

    def _strike(self) -> None:
        self._held = True  # a second signal changes nothing: this ends within seconds
        try:
            self.dismiss()
            deadline = time.monotonic() + LEAVE_S
            for agent in self.crew:
                ended(agent, deadline)
            for agent in self.crew:
                # Not reaped yet, so that the number of the group cannot have become somebody else's.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(agent.pid, signal.SIGKILL)
                agent.wait()
            self._stop_bridge()
            for handle in self._pipe:
                os.close(handle)
            for folder in (self.places.folder, str(self.home)):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            for name, value in self._before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            for number, handler in self._handlers.items():
                signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal gave

    def _stop_bridge(self) -> None:
        """Stop the bridge, and the one that an agent started in its place when it was killed."""
        if self.bridge is None:
            return
        was_there = not ended(self.bridge, 0.0)
        if was_there:
            self.bridge.terminate()
            if not ended(self.bridge, time.monotonic() + LEAVE_S):
                self.bridge.kill()
        self.bridge.wait()
        deadline = time.monotonic() + SEEN_S
        other = ask(self.places, "stop")
        while other is None and not was_there and time.monotonic() < deadline:
            time.sleep(0.05)
            other = ask(self.places, "stop")
        deadline = time.monotonic() + LEAVE_S
        while other is not None and Path(self.places.pid).exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self._held:
            self._told = number
            return
        raise Told(128 + number)

    @contextlib.contextmanager
    def _holding(self) -> Iterator[None]:
        """Hear signals only afterwards: what is made now must be known before anything is struck."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._told is not None:
            raise Told(128 + self._told)


def step_back(process: subprocess.Popen[bytes]) -> None:
    """Let the inspector, and whatever else the person does, go first."""
    with contextlib.suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, STEP_BACK)


def ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Whether a child has ended, waiting for it until then; it is not reaped."""
    while True:
        if process.returncode is not None:
            return True
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
