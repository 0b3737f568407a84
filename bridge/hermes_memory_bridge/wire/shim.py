"""The shim: what an MCP host starts. It pumps the host's standard input and output to the bridge of the store.

Standard library only, and little of that: importing the MCP SDK takes half a second and 65 MiB, which fifty hosts
pay once, in the one bridge they share. The shim answers the host's handshake and lists by itself, since a host waits
for neither, starts a bridge when there is none, and outlives it: when the bridge restarts or dies, calls in flight are
answered with an error, the handshake is repeated, and the host notices nothing else. The shim exits with its host.
"""

from __future__ import annotations

import _thread
import gc
import json
import os
import select
import signal
import time

from hermes_memory_bridge.wire.early_answers import AnswerComparison, EarlyAnswers
from hermes_memory_bridge.wire.messages import BYE, CLOSE, END, KEY, OWN_REQUEST, PING, PULSE, encode_message
from hermes_memory_bridge.wire.paths import BridgePaths, find_working_folder
from hermes_memory_store.compact_json import parse_wire_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

CHUNK = 1 << 18
LOOK_S = 2.0
"""How often to look whether the host is still there, most tell by closing the pipe, and whether a bridge that owes an answer is
stopped."""

QUIET_S = 0.25
"""Silence of the host after which a bridge is dialed that nothing has needed yet."""

SETTLED_S = 0.03
"""The same, once the host has its list of tools: its first request is complete, and nobody waits for this processor."""

RETRY_S = 600.0
"""How long a call that was cut off is taken up under its old key when the host makes it again."""

CONNECTION_LOST_CODE = -32000
"""JSON-RPC code of a call that the end of the bridge cut off."""

BOM = b"\xef\xbb\xbf"

ACKNOWLEDGED = b'"notifications/subscriptions/acknowledged"'

NEVER = float("inf")

RESTARTED = "the memory bridge restarted during this call; make it again, a write is not stored twice"


TERMINAL_NOTICE = b"""\
hermes-memory-bridge connects an agent to its memory: an MCP host starts it and speaks JSON to it on standard input.
  hermes-memory-bridge connect   set your agents up
  hermes-memory-bridge --help    all commands
  hermes-memory-tui              look at the memory yourself
ctrl+d ends it.
"""


class TerminationSignal(Exception):
    """A termination signal was received."""


