"""Connecting to the bridge of a store over its line socket, starting one if needed. Standard library only."""

from __future__ import annotations

import os
import sys
import time

from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.bridge_process import BridgeProcess, start_bridge_process
from hermes_memory_bridge.wire.line import connect_line, greet, leave_bridge, parse_greeting, read_line, to_serve_words
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.silence import LOOK_S, check_process, wait_for_answer
from hermes_memory_bridge.wire.version_order import is_older

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

START_S = 15.0
"""How long nobody may listen while no process is seen to start."""


def dial_bridge(
    paths: BridgePaths, hello: dict[str, Any], command: list[str], report: Callable[[str], object] = str
) -> tuple[socket.socket, dict[str, Any]]:
    """Connect to the bridge and exchange greetings; return the connection and the bridge's answer.

    A bridge that was started is waited for as long as its process lives and is not stopped. In place of a bridge of an older
    version one of this version is started, which asks the older one to end. When that does not come about, the older one serves.

    :param hello: the greeting: theme, profile, token, tools
    :param command: starts a bridge
    :param report: is told once what is waited for, when that takes long
    :raises GreetingRefused: the bridge rejected the greeting
    :raises ForeignSocket: the socket is not this user's own; nothing was sent
    :raises ListenerStopped: the process of the bridge is stopped
    :raises OSError: no bridge is running, and none could be started
    """
    deadline = time.monotonic() + START_S
    look_at = time.monotonic() + LOOK_S
    delay = 0.005
    lock, starting = -1, None
    try:
        while True:
            try:
                bridge, answer = greet_bridge(paths, hello)
                if not is_older(answer.get("version"), __version__) or time.monotonic() > deadline:
                    return bridge, answer
                if starting is None:
                    lock, starting = start_bridge_alone(paths, command)
                elif not starting.is_running():
                    return bridge, answer
                leave_bridge(bridge)
            except (FileNotFoundError, ConnectionError, BlockingIOError):
                if starting is None:
                    lock, starting = start_bridge_alone(paths, command)
            now = time.monotonic()
            if starting is None:  # another process starts one, and waits for it
                deadline = now + START_S
            elif starting.has_failed():
                raise OSError(f"the memory bridge did not start: {find_last_log_line(paths.log)}")
            elif starting.is_running():
                deadline = now + START_S
                if now > look_at:
                    look_at = now + LOOK_S
                    check_process(starting.pid)
                    report(f"waiting for the memory bridge, process {starting.pid}, to start; see {paths.log}")
                    report = str
            elif now > deadline:
                raise TimeoutError(f"the memory bridge did not start within {START_S:.0f} s; see {paths.log}")
            time.sleep(delay)
            delay = min(delay * 1.3, 0.05)
    finally:
        if starting is not None:
            os.close(lock)  # it listens, or never will: others may start one
            starting.forget()


def greet_bridge(paths: BridgePaths, hello: dict[str, Any]) -> tuple[socket.socket, dict[str, Any]]:
    """Connect and exchange greetings; a bridge that is just dying may still accept and then send nothing."""
    bridge = connect_line(paths.line, START_S)
    try:
        greet(bridge, hello)
        wait_for_answer(bridge, paths, START_S, is_patient=True)
        answer = parse_greeting(read_line(bridge, time.monotonic() + START_S))
    except BaseException:
        bridge.close()
        raise
    bridge.settimeout(None)
    return bridge, answer


def start_bridge_alone(paths: BridgePaths, command: list[str]) -> tuple[int, BridgeProcess | None]:
    """Start a bridge, unless another process is just starting one; return the lock that says so, and the process."""
    import fcntl

    paths.make_folder()
    lock = os.open(paths.starting, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return -1, None
    try:
        return lock, start_bridge_process(command, paths.log)
    except BaseException:
        os.close(lock)
        raise


def find_last_log_line(log: str) -> str:
    """Return the last line a bridge logged, or why it could log none."""
    from hermes_memory_store.system.filesystem import NO_ROOM, find_write_refusal  # here: no start waits for it

    if refusal := find_write_refusal(os.path.dirname(log)):
        return (
            f"{'the disk is full: ' * (refusal.errno in NO_ROOM)}nothing can be written to {log} ({refusal.strerror})"
        )
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:500] if lines else f"see {log}"


def to_daemon_command(store: str) -> list[str]:
    """Return the command that starts a bridge which exits when nobody needs it."""
    return [sys.executable, "-P", "-m", "hermes_memory_bridge", *to_serve_words(store)]
