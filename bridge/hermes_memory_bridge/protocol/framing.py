"""Framing of lines on the socket: the greeting, and the messages after it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from codecs import BOM_UTF8
from collections.abc import AsyncIterator
from typing import Any

from hermes_memory_bridge.wire.messages import encode_message
from hermes_memory_store.compact_json import parse_half_object
from hermes_memory_store.errors import ArgumentError

MAX_LINE = 32 * 1024 * 1024
"""Bytes of one message: far above any fact, so that an over-long one is answered and not cut."""

BATCH_REVISION = "2025-03-26"
"""The one revision that has batches of messages."""

MOST_HEAD = 4096

GREETING_S = 10.0
"""How long a connection may say nothing at first."""

Hello = dict[str, Any]


async def read_greeting(reader: asyncio.StreamReader) -> Hello:
    """Read the client's first line. :raises ArgumentError: it is no greeting"""
    async with asyncio.timeout(GREETING_S):
        try:
            line = await reader.readline()
        except ValueError:
            line = b"{}"
    if not line:
        raise ConnectionResetError
    try:
        hello = json.loads(line)
    except (ValueError, RecursionError):
        hello = None
    if not isinstance(hello, dict) or hello.get("hermes-memory") != 1:
        raise ArgumentError(
            'this socket is for `hermes-memory-bridge`, whose first line is {"hermes-memory": 1}; '
            "for HTTP use mcp.sock beside it",
            line[:60],
        )
    return hello


def find_greeting_text(hello: Hello, name: str) -> str | None:
    """Return a text of the greeting. :raises ArgumentError: it is something else"""
    value = hello.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 4096:
        raise ArgumentError(f"{name} must be a text of at most 4096 characters", str(value)[:60])
    return value


async def read_client_lines(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[bytes]:
    """Yield the client's lines until it disconnects. One that is too long is answered and dropped."""
    head = b""
    """The beginning of a line that is too long: most clients say the id first."""
    while True:
        try:
            line = await reader.readuntil()
        except asyncio.LimitOverrunError as error:
            part = await reader.readexactly(error.consumed)
            head = head or part[:MOST_HEAD].removeprefix(BOM_UTF8)
            continue
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        if head:
            writer.write(to_parse_error_line(head, f"a message has at most {MAX_LINE} bytes"))
            head = b""
            continue
        yield line.removeprefix(BOM_UTF8)


def to_parse_error_line(line: bytes, explanation: str | None = None) -> bytes:
    """Return the error for an invalid message; it contains the request's id if that can be determined."""
    code, reason = -32700, "not JSON"
    text = line.decode("utf-8", "surrogateescape")
    message: Any = parse_half_object(text, 0)
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(text)
        code, reason = -32600, "not a message of MCP: malformed, or with lone surrogates"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        byte = f"0x{line[error.start]:02x} at {error.start}"
        code, reason = -32700, f"not UTF-8: byte {byte}; send the message as UTF-8, nothing was done"
    refusal = {"code": code, "message": explanation or reason}
    return encode_message({"jsonrpc": "2.0", "id": find_answer_id(message), "error": refusal})


def find_answer_id(message: Any) -> str | float | None:
    """Return the id under which a message is answered; None where it has none that can be repeated."""
    number = message.get("id") if isinstance(message, dict) else None
    if isinstance(number, bool) or not isinstance(number, str | int | float):
        return None
    return None if isinstance(number, float) and not math.isfinite(number) else number


class BatchAnswers:
    """The answers of one connection: those to a batch go out as one line, once the last of them is there."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.open: list[tuple[list[Any], list[bytes]]] = []
        """Of each batch the ids that lack an answer, and the answers."""

    def split(self, line: bytes, version: str | None) -> list[bytes]:
        """Return the messages of a line; none of a batch that is refused.

        :param version: the revision of the protocol, as far as one was agreed upon
        """
        if not line.lstrip().startswith(b"["):
            return [line]
        try:
            messages = json.loads(line.decode("utf-8", "surrogateescape"))
        except (ValueError, RecursionError):
            return [line]
        answered = [
            message
            for message in messages or [None]
            if not isinstance(message, dict) or ("id" in message and message.keys().isdisjoint(("result", "error")))
        ]
        if version == BATCH_REVISION and messages:
            if answered:
                self.open.append(([find_answer_id(message) for message in answered], []))
            return [encode_message(message) for message in messages]
        reason = (
            f"a batch has at least one message, and revision {BATCH_REVISION} of MCP alone has batches (here: {version}); "
            "send each message on its own"
        )
        self.writer.writelines(to_parse_error_line(encode_message(message), reason) for message in answered)
        return []

    def write(self, line: bytes) -> None:
        message = json.loads(line) if self.open else {}
        for numbers, answers in self.open:
            if "method" not in message and message.get("id") in numbers:
                numbers.remove(message["id"])
                answers.append(line.rstrip())
                if numbers:
                    return
                self.open.remove((numbers, answers))
                line = b"[" + b",".join(answers) + b"]\n"
                break
        self.writer.write(line)
