"""MCP over the line socket: newline-delimited JSON-RPC; a connection is a session and ends with the agent.

Before the protocol each side sends one line. The client: its theme, and the session to resume. The bridge: the
session's name, or why it refuses. A client that leaves properly says so in a last line. One that greets with `pulse`
is asked between messages whether it is alive, and answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream

from hermes_memory_bridge.protocol import framing
from hermes_memory_bridge.protocol.fast_path import FastPath
from hermes_memory_bridge.protocol.given_instructions import note_shim_facts
from hermes_memory_bridge.protocol.root_question import RootQuestion
from hermes_memory_bridge.runtime.connection_registry import ConnectionRegistry
from hermes_memory_bridge.runtime.followed_answer import FollowedAnswer
from hermes_memory_bridge.runtime.place_resolution import find_place_theme, follow_roots
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.declared_folder import parse_folder
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.messages import BYE, CLOSE, END, PING, PULSE, encode_message
from hermes_memory_bridge.wire.peers import Peer, find_peer
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.model import Rights
from hermes_memory_themes import ThemeError, resolve_theme

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""How long a client may take to read the last words of a connection that this side ends."""

MOST_AHEAD = 64
"""Lines of a connection that wait for the SDK before the next one is read."""

Command = Callable[[str, Any], Awaitable[dict[str, Any]]]

SdkLines = Callable[[Connection, MemoryObjectReceiveStream[bytes], framing.BatchAnswers], Awaitable[None]]


