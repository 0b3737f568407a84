"""The gate before HTTP, on real sockets of a real bridge."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.access.rate_limits import TokenBuckets
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.running import PATIENCE_S, bridge, free_port, until

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(tool: str, **arguments: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


class Door:
    """Speaks plain HTTP to one of the bridge's sockets."""

    def __init__(self, places: BridgePaths, port: int) -> None:
        self.places = places
        self.port = port

    def dial(self, tcp: bool = True) -> socket.socket:
        made = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
        # Without a time limit yet: with one, connecting to a unix socket whose queue is full fails at once.
        made.connect(("127.0.0.1", self.port) if tcp else self.places.http)
        made.settimeout(PATIENCE_S)
        return made

    def ask(
        self, method: str = "POST", path: str = "/mcp", body: bytes = b"", tcp: bool = True, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        said = {
            "host": "localhost",
            "connection": "close",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "content-length": str(len(body)),
        }
        if body:
            said["mcp-name"] = json.loads(body)["params"]["name"]
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in said.items()), "", ""]
        with self.dial(tcp) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1") + body)
            return answer_of(connection)


def answer_of(connection: socket.socket) -> tuple[int, dict[str, str], str]:
    heard = b""
    while more := connection.recv(65_536):
        heard += more
    head, _, body = heard.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in rest), body.decode(errors="replace")


@contextmanager
def door(db: Path, *options: str, files: int | tuple[int, int] | None = None) -> Iterator[Door]:
    """A bridge that listens on the loopback interface too. :param files: see `bridge`"""
    port = free_port()
    with bridge(db, "--tcp", str(port), *options, files=files) as places:
        made = Door(places, port)
        until(lambda: alive(made), "the port")
        yield made


def alive(made: Door) -> bool:
    try:
        return made.ask("GET", "/health")[0] == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Door, dict[str, str], Path]]:
    """One bridge for these tests, and tokens by what they may do."""
    db = tmp_path_factory.mktemp("gate") / "memory.db"
    with Store.open(db) as store:
        tokens = {
            "both": store.credentials.add("both", "marketing", Rights.parse("read,write"))[1],
            "read": store.credentials.add("read", "marketing", Rights.parse("read"))[1],
            "old": store.credentials.add("old", "marketing", Rights(), expires_at=1)[1],
        }
        store.facts.write("hr", "V[salary.bob]: 1", scope="pay")
    with door(db) as made:
        yield made, tokens, db


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_token_opens_its_theme(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, _ = opened
    status, _, body = made.ask(body=call("memory_status"), **bearer(tokens["both"]))
    assert status == 200
    assert '"theme":"marketing"' in body.replace(" ", "")


@pytest.mark.parametrize("secret", [None, "hmt_wrong", "", "old"])
def test_without_a_good_token_nothing_opens(opened: tuple[Door, dict[str, str], Path], secret: str | None) -> None:
    made, tokens, _ = opened
    headers = {} if secret is None else bearer(tokens.get(secret, secret))
    status, heard, body = made.ask(body=call("memory_status"), **headers)
    assert (status, heard["www-authenticate"]) == (401, "bearer")
    assert json.loads(body)["error"]["code"] == "token.invalid"


def test_a_process_of_this_user_needs_none_on_the_socket(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, _ = opened
    status, _, body = made.ask(body=call("memory_status"), tcp=False, x_hermes_session_key="Mark Eting")
    assert status == 200
    assert '"theme":"mark-eting"' in body.replace(" ", "")
    status, _, body = made.ask(body=call("memory_status"), tcp=False, **bearer(tokens["both"]))
    assert '"theme":"marketing"' in body.replace(" ", ""), "a token that is shown binds"
    assert made.ask(body=call("memory_status"), tcp=False, **bearer("hmt_wrong"))[0] == 401


def test_a_token_speaks_for_no_other_theme(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, _ = opened
    status, _, body = made.ask(body=call("memory_status"), x_hermes_session_key="hr", **bearer(tokens["both"]))
    assert status == 403
    assert "salary" not in body
    status, _, body = made.ask(body=call("memory_search", query="salary"), **bearer(tokens["both"]))
    assert "no results" in body


def test_a_missing_right_is_told(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, tokens, _ = opened
    _, _, body = made.ask(body=call("memory_write", content="D[a]: b"), **bearer(tokens["read"]))
    assert "access.denied" in body


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example"}, 421),
        ({"host": "127.0.0.1:8765"}, 200),
        ({"host": "[::1]:1"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
def test_pages_and_names_of_other_hosts_are_turned_away(
    opened: tuple[Door, dict[str, str], Path], headers: dict[str, str], status: int
) -> None:
    made, tokens, _ = opened
    assert made.ask(body=call("memory_status"), **bearer(tokens["both"]), **headers)[0] == status


def test_health_tells_that_it_is_well_and_nothing_else(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, _, _ = opened
    status, _, body = made.ask("GET", "/health")
    assert status == 200
    assert set(json.loads(body)) == {"status", "version"}
    assert made.ask("GET", "/metrics")[0] == 401


def test_a_revoked_token_is_refused_at_once(opened: tuple[Door, dict[str, str], Path]) -> None:
    made, _, db = opened
    with Store.open(db) as store:
        _, secret = store.credentials.add("brief", "marketing", Rights())
        assert made.ask(body=call("memory_status"), **bearer(secret))[0] == 200
        store.credentials.revoke("brief")
    assert made.ask(body=call("memory_status"), **bearer(secret))[0] == 401


def test_three_hundred_connections_that_say_nothing_keep_nobody_waiting(
    opened: tuple[Door, dict[str, str], Path],
) -> None:
    made, tokens, _ = opened
    silent = [made.dial() for _ in range(150)] + [made.dial(tcp=False) for _ in range(150)]
    half = made.dial()
    half.sendall(b"POST /mcp HTTP/1.1\r\nhost: loc")
    assert made.ask(body=call("memory_status"), **bearer(tokens["both"]))[0] == 200
    for connection in [*silent, half]:
        connection.close()


@given(
    steps=st.lists(st.floats(0, 3), min_size=1, max_size=200),
    per_second=st.floats(0.5, 50),
    burst=st.floats(1, 20),
)
def test_a_bucket_never_gives_more_than_its_burst_and_its_pace(
    steps: list[float], per_second: float, burst: float
) -> None:
    buckets = TokenBuckets(per_second, burst)
    now, taken = 0.0, 0
    for step in steps:
        now += step
        taken += buckets.take("a", now) == 0.0
    assert taken <= burst + now * per_second + 1e-6
    assert buckets.take("b", now) == 0.0, "one client's calls cost another nothing"


def test_a_refused_call_may_be_made_after_the_time_it_was_told() -> None:
    buckets = TokenBuckets(2.0, 1.0)
    assert buckets.take("a", 0.0) == 0.0
    wait_s = buckets.take("a", 0.0)
    assert wait_s == pytest.approx(0.5)
    assert buckets.take("a", wait_s + 1e-9) == 0.0
