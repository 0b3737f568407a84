"""The bridge's line socket, spoken to in plain MCP: newline-delimited JSON-RPC, one connection for each theme.

The rules are those of the bridge's own shim (`places.py`, `dialing.py`), which cannot be imported where this runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import time

from .peers import connect, make_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST_SOCKET = 100
"""Bytes of a unix socket's path that every system takes."""

GREETING_S = 5.0

CALL_S = 10.0
"""How long one call may take; a bridge that hangs must not hold up what waits behind for ever."""

START_S = 20.0
"""How long a bridge that was started may take to listen."""

AGAIN_S, FAILED_S = 1.0, 15.0
"""Pauses before another one is started, when the last one ended well and when it failed."""

LINGER_S = "30"

KEY = "io.hermes-memory/key"
PREFIX = "io.modelcontextprotocol/"
ENVELOPE = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": {"name": "hermes-agent", "version": "provider"},
    PREFIX + "clientCapabilities": {},
}

PASSING = frozenset({"internal", "store.locked", "store.disk_full", "store.unreadable", "rate.limited"})
"""Refusals after which trying again is of use."""


class Unreachable(Exception):
    """No bridge answers, or it will not have us; what was to be said waits."""


class Later(Exception):
    """The bridge cannot do it now."""


class Refused(Exception):
    """The bridge will never do it; `code` says why."""

    def __init__(self, code: str, said: str) -> None:
        super().__init__(said)
        self.code = code


def socket_of(db: str) -> str:
    """The line socket of a store."""
    folder = db + ".bridge"
    if len(os.fsencode(folder)) + len("/line.sock") > LONGEST_SOCKET:
        name = hashlib.sha256(os.fsencode(db)).hexdigest()[:16]
        folder = os.path.join("/tmp", f"hermes-memory-{os.getuid()}", name)  # noqa: S108 - see `peers`
    return os.path.join(folder, "line.sock")


