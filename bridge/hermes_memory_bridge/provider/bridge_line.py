"""Tool calls over the bridge's line socket in plain MCP, one connection for each theme, and the start of a bridge."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time

from hermes_memory_bridge.wire.line import (
    connect_line,
    greet,
    leave_bridge,
    parse_greeting,
    read_line,
    to_serve_words,
)
from hermes_memory_bridge.wire.messages import CLOSE, FOLDER, KEY, PING, PULSE, WAY, encode_message
from hermes_memory_bridge.wire.paths import BridgePaths, find_working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

GREETING_S = 5.0

CALL_S = 10.0
"""How long one call may take; a bridge that hangs must not hold up what waits behind for ever."""

START_S = 20.0
"""How long a bridge that was started may take to listen."""

AGAIN_S, FAILED_S = 1.0, 15.0
"""Pauses before another one is started, when the last one ended well and when it failed."""

PREFIX = "io.modelcontextprotocol/"
ENVELOPE = {
    PREFIX + "protocolVersion": "2026-07-28",
    PREFIX + "clientInfo": {"name": "hermes-agent", "version": "provider"},
    PREFIX + "clientCapabilities": {},
}

PASSING = frozenset({"internal", "store.locked", "store.disk_full", "store.unreadable", "rate.limited"})
"""Refusals after which trying again is of use."""


class BridgeNotReachable(Exception):
    """No bridge answers, or it rejected the greeting; the data stays queued."""


class BridgeBusy(Exception):
    """The bridge cannot process the call now."""


class CallRefused(Exception):
    """The bridge will never process the call; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BridgeLine:
    """A connection, opened when it is needed and reopened when the bridge was restarted."""

    def __init__(self, db: str, theme: str, home: str, answered: Callable[[], None] = lambda: None) -> None:
        """:param answered: called at every answer: a bridge is running"""
        self.answered = answered
        self.path = BridgePaths(db).line
        self.hello = {"theme": theme, "home": home, "pulse": 1}
        token = os.environ.get("HERMES_MEMORY_TOKEN")
        if token:
            self.hello["token"] = token
        self.bridge: socket.socket | None = None
        self.number = 0
        self.described: dict[str, str] | None = None
        """What the next calls say of their origin; by default the present folder."""
        self.pulse_s = 0.0
        """How often the bridge asks whether the agent is alive; 0 when it never does."""

    def call(self, tool: str, arguments: dict[str, Any], key: str | None = None) -> tuple[str, dict[str, Any]]:
        """Call a tool; return its text and its data. With a key, a repeated call is not executed twice.

        :raises BridgeNotReachable: no bridge answers
        :raises BridgeBusy: the bridge cannot process it now
        :raises CallRefused: the bridge will never process it
        """
        (answer,) = self.calls([(tool, arguments)], key)
        return parse_call_outcome(answer)

    def calls(self, requests: list[tuple[str, dict[str, Any]]], key: str | None = None) -> list[dict[str, Any]]:
        """Call several tools in one round trip; return their answers for `parse_call_outcome`.

        :raises BridgeNotReachable: no bridge answers
        """
        is_harmless = key is not None or all(is_read_tool(tool) for tool, _ in requests)
        while True:
            is_fresh = self.bridge is None
            try:
                return self._send_calls(requests, key)
            except OSError as error:
                self.drop()  # the next try connects anew: the bridge may have been restarted since the last call
                if is_fresh or isinstance(error, TimeoutError) or not is_harmless:
                    raise BridgeNotReachable(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """Close the connection properly: the bridge ends its sessions."""
        if self.bridge is not None:
            leave_bridge(self.bridge)
            self.bridge = None

    def drop(self) -> None:
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self.pulse_s = 0.0

    def answer_pings(self) -> None:
        """Answer what the bridge asked between calls; whatever else it said belongs to no call."""
        if self.bridge is None:
            return
        try:
            while is_readable(self.bridge):
                self._answer_ping(read_line(self.bridge, time.monotonic() + CALL_S))
        except OSError:  # the next call connects anew
            self.drop()

    def _answer_ping(self, line: bytes) -> bool:
        """Answer the bridge's question, if the line is one; return whether it is."""
        if not line.startswith(PING):
            return False
        assert self.bridge is not None
        self.bridge.sendall(PULSE + CLOSE)
        return True

    def _send_calls(self, requests: list[tuple[str, dict[str, Any]]], key: str | None) -> list[dict[str, Any]]:
        if self.bridge is None:
            self._connect()
        assert self.bridge is not None
        meta = {**ENVELOPE, **(describe_origin() if self.described is None else self.described)}
        if key:
            meta[KEY] = key
        lines = bytearray()
        answers: dict[int, dict[str, Any] | None] = {}
        for tool, arguments in requests:
            self.number += 1
            answers[self.number] = None
            params = {"name": tool, "arguments": arguments, "_meta": meta}
            lines += encode_message({"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params})
        self.bridge.settimeout(CALL_S)
        self.bridge.sendall(lines)
        deadline = time.monotonic() + CALL_S
        while any(answer is None for answer in answers.values()):
            message = json.loads(self._read_answer(deadline))
            if "method" not in message and message.get("id") in answers:
                answers[message["id"]] = message
        self.answered()
        return [answer for answer in answers.values() if answer is not None]

    def _connect(self) -> None:
        self.bridge = connect_line(self.path, GREETING_S)
        greet(self.bridge, self.hello)
        answer = parse_greeting(self._read_answer(time.monotonic() + GREETING_S))
        self.hello["resume"] = answer.get("session")
        self.pulse_s = float(answer.get("pulse_s") or 0.0)

    def _read_answer(self, deadline: float) -> bytes:
        """Read the next line, and answer the bridge's questions before it. :raises OSError: there will be none"""
        assert self.bridge is not None
        while self._answer_ping(line := read_line(self.bridge, deadline)):
            continue
        return line


class BridgeStarter:
    """Start the bridge of a store when there is none, as the shim does: one at a time, and it outlives this process."""

    def __init__(self, db: str, command: tuple[str, ...]) -> None:
        self.paths = BridgePaths(db)
        self.command = command
        self.process: subprocess.Popen[bytes] | None = None
        self.until = 0.0
        self.failed = False
        self.answered = False
        """Whether the one that was started last ever did."""

    def start(self) -> bool:
        """Start a bridge, unless it cannot be or another process is about to; return whether one may come up soon."""
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
        # The host's own modules must not be found by another interpreter.
        environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
        try:
            self.paths.make_folder()
            os.makedirs(os.path.dirname(self.paths.store), mode=0o700, exist_ok=True)
            with open(self.paths.log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as log:
                self.process = subprocess.Popen(
                    [*self.command, *to_serve_words(self.paths.store)],
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

    def note_answer(self) -> None:
        """Note that a bridge answers; the next missing one may be started at once."""
        self.until, self.answered = 0.0, True
        if self.process is not None and self.process.poll() is not None:
            self.process = None


def parse_call_outcome(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Parse an answer.

    :raises BridgeBusy: the bridge cannot process it now
    :raises CallRefused: the bridge will never process it
    """
    if "error" in message:
        raise BridgeBusy(str(message["error"].get("message")))
    result = message["result"]
    data: dict[str, Any] = result.get("structuredContent") or {}
    text = "\n".join(part.get("text", "") for part in result.get("content", []))
    if "error" in data:
        code = str(data["error"].get("code"))
        if code in PASSING:
            raise BridgeBusy(text)
        raise CallRefused(code, text)
    return text, data


def describe_origin(way: str | None = None) -> dict[str, str]:
    """Describe where a call comes from, for its `_meta`: the folder this process works in, and how it came about.

    :param way: `hook` or `host-file`; None for a tool that a model called
    """
    origin = {} if way is None else {WAY: way}
    folder = find_working_folder()
    return {**origin, FOLDER: folder} if folder else origin


def is_read_tool(tool: str) -> bool:
    """Check whether calling a tool twice does no harm."""
    return tool in (
        "memory_search",
        "memory_status",
        "memory_history",
        "memory_export",
        "memory_context",
        "recall_memory",
        "recall_conversation",
    )


def is_readable(bridge: socket.socket) -> bool:
    """Check whether a connection holds something to read, or its end."""
    ready = select.poll()
    ready.register(bridge, select.POLLIN | select.POLLHUP)
    return bool(ready.poll(0))


def explain_unavailable(db: str, command: tuple[str, ...]) -> str | None:
    """Explain why no bridge is available; None when one is running or can be started. Connects to nothing."""
    if sys.platform == "win32":
        return "the memory bridge listens on unix sockets, which this system has not"
    if os.path.exists(BridgePaths(db).line) or (command and os.access(command[0], os.X_OK)):
        return None
    if not command:
        return f"no bridge serves {db}; start one, or install again with `hermes-memory-bridge connect hermes-agent --provider`"
    return f"{command[0]} is gone; install again with `hermes-memory-bridge connect hermes-agent --provider`"
