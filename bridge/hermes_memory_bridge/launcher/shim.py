"""The shim: what an MCP host starts. It pumps the host's standard input and output to the bridge of the store.

Standard library only, and little of that: importing the MCP SDK takes half a second and 65 MiB, which fifty hosts
pay once, in the one bridge they share. The shim starts that bridge when there is none, and outlives it: when the
bridge restarts or dies, calls in flight are answered with an error, the handshake is repeated, and the host
notices nothing else. The shim exits with its host.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time

from hermes_memory_bridge.launcher.dialing import (
    GreetingRefused,
    dial_bridge,
    encode_message,
    reap_children,
    to_daemon_command,
)
from hermes_memory_bridge.launcher.host_state import is_host_stopped
from hermes_memory_bridge.launcher.paths import BridgePaths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CHUNK = 1 << 18
LOOK_S = 2.0
"""How often to look whether the host is still there; most tell by closing the pipe."""

RETRY_S = 600.0
"""How long a call that was cut off is taken up under its old key when the host makes it again."""

KEY = "io.hermes-memory/key"
"""The idempotency key of a call, in its `_meta`."""

PING = b'{"hermes-memory":"ping"}'
"""Begins the bridge's question whether the agent is alive."""

CONNECTION_LOST_CODE = -32000
"""JSON-RPC code of a call that the end of the bridge cut off."""


class TerminationSignal(Exception):
    """A termination signal was received."""