class Line:
    """One connection, made when it is needed and made again when the bridge was restarted."""

    def __init__(self, db: str, theme: str, home: str, answered: Callable[[], None] = lambda: None) -> None:
        """:param answered: is told of every answer: there is a bridge"""
        self.answered = answered
        self.path = socket_of(db)
        self.hello = {"hermes-memory": 1, "theme": theme, "home": home, "pid": os.getpid()}
        token = os.environ.get("HERMES_MEMORY_TOKEN")
        if token:
            self.hello["token"] = token
        self.bridge: socket.socket | None = None
        self.rest = bytearray()
        self.number = 0

    def call(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> tuple[str, dict[str, Any]]:
        """Call a tool; its text and its data. With a key, a call that is made again is not carried out twice.

        :raises Unreachable: Later, Refused
        """
        (answer,) = self.calls([(tool, arguments)], key)
        return outcome(answer)

    def calls(self, asked: list[tuple[str, dict[str, Any]]], key: str | None = None) -> list[dict[str, Any]]:
        """Call several tools with one trip; their answers, for `outcome`. :raises Unreachable:"""
        fresh = self.bridge is None
        try:
            return self._called(asked, key)
        except OSError as error:
            self.drop()
            if fresh or isinstance(error, TimeoutError) or (key is None and not all(reads(tool) for tool, _ in asked)):
                raise Unreachable(str(error) or type(error).__name__) from error
        try:
            return self._called(asked, key)  # the bridge was restarted since the last call
        except OSError as error:
            self.drop()
            raise Unreachable(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Leave properly: the bridge ends this connection's sessions."""
        if self.bridge is not None:
            with contextlib.suppress(OSError):
                self.bridge.sendall(b'{"hermes-memory":"bye"}\n')
            self.drop()

    def drop(self) -> None:
        """Let go of a connection that is of no more use."""
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self.rest.clear()

    def _called(self, asked: list[tuple[str, dict[str, Any]]], key: str | None) -> list[dict[str, Any]]:
        if self.bridge is None:
            self._connect()
        assert self.bridge is not None
        meta = {**ENVELOPE, KEY: key} if key else ENVELOPE
        said = bytearray()
        wanted: dict[int, dict[str, Any] | None] = {}
        for tool, arguments in asked:
            self.number += 1
            wanted[self.number] = None
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            said += encoded({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})
        self.bridge.settimeout(CALL_S)
        self.bridge.sendall(said)
        until = time.monotonic() + CALL_S
        while any(answer is None for answer in wanted.values()):
            if time.monotonic() > until:
                raise TimeoutError("no answer")
            message = json.loads(self._heard())
            if "method" not in message and message.get("id") in wanted:
                wanted[message["id"]] = message
        self.answered()
        return [answer for answer in wanted.values() if answer is not None]

    def _connect(self) -> None:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.bridge = made
        made.settimeout(GREETING_S)
        connect(made, self.path)
        made.sendall(encoded(self.hello))
        answer = json.loads(self._heard())
        if "error" in answer:
            self.drop()
            raise Unreachable(str(answer["error"].get("message")))
        self.hello["resume"] = answer.get("session")

    def _heard(self) -> bytes:
        """The next line. :raises OSError: there will be none"""
        assert self.bridge is not None
        while b"\n" not in self.rest:
            said = self.bridge.recv(1 << 16)
            if not said:
                raise ConnectionResetError("the bridge closed the connection")
            self.rest += said
        line, _, rest = bytes(self.rest).partition(b"\n")
        self.rest = bytearray(rest)
        return line


class Starter:
    """Starts the bridge of a store when there is none, as the shim does: one at a time, and it outlives us."""

    def __init__(self, db: str, command: tuple[str, ...]) -> None:
        self.db = db
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.until = 0.0
        self.failed = False
        self.answered = False
        """Whether the one that was started last ever did."""

    def start(self) -> bool:
        """Start one, unless it cannot be or somebody is about to; whether one may come up soon."""
        now = time.monotonic()
        if self.process is not None and self.process.poll() is not None:
            # It found another one, or left because nobody came, or cannot start at all.
            self.failed = self.process.returncode != 0 and not self.answered
            self.until = now + (FAILED_S if self.failed else AGAIN_S)
            self.process = None
        if now < self.until:
            return not self.failed
        if not self.command or not os.access(self.command[0], os.X_OK):
            return False
        self.until, self.failed, self.answered = now + START_S, False, False
        folder = os.path.dirname(socket_of(self.db))
        linger = os.environ.get("HERMES_MEMORY_LINGER") or LINGER_S
        # The host's own modules must not be found by another interpreter.
        environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        try:
            make_folders(socket_of(self.db))
            os.makedirs(os.path.dirname(self.db), mode=0o700, exist_ok=True)
            with open(os.path.join(folder, "bridge.log"), "ab", opener=private) as log:
                self.process = subprocess.Popen(
                    [*self.command, "serve", "--db", self.db, "--linger", linger],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environ,
                    start_new_session=True,
                    cwd="/",
                )
        except OSError:
            return False
        return True

    def reached(self) -> None:
        """A bridge answers; the next one that is missing may be started at once."""
        self.until, self.answered = 0.0, True
        if self.process is not None and self.process.poll() is not None:
            self.process = None


def outcome(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What an answer says. :raises Later: Refused"""
    if "error" in message:
        raise Later(str(message["error"].get("message")))
    result = message["result"]
    data: dict[str, Any] = result.get("structuredContent") or {}
    said = "\n".join(part.get("text", "") for part in result.get("content", []))
    if "error" in data:
        code = str(data["error"].get("code"))
        if code in PASSING:
            raise Later(said)
        raise Refused(code, said)
    return said, data


def reads(tool: str) -> bool:
    """Whether calling it twice does no harm."""
    return tool in (
        "memory_search",
        "memory_status",
        "memory_history",
        "memory_export",
        "recall_memory",
        "recall_conversation",
    )


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def encoded(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def available(db: str, command: tuple[str, ...]) -> str | None:
    """Why there can be no bridge; None when one is there or may be started. Connects to nothing."""
    if sys.platform == "win32":
        return "the memory bridge listens on unix sockets, which this system has not"
    if os.path.exists(socket_of(db)) or (command and os.access(command[0], os.X_OK)):
        return None
    if not command:
        return f"no bridge serves {db}; start one, or install again with `hermes-memory-bridge connect hermes-agent --provider`"
    return f"{command[0]} is gone; install again with `hermes-memory-bridge connect hermes-agent --provider`"