class LineServer:
    def __init__(self, agents: ConnectionRegistry, command: Command, uid: int, most: int) -> None:
        """:param command: answers a control command and its arguments, sent instead of the protocol
        :param uid: the user whose processes may connect
        :param most: maximum number of simultaneous connections
        """
        self.most = most
        self.agents = agents
        self.command = command
        self.uid = uid
        self.tasks: set[asyncio.Task[None]] = set()
        self.serve_sdk_lines: asyncio.Future[SdkLines] = asyncio.Future()
        """What answers the lines that the fast path leaves, once the SDK is loaded."""

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side closes it."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._read_greeting(reader, writer)
        except (ConnectionError, TimeoutError):
            log.info("a connection ended before it was greeted")
        except asyncio.CancelledError:
            if not self.closing:
                raise
        except Exception:
            log.exception("a connection failed")
        finally:
            self.tasks.discard(task)
            writer.close()

    closing = False

    async def close(self) -> None:
        """Close every connection, and wait until all have ended."""
        self.closing = True
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=2)

    async def _read_greeting(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = find_peer(writer.get_extra_info("socket"))
        if peer.uid != self.uid:
            log.warning("a process of user %d was turned away", peer.uid)
            return
        try:
            hello = await framing.read_greeting(reader)
            if len(self.tasks) > self.most:
                raise ArgumentError(f"the bridge serves {self.most} connections already; end some agents", self.most)
            if "command" in hello:
                await self._answer_command(hello, writer)
                return
            connection = await self._admit_connection(hello, peer)
        except (StoreError, ThemeError) as error:
            writer.write(encode_message({"hermes-memory": 1, "error": error.as_dict()}))
            await writer.drain()
            return
        greeting = {"hermes-memory": 1, "version": __version__, "session": connection.name}
        pulse = Pulse(connection, writer) if hello.get("pulse") else None
        if pulse is not None:
            greeting["pulse_s"] = self.agents.leases.ask_after_s
        writer.write(encode_message(greeting))
        await note_shim_facts(self.agents.worker, connection, hello.get("instructions"))
        farewell = ConnectionClose()

        def hang_up() -> None:
            if connection.end_reason and hello.get("ends"):
                writer.write(END + f',"why":{json.dumps(connection.end_reason)}'.encode() + CLOSE)
            farewell.close(writer)

        connection.hang_up = hang_up
        try:
            await self._serve(connection, reader, writer, farewell, pulse)
        finally:
            if not self.closing:
                await self.agents.remove(connection, properly=farewell.is_closing)

    async def _answer_command(self, hello: framing.Hello, writer: asyncio.StreamWriter) -> None:
        answer = await self.command(str(hello["command"]), hello.get("arguments", {}))
        is_delivered = False
        try:
            writer.write(encode_message(answer))
            await writer.drain()
            is_delivered = not writer.is_closing()
        finally:
            if isinstance(answer, FollowedAnswer):
                answer.follow(is_delivered)

    async def _admit_connection(self, hello: framing.Hello, peer: Peer) -> Connection:
        credential = None
        token = framing.find_greeting_text(hello, "token")
        if token is not None:
            credential = await self.agents.worker.read(lambda store: store.credentials.verify(token))
            if credential is None:
                raise ArgumentError("this token is unknown, expired or revoked; make one with `token add`", None)
        flag, profile = (framing.find_greeting_text(hello, name) for name in ("theme", "profile"))
        theme = resolve_theme(token=credential.theme if credential else None, flag=flag, environ={}, profile=profile)
        folder = parse_folder(hello.get("folder"))
        is_placed = credential is None and not is_named(flag) and not is_named(profile)
        if is_placed:
            theme = await find_place_theme(self.agents.worker, folder)
        home = framing.find_greeting_text(hello, "home")
        connection = self.agents.admit(
            theme,
            rights=credential.rights if credential else Rights(),
            tools=framing.find_greeting_text(hello, "tools"),
            resume=framing.find_greeting_text(hello, "resume"),
            pid=peer.pid,
            home=Path(home) if home else None,
            shown=credential,
            transport="line",
            uid=peer.uid,
            folder=folder,
        )
        connection.is_placed = is_placed
        return connection

    async def _serve(
        self,
        connection: Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        farewell: ConnectionClose,
        pulse: Pulse | None,
    ) -> None:
        to_sdk, lines = anyio.create_memory_object_stream[bytes](MOST_AHEAD)
        fast = FastPath(self.agents.worker, connection)
        roots = RootQuestion(connection, writer)
        answers = framing.BatchAnswers(writer)

        async def answer(line: bytes, call: dict[str, Any]) -> None:
            answered = await fast.answer(call)
            if answered is None:
                await to_sdk.send(line)
                return
            answers.write(answered)
            with contextlib.suppress(ConnectionError):  # the reader learns of it too, and ends the connection
                await writer.drain()

        async def receive() -> None:
            async with to_sdk, anyio.create_task_group() as calls:
                async for line in framing.read_client_lines(reader, writer):
                    if line.startswith(BYE):
                        farewell.is_closing = True
                        break
                    if pulse is not None and pulse.is_answer(line):
                        continue
                    if roots.is_answer(line):
                        await follow_roots(self.agents.worker, connection)
                        continue
                    for message in answers.split(line, fast.version):
                        plain = fast.find_plain_call(message)
                        if plain is not None:
                            calls.start_soon(answer, message, plain)
                            continue
                        await to_sdk.send(message)

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                await (await asyncio.shield(self.serve_sdk_lines))(connection, lines, answers)
                tasks.cancel_scope.cancel()
        except* (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            if not farewell.is_closing:  # else it left before it had every answer
                log.info("a connection broke off")


def is_named(name: str | None) -> bool:
    """Check whether a name is given that `resolve_theme` would take."""
    return name is not None and bool(name.strip())


class Pulse:
    """The question to a client whether it is alive. One that has not answered is not asked again: it still has the question."""

    def __init__(self, connection: Connection, writer: asyncio.StreamWriter) -> None:
        self.connection = connection
        self.writer = writer
        self.is_asked = False
        connection.ask = self.ask

    def ask(self) -> None:
        """Ask, unless the last question is unanswered."""
        if not self.is_asked and not self.writer.is_closing():
            self.is_asked = True
            self.writer.write(PING + CLOSE)

    def is_answer(self, line: bytes) -> bool:
        """Note that the client spoke; return whether it answered the question."""
        self.connection.heard_at = time.monotonic()
        if not line.startswith(PULSE):
            return False
        self.is_asked = False
        return True


class ConnectionClose:
    """Whether either side has announced the end of the connection."""

    is_closing = False

    def close(self, writer: asyncio.StreamWriter) -> None:
        self.is_closing = True
        writer.close()
        asyncio.get_running_loop().call_later(CLOSE_S, writer.transport.abort)
