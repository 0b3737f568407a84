"""Plain calls are answered without the SDK, in its very words."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.protocol.fast_path import STAMP, FastPath
from tests.bridge.running import INITIALIZE, INITIALIZED, bridge, dial

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def exchange(connection: socket.socket, message: dict[str, Any]) -> dict[str, Any]:
    connection.sendall(json.dumps(message).encode() + b"\n")
    said = b""
    while not said.endswith(b"\n"):
        said += connection.recv(1 << 20)
    heard: dict[str, Any] = json.loads(said)
    return heard


def call(number: int | str, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, **more}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


CALLS = [
    ("memory_search", {"query": "redis"}),
    ("memory_search", {"query": "nothing of the kind"}),
    ("memory_search", {"query": "redis", "scope": "no such scope"}),
    ("memory_search", {}),
    ("memory_reflect", {"topic": "cache"}),
    ("memory_export", {}),
    ("memory_write", {"content": "no notation"}),
]


@pytest.mark.parametrize("modern", [False, True])
def test_both_ways_answer_alike(db: Path, modern: bool) -> None:
    """An unknown parameter sends the same call through the SDK."""
    with bridge(db) as places, dial(places) as connection:
        exchange(connection, {"hermes-memory": 1})
        envelope = {"_meta": META} if modern else {}
        if not modern:
            exchange(connection, INITIALIZE)
            connection.sendall(json.dumps(INITIALIZED).encode() + b"\n")
        exchange(connection, call("first", "memory_write", {"content": "D[cache]: redis"}, **envelope))
        for number, (tool, arguments) in enumerate(CALLS):
            fast = exchange(connection, call(number, tool, arguments, **envelope))
            slow = exchange(connection, call(number, tool, arguments, **envelope, unknown=1))
            assert fast == slow, tool
            assert list(fast["result"]) == list(slow["result"]), "in another order"


class Nobody:
    """A connection of which only the client's name is asked."""

    client: str | None = None


def watching(*messages: dict[str, Any]) -> FastPath:
    """A fast path that has heard these messages."""
    fast = FastPath(None, Nobody())  # type: ignore[arg-type]
    for message in messages:
        assert fast.find_plain_call(json.dumps(message).encode()) is None
    return fast


PLAIN = call(1, "memory_search", {"query": "a"})


def test_a_call_before_the_handshake_is_left_to_the_sdk() -> None:
    assert watching().find_plain_call(json.dumps(PLAIN).encode()) is None
    assert watching(INITIALIZE).find_plain_call(json.dumps(PLAIN).encode()) is None
    assert watching(INITIALIZED).find_plain_call(json.dumps(PLAIN).encode()) is None
    assert watching(INITIALIZE, INITIALIZED).find_plain_call(json.dumps(PLAIN).encode()) == PLAIN


@pytest.mark.parametrize(
    "odd",
    [
        PLAIN | {"id": None},
        PLAIN | {"id": 1.5},
        PLAIN | {"id": True},
        PLAIN | {"jsonrpc": "1.0"},
        PLAIN | {"params": []},
        call(1, "memory_search", {}, task={}),
        call(1, "memory_purge", {}),
        call(1, "no_such_tool", {}),
        call(1, "memory_search", {"query": "a"}, _meta=META),
    ],
)
def test_what_is_not_plain_is_left_to_the_sdk(odd: dict[str, Any]) -> None:
    assert watching(INITIALIZE, INITIALIZED).find_plain_call(json.dumps(odd).encode()) is None


def test_an_era_is_kept() -> None:
    modern = FastPath(None, Nobody())  # type: ignore[arg-type]
    enveloped = call(1, "memory_search", {"query": "a"}, _meta=META)
    assert modern.find_plain_call(json.dumps(enveloped).encode()) == enveloped
    assert modern.find_plain_call(json.dumps(PLAIN).encode()) is None
    assert "io.modelcontextprotocol/serverInfo" in STAMP


def test_an_id_that_is_none_is_refused(db: Path) -> None:
    with bridge(db) as places, dial(places) as connection:
        exchange(connection, {"hermes-memory": 1})
        answer = exchange(connection, call(1, "memory_search", {}) | {"id": 1.5})
        assert answer["error"]["code"] == -32600