class HostShim:
    """A host's connection to the bridge of a store."""

    def __init__(self, paths: BridgePaths, hello: dict[str, Any], spawn: list[str]) -> None:
        """:param hello: the greeting: theme, profile, token, tools
        :param spawn: the command that starts a bridge
        """
        self.paths = paths
        self.hello = hello
        self.spawn = spawn
        self.host = os.getppid()
        self.wire = os.dup(1)
        os.dup2(2, 1)  # a stray print goes to standard error
        self.bridge: socket.socket | None = None
        self.from_host = LineBuffer()
        self.from_bridge = LineBuffer()
        self.pending: dict[Any, tuple[str, str] | None] = {}
        """Requests in flight: for a tool call, what was called and under which key."""
        self.cut_off: dict[str, tuple[str, float]] = {}
        """Calls that the end of a bridge cut off: their keys, and until when those hold."""
        self.opening: dict[str, Any] | None = None
        self.opened: bytes | None = None
        self.subscribed: dict[str, bytes] = {}
        self.swallow: set[Any] = set()
        """Answers to what the shim itself said again."""
        self.is_asked = False
        """Whether the bridge has asked if the agent is alive, and has no answer yet."""

    def run(self) -> int:
        """Pump until the host disconnects."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, raise_termination_signal)
        try:
            return self.pump()
        except (TerminationSignal, BrokenPipeError):
            self.say_goodbye()
            return 0

    def pump(self) -> int:
        """Forward messages until the host closes the pipe."""
        watching = select.poll()
        watching.register(0, select.POLLIN | select.POLLHUP)
        watching.register(self.wire, 0)  # only whether the host still reads
        try:
            self.connect()
        except (GreetingRefused, OSError) as error:
            return self.refuse(str(error))
        while True:
            ready = dict(watching.poll(LOOK_S * 1000)) if self.bridge is None else self.wait(watching)
            if self.wire in ready or (not ready and os.getppid() != self.host):
                self.say_goodbye()
                return 0
            if self.bridge is not None and self.bridge.fileno() in ready and not self.read_bridge():
                self.reconnect()
            if 0 in ready and not self.read_host():
                self.say_goodbye()
                return 0
            self.answer_ping()
            reap_children()

    def wait(self, watching: select.poll) -> dict[int, int]:
        """Wait until the host or the bridge can be read, and return which."""
        assert self.bridge is not None
        number = self.bridge.fileno()
        watching.register(number, select.POLLIN | select.POLLHUP)
        try:
            return dict(watching.poll(LOOK_S * 1000))
        finally:
            watching.unregister(number)

    def read_host(self) -> bool:
        """Forward input from the host; return False at its end."""
        said = os.read(0, CHUNK)
        if not said:
            return False
        for line in self.from_host.feed(said):
            self.forward(line)
        return True

    def forward(self, line: bytes) -> None:
        """Send one message of the host to the bridge, under a key if it is a call."""
        message = parse_host_message(line)
        method = message.get("method") if message else None
        if message and method is not None and "id" in message:
            line = self.note(message, str(method), line)
        elif method == "notifications/initialized":
            self.opened = line
        if self.bridge is None:
            try:
                self.connect()
            except (GreetingRefused, OSError) as error:
                self.give_up(f"the memory bridge cannot be reached: {error}")
                return
            if method != "initialize":
                self.resend_pending()
        self.send(line)

    def note(self, message: dict[str, Any], method: str, line: bytes) -> bytes:
        """Remember a request in flight; a tool call gets its key."""
        number = message["id"]
        key = None
        if method == "tools/call" and isinstance(message.get("params"), dict):
            params = message["params"]
            called = json.dumps([params.get("name"), params.get("arguments")], sort_keys=True)
            known, until = self.cut_off.pop(called, ("", 0.0))
            key = (called, known if known and time.monotonic() < until else os.urandom(16).hex())
            meta = params.get("_meta")
            params["_meta"] = {**meta, KEY: key[1]} if isinstance(meta, dict) else {KEY: key[1]}
            line = encode_message(message)
        elif method == "initialize":
            self.opening = message
        elif method in ("resources/subscribe", "resources/unsubscribe") and isinstance(message.get("params"), dict):
            uri = str(message["params"].get("uri"))
            if method == "resources/subscribe":
                self.subscribed[uri] = line
            else:
                self.subscribed.pop(uri, None)
        if isinstance(number, str | int | float):
            self.pending[number] = key
        return line

    def send(self, line: bytes) -> None:
        """Send one line to the bridge. If it is gone, reading from it will show."""
        try:
            if self.bridge is not None:
                self.bridge.sendall(line)
        except OSError:
            return

    def read_bridge(self) -> bool:
        """Forward output of the bridge; return False at its end."""
        assert self.bridge is not None
        try:
            said = self.bridge.recv(CHUNK)
        except OSError:
            return False
        if not said:
            return False
        for line in self.from_bridge.feed(said):
            if line.startswith(PING):
                self.is_asked = True
                continue
            if (self.pending or self.swallow) and b'"id"' in line:
                message = parse_host_message(line)
                number = message.get("id") if message and "method" not in message else None
                if isinstance(number, str | int | float):
                    if number in self.swallow:
                        self.swallow.discard(number)
                        continue
                    self.pending.pop(number, None)
            write_all(self.wire, line)
        return True

    def answer_ping(self) -> None:
        """Tell the bridge that the agent is alive, if it asked. While the host is stopped it gets no answer."""
        if self.is_asked and not is_host_stopped():
            self.is_asked = False
            self.send(encode_message({"hermes-memory": "pulse"}))

    def reconnect(self) -> None:
        """Answer calls in flight after the bridge has gone, and find or start another."""
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self.from_bridge = LineBuffer()
        self.is_asked = False
        opening = self.opening["id"] if self.opening is not None else None
        unanswered = opening is not None and opening in self.pending
        if unanswered:
            self.pending.pop(opening)
        self.give_up("the memory bridge restarted during this call; make it again, a write is not stored twice")
        try:
            self.connect()
        except (GreetingRefused, OSError):
            if unanswered:
                self.pending[opening] = None
            return  # the next message of the host tries again, and is told when that fails
        if unanswered:
            self.pending[opening] = None
        self.resend_pending(answered=not unanswered)

    def resend_pending(self, *, answered: bool = True) -> None:
        """Repeat to a new bridge what the host sent the last one.

        Its answers are discarded, unless none had come before.
        """
        if self.opening is None:
            return
        if answered:
            self.swallow.add(self.opening["id"])
        self.send(encode_message(self.opening))
        if self.opened is not None:
            self.send(self.opened)
        for uri, line in self.subscribed.items():
            message = parse_host_message(line) or {}
            message["id"] = f"hermes-memory-again-{uri}"
            self.swallow.add(message["id"])
            self.send(encode_message(message))

    def give_up(self, why: str) -> None:
        """Answer every request in flight with an error, so that the host never hangs."""
        until = time.monotonic() + RETRY_S
        for number, key in self.pending.items():
            if key is not None:
                self.cut_off[key[0]] = (key[1], until)
            error = {"jsonrpc": "2.0", "id": number, "error": {"code": CONNECTION_LOST_CODE, "message": why}}
            write_all(self.wire, encode_message(error))
        self.pending.clear()

    def refuse(self, why: str) -> int:
        """Report, in the answer to the host's first request, why there is no bridge."""
        sys.stderr.write(f"hermes-memory-bridge: {why}\n")
        while said := os.read(0, CHUNK):
            for line in self.from_host.feed(said):
                message = parse_host_message(line)
                if message and "method" in message and "id" in message:
                    error = {
                        "jsonrpc": "2.0",
                        "id": message["id"],
                        "error": {"code": CONNECTION_LOST_CODE, "message": why},
                    }
                    write_all(self.wire, encode_message(error))
                    return 1
        return 1

    def say_goodbye(self) -> None:
        """End the session properly after the host closed the pipe, and forward what the bridge still sends."""
        if self.bridge is None:
            return
        try:
            self.send(encode_message({"hermes-memory": "bye"}))
            self.bridge.shutdown(socket.SHUT_WR)
            self.bridge.settimeout(LOOK_S)
            while self.pending and self.read_bridge():
                pass
        except OSError:
            return
        finally:
            self.bridge.close()

    def connect(self) -> None:
        """Connect to the bridge, starting one when there is none.

        :raises GreetingRefused: the bridge rejected the greeting
        :raises OSError: none is running, and none could be started
        """
        self.bridge, answer = dial_bridge(self.paths, self.hello, self.spawn)
        self.hello["resume"] = answer.get("session")