class HostShim:
    """A host's connection to the bridge of a store."""

    def __init__(self, paths: BridgePaths, hello: dict[str, Any]) -> None:
        """:param hello: the greeting: theme, profile, token, tools"""
        self.paths = paths
        self.hello = hello
        self.host = os.getppid()
        self.wire = os.dup(1)
        os.dup2(2, 1)  # a stray print goes to standard error
        self.early = EarlyAnswers(paths, hello)
        self.comparison: AnswerComparison | None = None
        self.dial: BackgroundDial | None = None
        self.dial_at = time.monotonic() + QUIET_S
        """When a bridge is dialed that nothing has needed so far."""
        self.bridge: socket.socket | None = None
        self.from_host = LineBuffer()
        self.from_bridge = LineBuffer()
        self.waiting: list[bytes] = []
        """Messages of the host for the bridge that is being dialed."""
        self.pending: dict[Any, tuple[str, str] | None] = {}
        """Requests in flight: for a tool call, what was called and under which key."""
        self.cut_off: dict[str, tuple[str, float]] = {}
        """Calls that the end of a bridge cut off: their keys, and until when those hold."""
        self.opening: dict[str, Any] | None = None
        self.opened: bytes | None = None
        self.subscribed: dict[str, bytes] = {}
        self.swallow: set[Any] = set()
        """Answers to what the shim itself said again."""
        self.acknowledged: set[Any] = set()
        """Streams of notices that were acknowledged to the host before the bridge did."""
        self.is_compared = False
        """Whether the bridge has been compared with what the host was answered without it."""
        self.has_answered = False
        """Whether the host has been answered anything."""
        self.end_reason = ""
        """Why the bridge has ended the connection, where it said so."""
        self.is_asked = False
        """Whether the bridge has asked if the agent is alive, and has no answer yet."""
        self.look_at = 0.0
        """When to look at the bridge's process next."""

    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, raise_termination_signal)
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
        while True:
            ready = self.wait(watching)
            if self.wire in ready or (not ready and os.getppid() != self.host):
                self.say_goodbye()
                return 0
            if self.dial is not None and self.dial.done in ready and not self.take_bridge():
                return 1
            if self.bridge is not None and self.bridge.fileno() in ready and not self.read_bridge():
                self.reconnect()
            if 0 in ready and not self.read_host():
                return self.leave()
            if self.bridge is None and self.dial is None and time.monotonic() >= self.dial_at:
                self.start_dial()
            if self.bridge is not None:
                self.answer_ping()
                self.check_bridge()

    def wait(self, watching: select.poll) -> dict[int, int]:
        """Wait until the host, the bridge or the dial can be read, and return which."""
        other = self.bridge.fileno() if self.bridge is not None else self.dial.done if self.dial is not None else None
        until_s = LOOK_S if other is not None else min(LOOK_S, max(0.0, self.dial_at - time.monotonic()))
        if other is None:
            return dict(watching.poll(until_s * 1000))
        watching.register(other, select.POLLIN | select.POLLHUP)
        try:
            return dict(watching.poll(until_s * 1000))
        finally:
            watching.unregister(other)

    def read_host(self) -> bool:
        """Take input from the host; return False at its end."""
        content = os.read(0, CHUNK)
        if not content:
            return False
        for line in self.from_host.feed(content):
            self.forward(line)
        return True

    def forward(self, line: bytes) -> None:
        """Answer one message of the host, or send it to the bridge, under a key if it is a call."""
        line = line.removeprefix(BOM)
        message = parse_wire_message(line)
        self.pending.update(dict.fromkeys(find_batch_ids(line)))
        method = message.get("method") if message else None
        if message and method is not None and "id" in message:
            if self.bridge is None and self.answer_early(message):
                return
            line = self.note(message, str(method), line)
        elif method == "notifications/initialized":
            self.opened = line
        if self.bridge is not None:
            self.send(line)
        elif method == "notifications/initialized":
            return  # sent after the handshake, as soon as there is a bridge
        else:
            if method != "initialize":
                self.waiting.append(line)
            self.start_dial()

    def answer_early(self, message: dict[str, Any]) -> bool:
        """Answer a request of the host before there is a bridge; return whether that was possible."""
        answer = self.early.find_answer(message)
        if answer is None:
            return False
        write_all(self.wire, answer.encode())
        self.has_answered = True
        if message["method"] == "initialize":
            self.opening = message
        # The host goes on with the next request: the bridge's start must not compete with that for the processor.
        soon = SETTLED_S if "tools/list" in self.early.lists else QUIET_S
        self.dial_at = time.monotonic() + soon
        return True

    def note(self, message: dict[str, Any], method: str, line: bytes) -> bytes:
        """Remember a request in flight; a tool call gets its key."""
        number = message["id"]
        key = None
        if method == "tools/call" and isinstance(message.get("params"), dict):
            params = message["params"]
            called = json.dumps([params.get("name"), params.get("arguments")], sort_keys=True)
            former_key, until = self.cut_off.pop(called, ("", 0.0))
            key = (called, former_key if former_key and time.monotonic() < until else os.urandom(16).hex())
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
        """Send one line to the bridge. If it is gone, reading from it will show; one that is stopped takes no more."""
        rest = memoryview(line)
        while rest and self.bridge is not None:
            try:
                rest = rest[self.bridge.send(rest) :]
            except TimeoutError:
                self.check_bridge()
            except OSError:
                return

    def read_bridge(self) -> bool:
        """Forward output of the bridge; return False at its end."""
        assert self.bridge is not None
        try:
            content = self.bridge.recv(CHUNK)
        except OSError:
            return False
        if not content:
            return False
        for line in self.from_bridge.feed(content):
            if line.startswith(PING):
                self.is_asked = True
            elif line.startswith(END):
                self.end_reason = str((parse_wire_message(line) or {}).get("why") or "")
            elif not self.is_for_shim(line):
                write_all(self.wire, line)
                self.has_answered = True
        return True

    def is_for_shim(self, line: bytes) -> bool:
        """Take an answer to what the shim itself asked; return whether the line was one."""
        if self.acknowledged and ACKNOWLEDGED in line:
            meta = ((parse_wire_message(line) or {}).get("params") or {}).get("_meta") or {}
            stream = meta.get("io.modelcontextprotocol/subscriptionId")
            if stream in self.acknowledged:
                self.acknowledged.discard(stream)
                return True
        for number in find_batch_ids(line):
            self.pending.pop(number, None)
        if b'"id"' not in line or not (self.pending or self.swallow or self.comparison is not None):
            return False
        message = parse_wire_message(line)
        number = message.get("id") if message and "method" not in message else None
        if message is None or not isinstance(number, str | int | float):
            return False
        if number in self.swallow:
            self.swallow.discard(number)
            return True
        if self.comparison is not None and number in self.comparison.open:
            for notice in self.comparison.take(message):
                write_all(self.wire, notice.encode())
            if not self.comparison.open:
                self.comparison, self.is_compared = None, True
            return True
        self.pending.pop(number, None)
        return False

    def answer_ping(self) -> None:
        """Tell the bridge that the agent is alive, if it asked. While the host is stopped it gets no answer."""
        from hermes_memory_bridge.wire.silence import is_host_stopped

        if self.is_asked and not is_host_stopped():
            self.is_asked = False
            self.send(PULSE + CLOSE)

    def check_bridge(self) -> None:
        """Give a bridge up that owes an answer and whose process is stopped."""
        if self.bridge is None or not self.pending or time.monotonic() < self.look_at:
            return
        from hermes_memory_bridge.wire.silence import ListenerStopped, check_listener

        self.look_at = time.monotonic() + LOOK_S
        try:
            check_listener(self.bridge, self.paths)
        except ListenerStopped as error:
            self.end_reason = str(error)
            self.reconnect()

    def start_dial(self) -> None:
        """Look for a bridge in the background, and start one if there is none."""
        if self.dial is None and self.bridge is None:
            gc.enable()
            hello = self.hello if self.early.opening is None else {**self.hello, "instructions": self.early.given}
            self.dial = BackgroundDial(self.paths, hello)
            self.dial_at = NEVER

    def take_bridge(self) -> bool:
        """Take the bridge that was dialed, and say to it what waits; return False where there is nothing left to do."""
        assert self.dial is not None
        dial, self.dial = self.dial, None
        dial.close()
        if dial.bridge is None:
            return self.report_no_bridge(dial.why)
        self.bridge = dial.bridge
        self.bridge.settimeout(LOOK_S)
        self.hello["resume"] = dial.answer.get("session")
        self.early.given = {"uids": [], "tokens": 0}  # recorded by now
        self.open_bridge()
        for line in self.waiting:
            self.send(line)
        self.waiting.clear()
        return True

    def report_no_bridge(self, reason: str) -> bool:
        """Answer what waits for a bridge with the reason that there is none; return whether the host is served further.

        A host that has its handshake is: its next call tries again.
        """
        self.waiting.clear()
        if self.has_answered:
            self.give_up(f"the memory bridge cannot be reached: {reason}")
            return True
        report_to_host(reason)
        is_waited_for = bool(self.pending)
        self.give_up(reason)
        return not is_waited_for

    def open_bridge(self) -> None:
        """Repeat to a new bridge what the host said at the beginning.

        The answers go no further, unless the host has none yet; those that the shim gave are compared with them.
        """
        first = []
        if self.opening is not None and self.opening["id"] in self.pending:
            first = [self.opening]
        elif self.early.opening is not None and not self.is_compared:
            self.comparison = AnswerComparison(self.early)
            first = self.early.to_comparison()
        elif self.opening is not None:
            first = [{**self.opening, "id": OWN_REQUEST + "again"}]
            self.swallow.add(first[0]["id"])
        for number, message in enumerate(first):
            self.send(encode_message(message))
            if number == 0 and self.opened is not None:
                self.send(self.opened)
        for uri, line in self.subscribed.items():
            message = parse_wire_message(line) or {}
            message["id"] = f"{OWN_REQUEST}{uri}"
            self.swallow.add(message["id"])
            self.send(encode_message(message))
        for stream in self.early.streams:
            self.acknowledged.add(stream["id"])
            self.pending[stream["id"]] = None
            self.send(encode_message(stream))
        self.early.streams = self.early.streams if self.comparison is not None else []

    def reconnect(self) -> None:
        """Answer calls in flight after the bridge has gone, and find or start another."""
        if self.bridge is not None:
            self.bridge.close()
            self.bridge = None
        self.from_bridge = LineBuffer()
        self.is_asked = False
        self.comparison = None
        self.swallow.clear()
        opening = self.opening["id"] if self.opening is not None else None
        unanswered = opening is not None and opening in self.pending
        self.pending.pop(opening, None)
        self.give_up(self.end_reason or RESTARTED)
        self.end_reason = ""
        if unanswered:
            self.pending[opening] = None
        self.start_dial()

    def give_up(self, reason: str) -> None:
        """Answer every request in flight with an error, so that the host never hangs."""
        until = time.monotonic() + RETRY_S
        for number, key in self.pending.items():
            if key is not None:
                self.cut_off[key[0]] = (key[1], until)
            error = {"jsonrpc": "2.0", "id": number, "error": {"code": CONNECTION_LOST_CODE, "message": reason}}
            write_all(self.wire, encode_message(error))
        self.pending.clear()

    def leave(self) -> int:
        """End properly after the host closed the pipe. What it still waits for, and what it was given, reaches a bridge first."""
        if self.bridge is None and (self.waiting or self.pending or self.early.given["uids"]):
            self.start_dial()
            assert self.dial is not None
            over = select.poll()
            over.register(self.dial.done, select.POLLIN | select.POLLHUP)
            over.poll()
            if not self.take_bridge():
                return 1
        self.say_goodbye()
        return 0

    def say_goodbye(self) -> None:
        """End the session properly after the host closed the pipe, and forward what the bridge still sends."""
        if self.bridge is None:
            return
        import socket  # here, not above: the host's first answers do not need it

        try:
            self.bridge.sendall(BYE + CLOSE)
            self.bridge.shutdown(socket.SHUT_WR)
            while self.pending and self.read_bridge():
                pass
        except OSError:
            return
        finally:
            self.bridge.close()


