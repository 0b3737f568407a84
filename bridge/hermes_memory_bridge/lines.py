"""MCP over the line socket: newline-delimited JSON-RPC, one connection is one session, its end the agent's end.

Before the protocol each side says one line about itself. The client: whose memory it wants, and the session it resumes.
The bridge: the session's name, or why it will not serve. A client that leaves properly says so in a last line.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from hermes_memory_bridge import __version__
from hermes_memory_bridge.agents import Agents
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.peers import Peer, peer_of
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.model import Rights
from hermes_memory_themes import ThemeError, resolve_theme

log = logging.getLogger(__name__)

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one message: far above any fact, so that an over-long one is answered and not cut."""

GREETING_S = 10.0
"""How long a connection may say nothing at first."""

MOST = 2_000
"""Connections at one time."""

Hello = dict[str, Any]
Command = Callable[[str], Awaitable[dict[str, Any]]]


class LineServer:
    """Serves the connections of one line socket."""

    def __init__(self, server: Server[Any], agents: Agents, command: Command, uid: int) -> None:
        """:param command: answers `status` and `stop`, which are said instead of the protocol
        :param uid: the user whose processes may connect
        """
        self.server = server
        self.agents = agents
        self.command = command
        self.uid = uid
        self.tasks: set[asyncio.Task[None]] = set()
        self.options = server.create_initialization_options(NotificationOptions(resources_changed=True))

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until either side ends it."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            await self._greeted(reader, writer)
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
        """End every connection, and wait until all are gone."""
        self.closing = True
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=2)

    async def _greeted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = peer_of(writer.get_extra_info("socket"))
        if peer.uid != self.uid:
            log.warning("a process of user %d was turned away", peer.uid)
            return
        try:
            hello = await hello_of(reader)
            if len(self.tasks) > MOST:
                raise ArgumentError(f"the bridge serves {MOST} connections already", MOST)
            if "command" in hello:
                writer.write(line(await self.command(str(hello["command"]))))
                await writer.drain()
                return
            connection = await self._admitted(hello, peer)
        except (StoreError, ThemeError) as error:
            writer.write(line({"hermes-memory": 1, "error": error.as_dict()}))
            await writer.drain()
            return
        writer.write(line({"hermes-memory": 1, "version": __version__, "session": connection.name}))
        farewell = Farewell()
        try:
            await self._serve(connection, reader, writer, farewell)
        finally:
            if not self.closing:
                await self.agents.part(connection, properly=farewell.said)

    async def _admitted(self, hello: Hello, peer: Peer) -> Connection:
        rights, bound = Rights(), None
        token = word(hello, "token")
        if token is not None:
            known = await self.agents.hub.read(lambda store: store.credentials.verify(token))
            if known is None:
                raise ArgumentError("this token is unknown, expired or revoked; make one with `token add`", None)
            rights, bound = known.rights, known.theme
        theme = resolve_theme(token=bound, flag=word(hello, "theme"), environ={}, profile=word(hello, "profile"))
        home = word(hello, "home")
        return self.agents.admit(
            theme,
            rights=rights,
            tools=word(hello, "tools") or "core",
            resume=word(hello, "resume"),
            pid=peer.pid,
            home=Path(home) if home else None,
        )

    async def _serve(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, farewell: Farewell
    ) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def receive() -> None:
            async with to_server:
                async for message in messages(reader, writer, farewell):
                    await to_server.send(message)

        async def send() -> None:
            async with from_server:
                async for sent in from_server:
                    writer.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                    await writer.drain()

        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(receive)
                tasks.start_soon(send)
                await serve_dual_era_loop(
                    self.server, from_client, to_client, lifespan_state=connection, init_options=self.options
                )
                tasks.cancel_scope.cancel()
        except* (ConnectionError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.info("a connection broke off")


class Farewell:
    """Whether the client said that it leaves."""

    said = False


async def hello_of(reader: asyncio.StreamReader) -> Hello:
    """The client's first line. :raises ArgumentError: it is none"""
    async with asyncio.timeout(GREETING_S):
        try:
            said = await reader.readline()
        except ValueError:
            said = b"{}"
    if not said:
        raise ConnectionResetError
    try:
        hello = json.loads(said)
    except ValueError:
        hello = None
    if not isinstance(hello, dict) or hello.get("hermes-memory") != 1:
        raise ArgumentError(
            'this socket is for `hermes-memory-bridge`, whose first line is {"hermes-memory": 1}; '
            "for HTTP use mcp.sock beside it",
            said[:60],
        )
    return hello


def word(hello: Hello, name: str) -> str | None:
    """A text of the greeting. :raises ArgumentError: it is something else"""
    value = hello.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 4096:
        raise ArgumentError(f"{name} must be a text of at most 4096 characters", str(value)[:60])
    return value


async def messages(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, farewell: Farewell
) -> AsyncIterator[SessionMessage]:
    """The client's messages. One that cannot be read is answered with an error instead of silence."""
    while True:
        try:
            said = await reader.readline()
        except ValueError:
            # Longer than the limit: the reader has dropped it, and nobody knows its id.
            writer.write(unreadable(b"", f"a message has at most {MAX_LINE} bytes"))
            continue
        except ConnectionError:
            return
        if not said.endswith(b"\n"):
            return
        try:
            yield SessionMessage(types.jsonrpc_message_adapter.validate_json(said, by_name=False))
        except ValueError:
            if said.startswith(b'{"hermes-memory":"bye"'):
                farewell.said = True
                return
            writer.write(unreadable(said))


def unreadable(said: bytes, why: str | None = None) -> bytes:
    """The error for a line that is no message; it carries the request's id where that can be made out."""
    try:
        message = json.loads(said)
    except (ValueError, RecursionError):
        message = None
    request = message.get("id") if isinstance(message, dict) and isinstance(message.get("id"), str | int) else None
    code, reason = (
        (-32700, "not JSON")
        if message is None
        else (-32600, "not a message of MCP: malformed, or with lone surrogates")
    )
    return line({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": why or reason}})


def line(message: dict[str, Any]) -> bytes:
    """A message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
