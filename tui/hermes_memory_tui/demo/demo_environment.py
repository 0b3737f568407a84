"""The demo environment: a temporary home folder, a real bridge on it, and agents that use it.

However the demo ends, nothing remains: no process, no socket, no folder. Agents work until their standard
input is closed and the bridge exits with the last of them, so that even `kill -9` leaves no process behind.
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

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import system_clock
from hermes_memory_store.system.own_process import to_isolated_environment
from hermes_memory_tui.app import ENDING
from hermes_memory_tui.demo import demo_home, demo_jobs
from hermes_memory_tui.system import inspector_settings

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


class DemoSignalReceived(SystemExit):
    """Raised when a termination signal arrives."""


class DemoEnvironment:
    """A running demo. Use it as a context manager: it is torn down on exit, however it ends."""

    def __init__(self, agents: int, facts: int = 0, seed: int = 1, *, listening: bool = False) -> None:
        """Set the parameters; the environment is created on entering the context.

        :param facts: how many facts to add to those of the demo day
        :param listening: whether somebody reads `reports`
        """
        self.agents = agents
        self.facts = facts
        self.seed = seed
        self.listening = listening
        self.home = Path(tempfile.gettempdir()) / f"hermes-memory-demo-{secrets.token_hex(4)}"
        self.store = self.home / demo_home.STORE
        self.places = BridgePaths.of(self.store)
        self.bridge: subprocess.Popen[bytes] | None = None
        self.crew: list[subprocess.Popen[bytes]] = []
        self._before: dict[str, str | None] = {}
        self._handlers: dict[signal.Signals, object] = {}
        self._defers_signals = False
        self._signal: int | None = None
        self._pipe: list[int] = []

    def __enter__(self) -> Self:
        self._handlers = {name: signal.signal(name, self._handle_signal) for name in ENDING}
        try:
            self._set_up()
        except BaseException:
            self._tear_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tear_down()

    def stop_agents(self) -> None:
        """Stop the agents; each finishes its current call."""
        for agent in self.crew:
            if agent.stdin is not None:
                agent.stdin.close()

    def reports(self, seconds: float | None) -> Iterator[dict[str, Any]]:
        """Yield the calls that agents report, until `seconds` after the first call.

        The agents are stopped then, or when the bridge exits before any call.
        """
        has_started = is_ending = False
        until = None
        rest = b""
        while True:
            wait_s = LOOK_S if until is None else max(0.0, until - time.monotonic())
            if not select.select(self._pipe, [], [], wait_s)[0]:
                if is_ending:
                    return
                if until is not None or (not has_started and self.bridge is not None and has_exited(self.bridge, 0.0)):
                    self.stop_agents()
                    is_ending, until = True, time.monotonic() + LEAVE_S
                continue
            piece = os.read(self._pipe[0], 65_536)
            if not piece:
                return
            if not has_started and seconds is not None:
                until = time.monotonic() + seconds
            has_started = True
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, lines)

    def _set_up(self) -> None:
        with self._deferred_signals():
            self.home.mkdir(mode=0o700)
        demo_home.make_demo_home(self.home, system_clock(), self.facts)
        wishes = inspector_settings.inspector_folder() / inspector_settings.FILE_NAME
        if wishes.is_file():
            shutil.copy(wishes, self.home)  # the person's keys and colours
        variables = self._variables()
        for name, value in variables.items():
            self._before[name] = os.environ.get(name)
            os.environ[name] = value
        for name in FOREIGN:
            if name not in variables:
                self._before[name] = os.environ.pop(name, None)
        with self._deferred_signals(), (self.home / "bridge.out").open("wb") as log:
            self.bridge = subprocess.Popen(
                [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", self.store, "--linger", LINGER_S],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
            )
            lower_priority(self.bridge)
        if self.listening:
            self._pipe = list(os.pipe())
        for number in range(self.agents):
            theme, name = demo_jobs.CAST[number % len(demo_jobs.CAST)]
            again = number // len(demo_jobs.CAST)
            self._start_agent(theme, f"{name}-{again + 1}" if again else name)
        self._start_second_machine()
        if self.listening:
            os.close(self._pipe.pop())  # so that reading ends with the last agent

    def _variables(self) -> dict[str, str]:
        """Return variables that isolate the demo.

        They keep it away from the person's own memory, hosts and keyring, and from modules in this folder.
        """
        return {
            "HOME": str(self.home),
            "HERMES_HOME": str(self.home),
            "PYTHONUSERBASE": site.getuserbase(),  # is found by $HOME, and we may be installed there
            "HERMES_MEMORY_SECRETS": "file",
            "HERMES_MEMORY_LINGER": LINGER_S,
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": to_isolated_environment().get("PYTHONPATH", ""),
        }

    def _start_agent(self, theme: str, name: str) -> None:
        arguments = [theme, name, str(self.seed), self.places.store, self.places.line]
        with self._deferred_signals():
            self.crew.append(
                subprocess.Popen(
                    [sys.executable, "-m", "hermes_memory_tui.demo.simulated_agent", *arguments],
                    stdin=subprocess.PIPE,
                    stdout=self._pipe[1] if self.listening else subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=self.home,
                    process_group=0,
                )
            )
            lower_priority(self.crew[-1])

    def _start_second_machine(self) -> None:
        with self._deferred_signals(), (self.home / "machine.log").open("wb") as log:
            self.crew.append(
                subprocess.Popen(
                    [sys.executable, "-m", "hermes_memory_tui.demo.second_machine", self.places.store],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    cwd=self.home,
                    process_group=0,
                )
            )
            lower_priority(self.crew[-1])

    def find_note(self) -> str | None:
        """Return why there is no second machine, if there is none."""
        try:
            return (self.home / demo_home.NOTE).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _tear_down(self) -> None:
        self._defers_signals = True  # a second signal changes nothing: this ends within seconds
        try:
            self.stop_agents()
            deadline = time.monotonic() + LEAVE_S
            for agent in self.crew:
                has_exited(agent, deadline)
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
        """Stop the bridge, and any bridge that an agent started to replace a killed one."""
        if self.bridge is None:
            return
        was_there = not has_exited(self.bridge, 0.0)
        if was_there:
            self.bridge.terminate()
            if not has_exited(self.bridge, time.monotonic() + LEAVE_S):
                self.bridge.kill()
        self.bridge.wait()
        deadline = time.monotonic() + SEEN_S
        other = ask_bridge(self.places, "stop")
        while other is None and not was_there and time.monotonic() < deadline:
            time.sleep(0.05)
            other = ask_bridge(self.places, "stop")
        deadline = time.monotonic() + LEAVE_S
        while other is not None and Path(self.places.pid).exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def _handle_signal(self, number: int, _: FrameType | None) -> None:
        if self._defers_signals:
            self._signal = number
            return
        raise DemoSignalReceived(128 + number)

    @contextlib.contextmanager
    def _deferred_signals(self) -> Iterator[None]:
        """Defer signals: what is being created must be registered before the teardown."""
        self._defers_signals = True
        try:
            yield
        finally:
            self._defers_signals = False
        if self._signal is not None:
            raise DemoSignalReceived(128 + self._signal)


def lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Lower the priority of a process in favour of the inspector and the person's other programs."""
    with contextlib.suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, process.pid, STEP_BACK)


def has_exited(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait until the deadline for a child to exit, and return whether it did; the child is not reaped."""
    while True:
        if process.returncode is not None:
            return True
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.02)