def report_to_host(message: str) -> None:
    """Write a line to standard error, which hosts show or log."""
    os.write(2, f"hermes-memory-bridge: {message}\n".encode("utf-8", "replace"))


class BackgroundDial:
    """One attempt to reach the bridge, starting one if needed, beside the pump: the host is heard and answered meanwhile."""

    def __init__(self, paths: BridgePaths, hello: dict[str, Any]) -> None:
        """:param hello: the greeting"""
        self.bridge: socket.socket | None = None
        self.answer: dict[str, Any] = {}
        self.why = ""
        """Why there is no bridge."""
        self.done, self._tell = os.pipe()
        """Can be read once the attempt is over."""
        _thread.start_new_thread(self._dial, (paths, dict(hello)))

    def _dial(self, paths: BridgePaths, hello: dict[str, Any]) -> None:
        try:
            # here, not above: the host's first answers do not need it
            from hermes_memory_bridge.wire.dialing import dial_bridge, to_daemon_command

            try:
                self.bridge, self.answer = dial_bridge(paths, hello, to_daemon_command(paths.store), report_to_host)
            except OSError as error:
                self.why = str(error) or type(error).__name__
        except Exception as error:  # a thread's end tells nobody, and the host would wait for ever
            self.why = f"{type(error).__name__}: {error}"
        finally:
            os.close(self._tell)

    def close(self) -> None:
        """Release what tells the end of the attempt, which is over."""
        os.close(self.done)