class LineBuffer:
    """Split a stream of bytes into lines."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, said: bytes) -> list[bytes]:
        """Return the lines that are now complete, each with its newline."""
        if b"\n" not in said:
            self.rest += said
            return []
        head, _, tail = said.rpartition(b"\n")
        lines = (bytes(self.rest) + head).split(b"\n")
        self.rest = bytearray(tail)
        return [line + b"\n" for line in lines]


def parse_host_message(line: bytes) -> dict[str, Any] | None:
    """Parse a message as a dict; None for an invalid one, to which the bridge responds."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def write_all(handle: int, line: bytes) -> None:
    """Write everything.

    :raises BrokenPipeError: the host no longer reads
    """
    view = memoryview(line)
    while view:
        view = view[os.write(handle, view) :]


def raise_termination_signal(*_: object) -> None:
    """Raise TerminationSignal; the signal handler."""
    raise TerminationSignal


def find_working_folder() -> str:
    """Return the folder the host started this process in; empty when it is gone."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def run_shim(options: dict[str, str]) -> int:
    """Serve one host.

    :param options: `db`, `theme`, `profile`, `token`, `tools`, each may be missing
    """
    paths = BridgePaths.of(options.get("db"))
    hello: dict[str, Any] = {
        "theme": options.get("theme") or os.environ.get("HERMES_MEMORY_THEME"),
        "profile": options.get("profile"),
        "token": options.get("token") or os.environ.get("HERMES_MEMORY_TOKEN"),
        "tools": options.get("tools") or os.environ.get("HERMES_MEMORY_TOOLS"),
        "home": os.environ.get("HERMES_HOME", "").strip(),
        "folder": find_working_folder(),
        "pulse": 1,
    }
    hello = {name: value for name, value in hello.items() if value}
    return HostShim(paths, hello, to_daemon_command(paths.store)).run()
