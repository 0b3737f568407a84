"""MCP over the line socket: newline-delimited JSON-RPC, one connection is one session, its end the agent's end.

Before the protocol each side says one line about itself. The client: whose memory it wants, and the session it resumes.
The bridge: the session's name, or why it will not serve. A client that leaves properly says so in a last line.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.lowlevel import NotificationOptions
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from hermes_memory_bridge import __version__, wire
from hermes_memory_bridge.agents import Agents
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.fast import FastPath
from hermes_memory_bridge.peers import Peer, peer_of
from hermes_memory_store.errors import ArgumentError, StoreError
from hermes_memory_store.model import Rights
from hermes_memory_themes import ThemeError, resolve_theme

log = logging.getLogger(__name__)

CLOSE_S = 1.0
"""How long a client may take to read the last words of a connection that this side ends."""

Command = Callable[[str, Any], Awaitable[dict[str, Any]]]


class LineServer:
    """Serves the connections of one line socket."""

    def __init__(self, server: Server[Any], agents: Agents, command: Command, uid: int, most: int) -> None:
        """:param command: answers a command and its arguments, which are said instead of the protocol
        :param uid: the user whose processes may connect
        :param most: connections at one time
        """
        self.most = most
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
            hello = await wire.hello_of(reader)
            if len(self.tasks) > self.most:
                raise ArgumentError(f"the bridge serves {self.most} connections already; end some agents", self.most)
            if "command" in hello:
                writer.write(wire.line(await self.command(str(hello["command"]), hello.get("arguments", {}))))
                await writer.drain()
                return
            connection = await self._admitted(hello, peer)
        except (StoreError, ThemeError) as error:
            writer.write(wire.line({"hermes-memory": 1, "error": error.as_dict()}))
            await writer.drain()
            return
        writer.write(wire.line({"hermes-memory": 1, "version": __version__, "session": connection.name}))
        farewell = Farewell()
        connection.hang_up = lambda: farewell.say(writer)
        try:
            await self._serve(connection, reader, writer, farewell)
        finally:
            if not self.closing:
                await self.agents.part(connection, properly=farewell.said)

    async def _admitted(self, hello: wire.Hello, peer: Peer) -> Connection:
        known = None
        token = wire.word(hello, "token")
        if token is not None:
            known = await self.agents.hub.read(lambda store: store.credentials.verify(token))
            if known is None:
                raise ArgumentError("this token is unknown, expired or revoked; make one with `token add`", None)
        theme = resolve_theme(
            token=known.theme if known else None,
            flag=wire.word(hello, "theme"),
            environ={},
            profile=wire.word(hello, "profile"),
        )
        home = wire.word(hello, "home")
        return self.agents.admit(
            theme,
            rights=known.rights if known else Rights(),
            tools=wire.word(hello, "tools"),
            resume=wire.word(hello, "resume"),
            pid=peer.pid,
            home=Path(home) if home else None,
            shown=known,
            transport="line",
        )

    async def _serve(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, farewell: Farewell
    ) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        fast = FastPath(self.agents.hub, connection)

        async def answer(said: bytes, call: dict[str, Any]) -> None:
            answered = await fast.answer(call)
            if answered is None:
                await to_server.send(wire.read(said))
                return
            writer.write(answered)
            with contextlib.suppress(ConnectionError):  # the reader learns of it too, and ends the connection
                await writer.drain()

        async def receive() -> None:
            async with to_server, anyio.create_task_group() as calls:
                async for said in wire.lines_of(reader, writer):
                    if said.startswith(wire.GOODBYE):
                        farewell.said = True
                        break
                    plain = fast.takes(said)
                    if plain is not None:
                        calls.start_soon(answer, said, plain)
                        continue
                    try:
                        message = wire.read(said)
                    except ValueError:
                        writer.write(wire.unreadable(said))
                    else:
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
    """Whether either side said that the connection ends."""

    said = False

    def say(self, writer: asyncio.StreamWriter) -> None:
        """This side says so."""
        self.said = True
        writer.close()
        asyncio.get_running_loop().call_later(CLOSE_S, writer.transport.abort)