class LineBuffer:
    """Split a stream of bytes into lines."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, content: bytes) -> list[bytes]:
        if b"\n" not in content:
            self.rest += content
            return []
        head, _, tail = content.rpartition(b"\n")
        lines = (bytes(self.rest) + head).split(b"\n")
        self.rest = bytearray(tail)
        return [line + b"\n" for line in lines]


def find_batch_ids(line: bytes) -> list[Any]:
    """Return the ids of the messages in a batch; none of any other line."""
    if not line.lstrip().startswith(b"["):
        return []
    try:
        messages = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return []
    return [
        message["id"]
        for message in messages
        if isinstance(message, dict) and isinstance(message.get("id"), str | int | float)
    ]


def write_all(handle: int, line: bytes) -> None:
    """Write everything. :raises BrokenPipeError: the host no longer reads"""
    view = memoryview(line)
    while view:
        view = view[os.write(handle, view) :]


def raise_termination_signal(*_: object) -> None:
    """Raise TerminationSignal; the signal handler."""
    raise TerminationSignal


def run_shim(options: dict[str, str]) -> int:
    """Serve one host. :param options: `db`, `theme`, `profile`, `token`, `tools`, each may be missing"""
    paths = BridgePaths.of(options.get("db"))
    hello: dict[str, Any] = {
        "theme": options.get("theme") or os.environ.get("HERMES_MEMORY_THEME"),
        "profile": options.get("profile"),
        "token": options.get("token") or os.environ.get("HERMES_MEMORY_TOKEN"),
        "tools": options.get("tools") or os.environ.get("HERMES_MEMORY_TOOLS"),
        "home": os.environ.get("HERMES_HOME", "").strip(),
        "folder": find_working_folder(),
        "pulse": 1,
        "ends": 1,
    }
    hello = {name: value for name, value in hello.items() if value}
    shim = HostShim(paths, hello)
    if os.isatty(0) and os.isatty(2):  # a person, who has no use for a bridge until something is typed
        os.write(2, TERMINAL_NOTICE)
        shim.dial_at = NEVER
    return shim.run()
