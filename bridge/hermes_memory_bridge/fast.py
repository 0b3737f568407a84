"""Plain tool calls on the line socket, answered without a detour.

Nearly everything an agent says is a tool call, and the SDK's general machinery costs it four times what the memory does.
A call that is plain (a known tool that destroys nothing, after a handshake or with a full envelope) is answered here, in the
same words; everything else goes through the SDK. A test holds the two ways to the same bytes.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge import __version__
from hermes_memory_bridge.answers import Answer, ConsentNeeded
from hermes_memory_bridge.calls import call, client_named, key_of
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.hosts_with_breaker import is_error
from hermes_memory_bridge.hub import Hub
from hermes_memory_bridge.tools import chosen
from hermes_memory_bridge.tools.allowed import offered

MODERN = "2026-07-28"

PREFIX = "io.modelcontextprotocol/"

STAMP = {PREFIX + "serverInfo": {"name": "hermes-memory", "title": "Hermes memory", "version": __version__}}

PLAIN = frozenset({"name", "arguments", "_meta"})
"""Parameters of a plain call."""

Message = dict[str, Any]


class FastPath:
    """Watches one connection's handshake, and answers its plain calls once that is done."""

    def __init__(self, hub: Hub, connection: Connection) -> None:
        self.hub = hub
        self.connection = connection
        self.modern = False
        self.ready = False
        self._greeted = False

    def takes(self, said: bytes) -> Message | None:
        """The message, when it is a plain call that can be answered here."""
        if not self.ready:
            self._watch(said)
        if not self.ready or b'"tools/call"' not in said:
            return None
        message = parsed(said)
        return message if message is not None and self._is_plain(message) else None

    async def answer(self, message: Message) -> bytes | None:
        """The line that answers a plain call; None leaves it to the SDK: a person must be asked first, or the tool is hidden."""
        params = message["params"]
        spec = offered(self.connection).get(params["name"])
        if spec is None:
            return None
        arguments = params.get("arguments") or {}
        try:
            answer = await call(
                self.hub, self.connection, spec, arguments, key_of(params["_meta"]) if "_meta" in params else None
            )
        except ConsentNeeded:
            return None
        result = self.result_of(answer)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def result_of(self, answer: Answer) -> Message:
        """An answer as MCP says it in this connection's era."""
        result: Message = {
            "content": [{"text": answer.text, "type": "text"}],
            "isError": is_error(answer, self.connection),
        }
        if self.modern:
            result["resultType"] = "complete"
        result["structuredContent"] = answer.data
        if self.modern:
            result["_meta"] = STAMP
        return result

    def _watch(self, said: bytes) -> None:
        """Learn from the first messages which era this is. The first request decides."""
        message = parsed(said)
        if message is None:
            return
        method = message.get("method")
        if method == "initialize" and "id" in message:
            self._greeted = True
            params = message.get("params")
            self.connection.client = client_named(params.get("clientInfo")) if isinstance(params, dict) else None
        elif method == "notifications/initialized" and self._greeted:
            self.ready = True
        elif "id" in message and not self._greeted and is_enveloped(message):
            self.modern = self.ready = True
            self.connection.client = client_named(message["params"]["_meta"].get(PREFIX + "clientInfo"))

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
        spec = chosen("all").get(params["name"])
        return spec is not None and not spec.destroys and self.modern == is_enveloped(message)


def is_enveloped(message: Message) -> bool:
    """Whether a request carries the whole envelope of 2026-07-28."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return (
        isinstance(meta, dict)
        and meta.get(PREFIX + "protocolVersion") == MODERN
        and isinstance(meta.get(PREFIX + "clientCapabilities"), dict)
        and isinstance(meta.get(PREFIX + "clientInfo"), dict | None)
    )


def parsed(said: bytes) -> Message | None:
    """A line as a message; None leaves it to the SDK, which knows how to refuse it."""
    try:
        message = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
