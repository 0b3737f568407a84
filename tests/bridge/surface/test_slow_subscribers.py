"""A subscriber that does not read keeps nobody else waiting."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, bridge, dial

SUBSCRIBE = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": "memory://status"}}


def say(connection: socket.socket, *messages: dict[str, object]) -> None:
    """Messages on the line socket."""
    connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))


def test_a_subscriber_that_never_reads_delays_no_notice_to_the_others(db: Path) -> None:
    many = [{"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {}} for number in range(2, 200)]
    with Store.open(db) as store, bridge(db) as places, dial(places) as deaf, dial(places) as reading:
        heard = reading.makefile("rb")
        for connection in (deaf, reading):
            say(connection, {"hermes-memory": 1}, INITIALIZE, INITIALIZED, SUBSCRIBE)
        while json.loads(heard.readline()).get("id") != SUBSCRIBE["id"]:
            continue
        say(deaf, *many)  # far more than the system keeps for who does not read
        for number in range(3):
            store.facts.write("default", f"V[size]: {number}")
            while b"notifications/resources/updated" not in heard.readline():
                continue
