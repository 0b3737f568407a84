"""Framing of lines on the socket: the greeting, and the messages after it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from hermes_memory_store.errors import ArgumentError

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one message: far above any fact, so that an over-long one is answered and not cut."""

GREETING_S = 10.0
"""How long a connection may say nothing at first."""

GOODBYE = b'{"hermes-memory":"bye"'
"""Begins the last line of a client that leaves properly."""

PING = b'{"hermes-memory":"ping"}\n'
"""Asks a client that said `pulse` in its greeting whether it is alive."""

PULSE = b'{"hermes-memory":"pulse"'
"""Begins its answer."""

END = '{"hermes-memory":"end"'
"""Begins the last line to a client that said `ends` in its greeting, when the bridge ends the connection for a reason."""

Hello = dict[str, Any]


async def read_greeting(reader: asyncio.StreamReader) -> Hello:
    """Read the client's first line.

    :raises ArgumentError: it is no greeting
    """
    async with asyncio.timeout(GREETING_S):
        try:
            said = await reader.readline()
        except ValueError:
            said = b"{}"
    if not said:
        raise ConnectionResetError
    try:
        hello = json.loads(said)
    except (ValueError, RecursionError):
        hello = None
    if not isinstance(hello, dict) or hello.get("hermes-memory") != 1:
        raise ArgumentError(
            'this socket is for `hermes-memory-bridge`, whose first line is {"hermes-memory": 1}; '
            "for HTTP use mcp.sock beside it",
            said[:60],
        )
    return hello


def find_greeting_text(hello: Hello, name: str) -> str | None:
    """Return a text of the greeting.

    :raises ArgumentError: it is something else
    """
    value = hello.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 4096:
        raise ArgumentError(f"{name} must be a text of at most 4096 characters", str(value)[:60])
    return value


async def read_client_lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    """Yield the client's lines until it disconnects. One that is too long is answered and dropped."""
    while True:
        try:
            said = await reader.readline()
        except ValueError:
            # Longer than the limit: the reader has dropped it, and nobody knows its id.
            writer.write(to_parse_error_line(b"", f"a message has at most {MAX_LINE} bytes"))
            continue
        except ConnectionError:
            return
        if not said.endswith(b"\n"):
            return
        yield said


def to_parse_error_line(said: bytes, why: str | None = None) -> bytes:
    """Return the error for an invalid message; it contains the request's id if that can be determined."""
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
    return encode_message_line({"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": why or reason}})


def encode_message_line(message: dict[str, Any]) -> bytes:
    """Encode a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
