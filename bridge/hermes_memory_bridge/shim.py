"""The shim: what an MCP host starts. It pumps the host's standard input and output to the bridge of the store.

Standard library only, and little of that: importing the MCP SDK takes half a second and 65 MiB, which fifty hosts pay
once, in the one bridge they share. The shim starts that bridge when there is none, and outlives it: when the bridge
restarts or dies, calls in flight are answered with an error, the handshake is said again, and the host notices nothing
else. It leaves when its host does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
import time

from hermes_memory_bridge.dialing import Refused, daemon_command, dial, encoded, reap
from hermes_memory_bridge.places import Places

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

LOST = -32000
"""JSON-RPC code of a call that the end of the bridge cut off."""


class Told(Exception):
    """A signal says that it is time to go."""


class Shim:
    """One host's connection to the bridge of a store."""

    def __init__(self, places: Places, hello: dict[str, Any], spawn: list[str]) -> None:
        """:param hello: what to tell the bridge: theme, profile, token, tools
        :param spawn: the command that starts a bridge
        """
        self.places = places
        self.hello = hello
        self.spawn = spawn
        self.host = os.getppid()
        self.wire = os.dup(1)
        os.dup2(2, 1)  # a stray print goes to standard error
        self.bridge: socket.socket | None = None
        self.from_host = Lines()
        self.from_bridge = Lines()
        self.pending: dict[Any, tuple[str, str] | None] = {}
        """Requests in flight: for a tool call, what was called and under which key."""
        self.cut_off: dict[str, tuple[str, float]] = {}
        """Calls that the end of a bridge cut off: their keys, and until when those hold."""
        self.opening: dict[str, Any] | None = None
        self.opened: bytes | None = None
        self.subscribed: dict[str, bytes] = {}
        self.swallow: set[Any] = set()
        """Answers to what the shim itself said again."""

    def run(self) -> int:
        """Pump until the host goes away."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, told)
        try:
            return self.pump()
        except (Told, BrokenPipeError):
            self.leave()
            return 0

    def pump(self) -> int:
        """Pass messages on until the host closes the pipe."""
        watching = select.poll()
        watching.register(0, select.POLLIN | select.POLLHUP)
        watching.register(self.wire, 0)  # only whether the host still reads
        try:
            self.connect()
        except (Refused, OSError) as error:
            return self.refuse(str(error))
        while True:
            ready = dict(watching.poll(LOOK_S * 1000)) if self.bridge is None else self.wait(watching)
            if self.wire in ready or (not ready and os.getppid() != self.host):
                self.leave()
                return 0
            if self.bridge is not None and self.bridge.fileno() in ready and not self.hear_bridge():
                self.reconnect()
            if 0 in ready and not self.hear_host():
                self.leave()
                return 0
            reap()

    def wait(self, watching: select.poll) -> dict[int, int]:
        """What can be read, of the host and of the bridge."""
        assert self.bridge is not None
        number = self.bridge.fileno()
        watching.register(number, select.POLLIN | select.POLLHUP)
        try:
            return dict(watching.poll(LOOK_S * 1000))
        finally:
            watching.unregister(number)

    def hear_host(self) -> bool:
        """Pass on what the host said; False when it is gone."""
        said = os.read(0, CHUNK)
        if not said:
            return False
        for line in self.from_host.feed(said):
            self.pass_on(line)
        return True

    def pass_on(self, line: bytes) -> None:
        """Send one message of the host to the bridge, under a key when it is a call."""
        message = read(line)
        method = message.get("method") if message else None
        if message and method is not None and "id" in message:
            line = self.note(message, str(method), line)
        elif method == "notifications/initialized":
            self.opened = line
        if self.bridge is None:
            try:
                self.connect()
            except (Refused, OSError) as error:
                self.give_up(f"the memory bridge cannot be reached: {error}")
                return
            if method != "initialize":
                self.say_again()
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
            line = encoded(message)
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
        """Give one line to the bridge. When it is gone, reading from it will tell."""
        try:
            if self.bridge is not None:
                self.bridge.sendall(line)
        except OSError:
            return

    def hear_bridge(self) -> bool:
        """Pass on what the bridge said; False when it is gone."""
        assert self.bridge is not None
        try:
            said = self.bridge.recv(CHUNK)
        except OSError:
            return False
        if not said:
            return False
        for line in self.from_bridge.feed(said):
            if (self.pending or self.swallow) and b'"id"' in line:
                message = read(line)
                number = message.get("id") if message and "method" not in message else None
                if isinstance(number, str | int | float):
                    if number in self.swallow:
                        self.swallow.discard(number)
                        continue
                    self.pending.pop(number, None)
            write(self.wire, line)
        return True

    def reconnect(self) -> None:
        """The bridge is gone: answer what was in flight, and find or start another."""
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self.from_bridge = Lines()
        opening = self.opening["id"] if self.opening is not None else None
        unanswered = opening is not None and opening in self.pending
        if unanswered:
            self.pending.pop(opening)
        self.give_up("the memory bridge restarted during this call; make it again, a write is not stored twice")
        try:
            self.connect()
        except (Refused, OSError):
            if unanswered:
                self.pending[opening] = None
            return  # the next message of the host tries again, and is told when that fails
        if unanswered:
            self.pending[opening] = None
        self.say_again(answered=not unanswered)

    def say_again(self, *, answered: bool = True) -> None:
        """Tell a new bridge what the host told the last one. Its answers are swallowed, unless none had come before."""
        if self.opening is None:
            return
        if answered:
            self.swallow.add(self.opening["id"])
        self.send(encoded(self.opening))
        if self.opened is not None:
            self.send(self.opened)
        for uri, line in self.subscribed.items():
            message = read(line) or {}
            message["id"] = f"hermes-memory-again-{uri}"
            self.swallow.add(message["id"])
            self.send(encoded(message))

    def give_up(self, why: str) -> None:
        """Answer every request in flight with an error, so that the host never hangs."""
        until = time.monotonic() + RETRY_S
        for number, key in self.pending.items():
            if key is not None:
                self.cut_off[key[0]] = (key[1], until)
            error = {"jsonrpc": "2.0", "id": number, "error": {"code": LOST, "message": why}}
            write(self.wire, encoded(error))
        self.pending.clear()

    def refuse(self, why: str) -> int:
        """Tell the host, in the answer to its first request, why there is no bridge."""
        sys.stderr.write(f"hermes-memory-bridge: {why}\n")
        while said := os.read(0, CHUNK):
            for line in self.from_host.feed(said):
                message = read(line)
                if message and "method" in message and "id" in message:
                    error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": LOST, "message": why}}
                    write(self.wire, encoded(error))
                    return 1
        return 1

    def leave(self) -> None:
        """The host closed the pipe: end the session properly, and pass on what the bridge still has to say."""
        if self.bridge is None:
            return
        try:
            self.send(encoded({"hermes-memory": "bye"}))
            self.bridge.shutdown(socket.SHUT_WR)
            self.bridge.settimeout(LOOK_S)
            while self.pending and self.hear_bridge():
                pass
        except OSError:
            return
        finally:
            self.bridge.close()

    def connect(self) -> None:
        """Find the bridge, starting one when there is none. :raises Refused: OSError"""
        self.bridge, answer = dial(self.places, self.hello, self.spawn)
        self.hello["resume"] = answer.get("session")


class Lines:
    """Cuts a stream of bytes into lines."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, said: bytes) -> list[bytes]:
        """The lines that are now whole, each with its newline."""
        if b"\n" not in said:
            self.rest += said
            return []
        head, _, tail = said.rpartition(b"\n")
        lines = (bytes(self.rest) + head).split(b"\n")
        self.rest = bytearray(tail)
        return [line + b"\n" for line in lines]


def read(line: bytes) -> dict[str, Any] | None:
    """A message as a dict; None for what is no message, which the bridge shall answer."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def write(handle: int, line: bytes) -> None:
    """Write all of it. :raises BrokenPipeError: when the host no longer reads"""
    view = memoryview(line)
    while view:
        view = view[os.write(handle, view) :]


def told(*_: object) -> None:
    """A signal arrived."""
    raise Told


def main(options: dict[str, str]) -> int:
    """Serve one host. :param options: `db`, `theme`, `profile`, `token`, `tools`, each may be missing"""
    places = Places.of(options.get("db"))
    hello: dict[str, Any] = {
        "theme": options.get("theme") or os.environ.get("HERMES_MEMORY_THEME"),
        "profile": options.get("profile"),
        "token": options.get("token") or os.environ.get("HERMES_MEMORY_TOKEN"),
        "tools": options.get("tools") or os.environ.get("HERMES_MEMORY_TOOLS"),
        "home": os.environ.get("HERMES_HOME", "").strip(),
    }
    hello = {name: value for name, value in hello.items() if value}
    return Shim(places, hello, daemon_command(places.store)).run()
