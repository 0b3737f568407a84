"""Reaching the bridge of a store over its line socket, and starting one when there is none. Standard library only."""

from __future__ import annotations

import json
import os
import socket
import sys
import time

from hermes_memory_bridge.peers import connect
from hermes_memory_bridge.places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START_S = 15.0
"""How long a bridge may take to listen after it was started."""

LINGER_S = "30"
"""How long a bridge that was started on demand stays after the last one has left; `$HERMES_MEMORY_LINGER` changes it."""

GREETING = {"hermes-memory": 1}

children: set[int] = set()
"""Bridges that this process started and has not seen end. A worker's other children are its own to wait for."""


class Refused(Exception):
    """The bridge will not have us; the message says why and what to do."""


def dial(places: Places, hello: dict[str, Any], command: list[str]) -> tuple[socket.socket, dict[str, Any]]:
    """Find the bridge and greet it; the connection, and its answer.

    :param hello: what to tell it: theme, profile, token, tools
    :param command: starts a bridge
    :raises Refused: when it will not have us
    :raises ForeignSocket: when it is not this user's own; nothing was said
    :raises OSError: when there is none, and none could be started
    """
    deadline = time.monotonic() + START_S
    delay = 0.005
    starting = None
    try:
        while True:
            reap()
            try:
                return greet(places, hello)
            except (FileNotFoundError, ConnectionError, BlockingIOError, EOFError) as error:
                if starting is None:
                    starting = start_alone(places, command)
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"the memory bridge did not start within {START_S:.0f} s; see {places.log}"
                    ) from error
            if starting is not None and starting.failed():
                raise OSError(f"the memory bridge did not start: {last_line(places.log)}")
            time.sleep(delay)
            delay = min(delay * 1.3, 0.05)
    finally:
        if starting is not None:
            starting.over()


def greet(places: Places, hello: dict[str, Any]) -> tuple[socket.socket, dict[str, Any]]:
    """Connect and exchange greetings; a bridge that is just dying may still accept and then say nothing."""
    bridge = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bridge.settimeout(START_S)
        connect(bridge, places.line)
        bridge.sendall(encoded({**GREETING, **hello, "pid": os.getpid()}))
        said = bytearray()
        while not said.endswith(b"\n"):
            # One byte at a time: what follows the greeting belongs to the protocol.
            byte = bridge.recv(1)
            if not byte:
                raise EOFError
            said += byte
        answer: dict[str, Any] = json.loads(said)
        if "error" in answer:
            raise Refused(answer["error"]["message"])
    except BaseException:
        bridge.close()
        raise
    bridge.settimeout(None)
    return bridge, answer


class Starting:
    """A bridge that we start. Nobody else starts one until it is over."""

    __slots__ = ("lock", "process")

    def __init__(self, lock: int, process: int) -> None:
        self.lock = lock
        self.process: int | None = process

    def failed(self) -> bool:
        """Whether the bridge ended in failure; one that found another bridge did not."""
        how = None if self.process is None else ended(self.process)
        if how is not None:
            self.process = None
        return bool(how)

    def over(self) -> None:
        """It listens, or never will."""
        os.close(self.lock)
        if self.process is not None:
            children.add(self.process)


def start_alone(places: Places, command: list[str]) -> Starting | None:
    """Start a bridge, unless somebody is just doing so."""
    import fcntl

    places.make_folder()
    lock = os.open(places.starting, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    try:
        return Starting(lock, spawn(command, places.log))
    except BaseException:
        os.close(lock)
        raise


def spawn(command: list[str], log: str) -> int:
    """Start a process that outlives us, without a shell, its output going to the log; its process id."""
    nothing = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    writing = (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.posix_spawn(
        command[0], command, os.environ, file_actions=[nothing, writing, (os.POSIX_SPAWN_DUP2, 1, 2)], setsid=True
    )


def reap() -> None:
    """Let the bridges that we started and that have ended go."""
    for process in list(children):
        try:
            children.remove(process)
        except KeyError:  # another thread looks after it
            continue
        if ended(process) is None:
            children.add(process)


def ended(process: int) -> int | None:
    """How a child of ours ended, 0 when somebody else was told; None while it runs."""
    try:
        gone, how = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return 0
    return how if gone else None


def last_line(log: str) -> str:
    """What a bridge said last."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1][:500] if lines else f"see {log}"


def daemon_command(store: str) -> list[str]:
    """The command that starts a bridge which leaves again when nobody needs it."""
    linger = os.environ.get("HERMES_MEMORY_LINGER") or LINGER_S
    return [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", store, "--linger", linger]


def encoded(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
