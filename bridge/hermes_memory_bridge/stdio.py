"""MCP over standard input and output, one JSON text a line.

Ends promptly when the host closes the pipe, stops reading, or a signal comes, so that no bridge outlives its host: the
SDK's own transport reads in a thread that none of these can interrupt. The wire gets private descriptors; a stray print
goes to standard error.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
from typing import Any

import anyio
import mcp.types as types
from mcp.server import Server
from mcp.shared.message import SessionMessage

from hermes_memory_bridge.connection import Connection

log = logging.getLogger(__name__)

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one message: far above any fact, so that an over-long one is answered and not cut."""

WATCH_S = 0.5
"""How often to look whether the host still reads; a pipe closed at the far end says nothing by itself."""

Received = SessionMessage | Exception


async def serve(server: Server[Any], connection: Connection) -> None:
    """Serve one host until it goes away."""
    loop = asyncio.get_running_loop()
    wire_in, wire_out = private_descriptors()
    reader = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(wire_in, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(wire_out, "wb", 0))
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    to_server, from_host = anyio.create_memory_object_stream[Received](0)
    to_host, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(name, tasks.cancel_scope.cancel)

        async def receive() -> None:
            async with to_server:
                async for message in messages(reader, writer):
                    await to_server.send(message)

        async def send() -> None:
            try:
                async with from_server:
                    async for sent in from_server:
                        text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                        writer.write(text.encode() + b"\n")
                        await writer.drain()
            except ConnectionError:
                tasks.cancel_scope.cancel()

        async def watch() -> None:
            while not transport.is_closing():
                await anyio.sleep(WATCH_S)
            tasks.cancel_scope.cancel()

        async def beat() -> None:
            while True:
                await anyio.sleep(connection.heartbeat_s)
                await anyio.to_thread.run_sync(connection.heartbeat)

        for task in (receive, send, watch, beat):
            tasks.start_soon(task)
        await server.run(from_host, to_host, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def messages(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Any:
    """The host's messages. One that cannot be read is answered with an error instead of silence."""
    while True:
        try:
            line = await reader.readline()
        except ValueError:
            # Longer than the limit: the reader has dropped it, and nobody knows its id.
            log.warning("a message of more than %d bytes was dropped", MAX_LINE)
            continue
        if not line:
            return
        try:
            yield SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError:
            writer.write(unreadable(line))


def unreadable(line: bytes) -> bytes:
    """The error for a line that is no message; it carries the request's id where that can be made out."""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    request = said.get("id") if isinstance(said, dict) and isinstance(said.get("id"), str | int) else None
    code, why = (
        (-32700, "not JSON") if said is None else (-32600, "not a message of MCP: malformed, or with lone surrogates")
    )
    error = {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": why}}
    return json.dumps(error).encode() + b"\n"


def private_descriptors() -> tuple[int, int]:
    """Standard input and output under other numbers; the usual ones no longer reach the wire."""
    wire_in, wire_out = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire_in, wire_out
