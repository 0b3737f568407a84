"""A bridge started on demand leaves when nobody is there any more, over whichever transport they came."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from hermes_memory_bridge.client.mcp_messages import ENVELOPE, to_request_headers
from hermes_memory_bridge.wire.paths import BridgePaths
from tests.bridge.running import INITIALIZE, INITIALIZED, bridge, dial, until

LINGER_S = 1.0

URL = "http://localhost/mcp"

ACCEPT = {"accept": "application/json, text/event-stream"}


@pytest.fixture
def places(db: Path) -> Iterator[BridgePaths]:
    """A bridge that leaves soon."""
    with bridge(db, "--linger", str(LINGER_S)) as running:
        yield running


def gone(places: BridgePaths) -> bool:
    return not Path(places.pid).exists()


def stays(places: BridgePaths) -> bool:
    """Whether the bridge is there after more than the time that it lingers."""
    began = time.monotonic()
    until(lambda: gone(places) or time.monotonic() - began > 2 * LINGER_S, "the end of a while")
    return not gone(places)


@contextmanager
def session(client: httpx.Client) -> Iterator[None]:
    opened = client.post(URL, json=INITIALIZE, headers=ACCEPT)
    headers = ACCEPT | {"mcp-session-id": opened.headers["mcp-session-id"]}
    client.post(URL, json=INITIALIZED, headers=headers)
    client.post(URL, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers).raise_for_status()
    yield
    client.delete(URL, headers=headers).raise_for_status()


@contextmanager
def stream(client: httpx.Client) -> Iterator[None]:
    """A stream of notices, of 2026-07-28."""
    params: dict[str, Any] = {"notifications": {"resourcesListChanged": True}, "_meta": ENVELOPE}
    request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    headers = to_request_headers("", None, None) | {"mcp-method": "subscriptions/listen"}
    del headers["mcp-name"]
    with client.stream("POST", URL, json=request, headers=headers) as answer:
        answer.raise_for_status()
        heard = answer.iter_bytes()
        assert b"acknowledged" in next(heard)
        yield


@pytest.mark.parametrize("use", [session, stream])
def test_it_stays_as_long_as_it_is_used_over_http(places: BridgePaths, use: Any) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(uds=places.http)) as client, use(client):
        assert stays(places)
    until(lambda: gone(places), "the end of the bridge")


def test_it_leaves_after_a_connection_that_never_said_anything(places: BridgePaths) -> None:
    with dial(places):
        assert stays(places)
    until(lambda: gone(places), "the end of the bridge")


def test_it_leaves_although_somebody_measures_it(places: BridgePaths) -> None:
    def asks() -> bool:
        with httpx.Client(transport=httpx.HTTPTransport(uds=places.http)) as client:
            try:
                return client.get("http://localhost/metrics").status_code != 200
            except httpx.TransportError:
                return True

    until(asks, "the end of the bridge")
