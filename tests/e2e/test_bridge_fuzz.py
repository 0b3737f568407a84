"""Nonsense on every socket: no crash, no hang, no growth, and everybody else goes on.

`$HERMES_MEMORY_FUZZ_S` sets for how many seconds (600 for a long look).
"""

from __future__ import annotations

import json
import os
import random
import socket
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, Shim, bridge, dial

SECONDS = float(os.environ.get("HERMES_MEMORY_FUZZ_S", "8"))

METHODS = [
    "initialize", "tools/call", "tools/list", "resources/read", "resources/subscribe", "prompts/get", "completion/complete",
    "subscriptions/listen", "ping", "logging/setLevel", "server/discover", "notifications/cancelled", "no/such", "",
]  # fmt: skip


def junk(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 3 else 6)
    match kind:
        case 0:
            return None
        case 1:
            return chance.choice([0, -1, 2**63, 10**30, 1.5, True])
        case 2:
            return chance.choice(["", "a", "\x00", "\u202e", "é" * 50, "x" * 5_000, "'; DROP TABLE facts; --", "%s%n"])
        case 3 | 4 | 5:
            return chance.choice([*TOOLS, "memory://status", "file:///etc/passwd", "2026-07-28"])
        case 6:
            return [junk(chance, depth + 1) for _ in range(chance.randrange(4))]
        case _:
            names = [
                "name",
                "arguments",
                "uri",
                "_meta",
                "content",
                "query",
                "cursor",
                "ref",
                "argument",
                "io.hermes-memory/key",
            ]
            return {chance.choice(names): junk(chance, depth + 1) for _ in range(chance.randrange(5))}


def line(chance: random.Random) -> bytes:
    """One line that may be anything."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.randbytes(chance.randrange(1, 400)).replace(b"\n", b"") + b"\n"
    if kind == 1:
        return b"[" * chance.randrange(1, 5_000) + b"\n"
    message = {
        "jsonrpc": chance.choice(["2.0", "2.0", "2.0", 2, None]),
        "method": chance.choice(METHODS),
        "params": junk(chance),
    }
    if chance.random() < 0.8:
        message["id"] = chance.choice([1, "a", None, -5, 1.5, [], {}])
    text = json.dumps(message).encode()
    return (text[: chance.randrange(1, len(text))] if kind == 2 else text) + b"\n"


def bother(places: BridgePaths, chance: random.Random) -> None:
    with dial(places) as connection:
        connection.settimeout(0.05)
        try:
            if chance.random() < 0.8:
                connection.sendall(json.dumps({"hermes-memory": 1, "theme": "fuzz"}).encode() + b"\n")
                if chance.random() < 0.6:
                    connection.sendall(
                        json.dumps(INITIALIZE).encode() + b"\n" + json.dumps(INITIALIZED).encode() + b"\n"
                    )
            for _ in range(chance.randrange(12)):
                connection.sendall(line(chance))
            if chance.random() < 0.5:
                connection.recv(65_536)
        except (TimeoutError, ConnectionError):
            return


def bother_http(places: BridgePaths, chance: random.Random) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(0.05)
        try:
            connection.connect(places.http)
            body = line(chance)
            length = chance.choice([len(body), 0, 10**12, -1, "x"])
            method = chance.choice(["POST", "GET", "DELETE", "PUT", "\x00"])
            head = f"{method} {chance.choice(['/mcp', '/', '/metrics', '/health', '/../mcp'])} HTTP/1.1\r\nhost: localhost\r\n"
            head += f"content-length: {length}\r\ncontent-type: application/json\r\n"
            head += "accept: application/json, text/event-stream\r\n"
            if chance.random() < 0.5:
                head += f"mcp-protocol-version: {chance.choice(['2026-07-28', '2025-11-25', 'x'])}\r\n"
                head += f"mcp-session-id: {chance.random()}\r\n"
            connection.sendall(
                chance.randbytes(200) if chance.random() < 0.1 else head.encode("latin-1") + b"\r\n" + body
            )
            connection.recv(65_536)
        except (TimeoutError, ConnectionError):
            return


@pytest.mark.fuzz
def test_nonsense_stops_nobody(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    chance = random.Random(5)
    slowest = 0.0
    with bridge(db) as places:
        running = ask_bridge(places, "status")
        assert running is not None
        process = psutil.Process(running["pid"])
        with Shim(db) as good:
            good.open()
            good.call("memory_write", content="D[cache]: redis")
            for _ in range(100):
                bother(places, chance)
                bother_http(places, chance)
            before = process.memory_info().rss
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                for _ in range(10):
                    bother(places, chance)
                    bother_http(places, chance)
                begun = time.monotonic()
                assert "redis" in good.call("memory_search", query="cache")["result"]["content"][0]["text"]
                slowest = max(slowest, time.monotonic() - begun)
            after = process.memory_info().rss
            good.close()
        assert ask_bridge(places, "status")["pid"] == running["pid"], "it crashed"  # type: ignore[index]
    assert slowest < 2.0
    assert after - before < 20 * 2**20, f"{(after - before) / 2**20:.1f} MiB more"
    log = Path(places.log).read_text()
    assert "Traceback" not in log, log[log.index("Traceback") - 500 :][:3000]
    with Store.open(db) as store:
        assert [check for check in examine_store(store) if not check.ok] == []
