"""Processes that are stopped: a bridge accepts connections and says nothing, for ever, and its host asks nothing.

Standard library only, and little of that: the shim imports it.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time

from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.peers import find_peer

LOOK_S = 2.0
"""Silence after which the listener's process is looked at. A bridge on a busy machine answers within a fraction of it."""


STOPPED = (b"T", b"t")
"""Stopped by a signal, or by a debugger (`man 5 proc_pid_stat`)."""

MOST_ANCESTORS = 8
"""Programs between a host and its shim, such as `sh`, `npx` or `uvx`."""


class ListenerStopped(OSError):
    """The process that listens is stopped (SIGSTOP, or ctrl-z), so it will not answer. The message names it."""


def wait_for_answer(bridge: socket.socket, paths: BridgePaths, timeout_s: float, *, is_patient: bool = False) -> None:
    """Wait until the bridge has said something, or has ended the connection.

    :param is_patient: wait longer, as long as its process runs
    :raises ListenerStopped: its process is stopped
    :raises TimeoutError: it said nothing within the time
    """
    answered = select.poll()
    answered.register(bridge, select.POLLIN | select.POLLHUP)
    deadline = time.monotonic() + timeout_s
    while not answered.poll(max(0.0, min(LOOK_S, deadline - time.monotonic())) * 1000):
        process = check_listener(bridge, paths)
        if time.monotonic() >= deadline and not (is_patient and process is not None):
            raise TimeoutError(
                f"the memory bridge{'' if process is None else f', process {process},'} has not answered within "
                f"{timeout_s:.0f} s; see {paths.log}"
            )


def check_listener(bridge: socket.socket, paths: BridgePaths | None = None) -> int | None:
    """Return the process at the other end, None when the system does not tell. :raises ListenerStopped: it is stopped"""
    process = find_listener_process(bridge, paths)
    if process is not None:
        check_process(process)
    return process


def check_process(process: int) -> None:
    """Check that the process of a bridge runs. :raises ListenerStopped: it is stopped, or its control group is frozen"""
    if is_process_stopped(process):
        raise ListenerStopped(
            f"the memory bridge, process {process}, is stopped and does not answer; let it go on with "
            f"`kill -CONT {process}`, or end it with `kill -KILL {process}`: another one is then started"
        )
    if is_process_frozen(process):
        raise ListenerStopped(
            f"the memory bridge, process {process}, is frozen with its control group; thaw that first"
        )


def find_listener_process(bridge: socket.socket, paths: BridgePaths | None) -> int | None:
    """Return the process at the other end as the system reports it, else the one that the bridge has written down."""
    try:
        process = find_peer(bridge).pid
        if process is None and paths is not None:
            with open(paths.pid, encoding="ascii") as file:
                process = int(file.read())
    except (OSError, ValueError):
        return None
    return process


def is_process_stopped(process: int) -> bool:
    """Check whether a process is stopped by a signal or a debugger; False when the system does not tell."""
    if sys.platform == "linux":
        process_state = find_process_state(process)
        state = process_state[0] if process_state is not None else b""
    else:
        import subprocess

        command = ["/bin/ps", "-o", "state=", "-p", str(process)]
        try:
            state = subprocess.run(command, capture_output=True, check=False).stdout.strip()[:1]
        except OSError:
            return False
    return state in STOPPED


def is_process_frozen(process: int) -> bool:
    """Check whether the control group of a process, of either version, is frozen; False when the system does not tell."""
    groups = dict(line.split(":", 2)[1:] for line in read_system_file(f"/proc/{process}/cgroup").split("\n")[:-1])
    paths = (f"freezer{groups.get('freezer')}/freezer.state", f"{groups.get('')}/cgroup.events")
    lines = [line for path in paths for line in read_system_file(f"/sys/fs/cgroup/{path}").splitlines()]
    return "FROZEN" in lines or "frozen 1" in lines


def read_system_file(path: str) -> str:
    """Return what the system tells at a path; empty when it tells nothing."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def is_host_stopped() -> bool:
    """Check whether the process that started this one, or one above it in the same session, is stopped."""
    process = os.getppid()
    session = os.getsid(0)
    for _ in range(MOST_ANCESTORS):
        process_state = find_process_state(process)
        if process_state is None:
            return False
        state, parent, its_session = process_state
        if its_session != session and process != os.getppid():
            return False
        if state in STOPPED:
            return True
        process = parent
    return False


def find_process_state(process: int) -> tuple[bytes, int, int] | None:
    """Return state, parent and session of a process; None where the system does not tell."""
    if process <= 1:
        return None
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            content = file.read()
    except OSError:
        return None
    state, parent, _group, session, *_ = content[content.rindex(b")") + 2 :].split(maxsplit=4)
    return state, int(parent), int(session)
