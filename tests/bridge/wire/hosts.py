"""Hosts as the released ones speak: with a handshake, or with the envelope of 2026-07-28 and a stream of notices."""

from __future__ import annotations

import json
from typing import Any

from tests.bridge.running import Shim

MODERN = "2026-07-28"

PREFIX = "io.modelcontextprotocol/"

EMPTY: dict[str, Any] = {}


def modern(client: str = "claude-code") -> dict[str, Any]:
    """The envelope of a request."""
    said = {"protocolVersion": MODERN, "clientInfo": {"name": client, "version": "2.1.330"}, "clientCapabilities": {}}
    return {"_meta": {PREFIX + name: value for name, value in said.items()}}


def hear_answer(shim: Shim, number: int | str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    before = []
    while (heard := shim.hear()).get("id") != number or "method" in heard:
        before.append(heard)
    return heard, before


def list_tools(shim: Shim, params: dict[str, Any] | None = None) -> list[str]:
    """The names of the tools the host is shown."""
    answer, _ = hear_answer(shim, shim.request("tools/list", params))
    return [tool["name"] for tool in answer["result"]["tools"]]


def discover(shim: Shim, client: str = "claude-code") -> dict[str, Any]:
    """What a server says of itself to a host of 2026-07-28."""
    answer, _ = hear_answer(shim, shim.request("server/discover", modern(client)))
    result: dict[str, Any] = answer["result"]
    return result


def call_tool(shim: Shim, tool: str, **arguments: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return hear_answer(shim, shim.request("tools/call", {"name": tool, "arguments": arguments}))


def to_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
