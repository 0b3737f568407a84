"""The fast path: ordinary tool calls on the line socket, answered without the SDK.

Nearly everything an agent sends is a tool call, and the SDK's general machinery costs four times what the memory
does. An ordinary call (a known tool that destroys nothing, after a handshake or with a full envelope) is answered
here with the same bytes; everything else goes through the SDK. A test compares the output of both ways.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge.protocol.error_flags import is_marked_as_error, to_client_text
from hermes_memory_bridge.runtime.call_dispatch import dispatch_call, introduce_client
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.runtime.tool_access import find_offered_tools
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult
from hermes_memory_bridge.tools import select_tools
from hermes_memory_bridge.version import __version__

MODERN = "2026-07-28"

PREFIX = "io.modelcontextprotocol/"

STAMP = {PREFIX + "serverInfo": {"name": "hermes-memory", "title": "Hermes memory", "version": __version__}}

PLAIN = frozenset({"name", "arguments", "_meta"})
"""Parameters of a plain call."""

Message = dict[str, Any]


class FastPath:
    """Watch one connection's handshake, and answer its ordinary calls once that is done."""

    def __init__(self, worker: StoreWorker, connection: Connection) -> None:
        self.worker = worker
        self.connection = connection
        self.modern = False
        self.ready = False
        self._greeted = False
        self.version: str | None = None
        """The revision that a handshake asked for."""

    def find_plain_call(self, line: bytes) -> Message | None:
        """Return the message if it is an ordinary call that can be answered here."""
        if not self.ready:
            self._watch(line)
        if not self.ready or b'"tools/call"' not in line:
            return None
        message = parse_fast_message(line)
        return message if message is not None and self._is_plain(message) else None

    async def answer(self, message: Message) -> bytes | None:
        """Return the response line for an ordinary call; None leaves it to the SDK.

        The SDK handles calls that require consent and tools that are hidden.
        """
        params = message["params"]
        spec = find_offered_tools(self.connection).get(params["name"])
        if spec is None:
            return None
        arguments = params.get("arguments") or {}
        try:
            answer = await dispatch_call(
                self.worker,
                self.connection,
                spec,
                arguments,
                params.get("_meta"),
            )
        except ConsentRequired:
            return None
        result = self.result_of(answer)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def result_of(self, answer: ToolResult) -> Message:
        """Return a result in the form of this connection's protocol era."""
        result: Message = {
            "content": [{"text": to_client_text(answer, self.connection), "type": "text"}],
            "isError": is_marked_as_error(answer, self.connection),
        }
        if self.modern:
            result["resultType"] = "complete"
        result["structuredContent"] = answer.data
        if self.modern:
            result["_meta"] = STAMP
        return result

    def _watch(self, line: bytes) -> None:
        """Determine the era from the first messages. The first request decides."""
        message = parse_fast_message(line)
        if message is None:
            return
        method = message.get("method")
        if method == "initialize" and "id" in message:
            self._greeted = True
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            self.version = params.get("protocolVersion")
            introduce_client(self.connection, params.get("clientInfo"))
        elif method == "notifications/initialized" and self._greeted:
            self.ready = True
        elif "id" in message and not self._greeted and has_modern_envelope(message):
            self.modern = self.ready = True
            introduce_client(self.connection, message["params"]["_meta"].get(PREFIX + "clientInfo"))

    def _is_plain(self, message: Message) -> bool:
        params = message.get("params")
        if (
            message.get("jsonrpc") != "2.0"
            or message.get("method") != "tools/call"
            or type(message.get("id")) not in (int, str)
            or not isinstance(params, dict)
            or not params.keys() <= PLAIN
            or not isinstance(params.get("arguments", {}), dict)
            or not isinstance(params.get("name"), str)
        ):
            return False
        spec = select_tools("all").get(params["name"])
        return spec is not None and not spec.destroys and self.modern == has_modern_envelope(message)


def has_modern_envelope(message: Message) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return (
        isinstance(meta, dict)
        and meta.get(PREFIX + "protocolVersion") == MODERN
        and isinstance(meta.get(PREFIX + "clientCapabilities"), dict)
        and isinstance(meta.get(PREFIX + "clientInfo"), dict | None)
    )


def parse_fast_message(line: bytes) -> Message | None:
    """Parse a line as a message; None leaves it to the SDK, which refuses invalid ones."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
