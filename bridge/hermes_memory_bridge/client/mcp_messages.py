"""Messages between client and bridge: MCP 2026-07-28, one request at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.messages import FOLDER, KEY
from hermes_memory_bridge.wire.paths import BridgePaths, find_working_folder
from hermes_memory_store import errors
from hermes_memory_store.errors import ArgumentError, StoreError

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"

ENVELOPE = {
    PREFIX + "protocolVersion": MODERN,
    PREFIX + "clientInfo": {"name": "hermes-memory-client", "version": __version__},
    PREFIX + "clientCapabilities": {},
}

RETRY_STATUSES = frozenset({429, 502, 503, 504})
"""Answers after which trying again is of use."""


class BridgeUnreachable(StoreError):
    """The bridge did not answer, despite all retries."""

    code = "bridge.unreachable"


class BridgeRefused(StoreError):
    """The bridge refused a call; `code` says why."""

    def __init__(self, code: str, message: str, value: Any = None) -> None:
        super().__init__(message, value)
        self.code = code


@dataclass(frozen=True, slots=True)
class Reply:
    """The result of a tool call."""

    text: str
    """As a model reads it."""
    data: dict[str, Any]
    """The same for a program."""


@dataclass(frozen=True, slots=True)
class BridgeAddress:
    """The address the bridge listens on."""

    url: str
    socket: str | None = None

    @classmethod
    def parse(cls, endpoint: str | None) -> BridgeAddress:
        """Parse an endpoint: `unix:///path/to/mcp.sock`, `http://127.0.0.1:PORT`, or None for this user's own bridge.

        :raises ArgumentError: it is none of these
        """
        if endpoint is None:
            return cls("http://localhost/mcp", BridgePaths.of().http)
        parts = urlsplit(endpoint)
        if parts.scheme == "unix" and parts.path:
            return cls("http://localhost" + (parts.fragment or "/mcp"), str(Path(parts.path).expanduser()))
        if parts.scheme in ("http", "https") and parts.netloc:
            return cls(endpoint if parts.path.strip("/") else endpoint.rstrip("/") + "/mcp")
        raise ArgumentError(f"endpoint must begin with unix:///, http:// or https://, not {endpoint!r}", endpoint)


def to_tool_request(
    number: int, tool: str, arguments: dict[str, Any], key: str | None, *, local: bool = False
) -> dict[str, Any]:
    """Return the request for a tool call. :param local: the bridge is this user's own, and is told the present folder"""
    meta = ENVELOPE | ({KEY: key} if key else {}) | ({FOLDER: find_working_folder()} if local else {})
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def to_request_headers(tool: str, token: str | None, theme: str | None) -> dict[str, str]:
    """Return the HTTP headers of a call."""
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": tool,
    }
    if token:
        headers["authorization"] = f"Bearer {token}"
    if theme:
        headers["x-hermes-session-key"] = theme
    return headers


def parse_reply(number: int, status: int, kind: str, body: str) -> Reply:
    """Parse an HTTP response.

    :raises BridgeRefused: a refusal, as the error of its code
    """
    if status >= 400:
        raise parse_http_refusal(body, status)
    for message in parse_reply_messages(kind, body):
        if message.get("id") != number:
            continue
        if "error" in message:
            raise BridgeRefused("protocol.error", str(message["error"].get("message")), message["error"].get("code"))
        result = message["result"]
        data: dict[str, Any] = result.get("structuredContent") or {}
        text = "\n".join(part.get("text", "") for part in result.get("content", []))
        if "error" in data:
            raise to_bridge_error(data["error"], text)
        return Reply(text, data)
    raise BridgeRefused("protocol.error", "the bridge answered without an answer", body[:100])


def parse_reply_messages(kind: str, body: str) -> Iterator[dict[str, Any]]:
    """Return the messages of a response, sent whole or as an event stream."""
    if "event-stream" not in kind:
        yield json.loads(body)
        return
    for line in body.splitlines():
        if line.startswith("data:") and line[5:].strip():
            yield json.loads(line[5:])


def parse_http_refusal(body: str, status: int) -> StoreError:
    """Return the error for an HTTP refusal."""
    try:
        error = json.loads(body)["error"]
        return to_bridge_error(error if "code" in error else {}, error.get("message", body))
    except (ValueError, KeyError, TypeError):
        return BridgeRefused("http.error", f"the bridge answered with status {status}", body[:100])


def to_bridge_error(error: dict[str, Any], text: str) -> StoreError:
    """Return the error for a code: the store's own class if it has one of that name."""
    code, message, value = str(error.get("code", "bridge.error")), error.get("message") or text, error.get("value")
    refusal = BridgeRefused(code, message, value)
    for leaf in find_subclasses(StoreError):
        if leaf.code == code and leaf.__module__ == errors.__name__:
            made = leaf.__new__(leaf)
            StoreError.__init__(made, message, value)
            return made
    return refusal


def find_subclasses(family: type[StoreError]) -> Iterator[type[StoreError]]:
    """Return every class of an error family."""
    for child in family.__subclasses__():
        yield child
        yield from find_subclasses(child)
