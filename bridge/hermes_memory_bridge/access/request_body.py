"""Request bodies, read whole before anything else sees a byte.

Limited by size, by time, and by the memory that all bodies together may take.
"""

from __future__ import annotations

import asyncio
import contextlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import MutableMapping
from typing import Any

from hermes_memory_bridge.access.http_refusal import (
    CLOSE,
    HttpRefused,
    Receive,
    Send,
    to_busy_refusal,
    to_retry_after_header,
)

MOST_HELD = 64 * 1024 * 1024
"""Maximum bytes of all bodies in memory."""

MOST_HELD_OF_CLIENT = 16 * 1024 * 1024
"""Maximum bytes of the bodies of one client."""

LINGER_S = 2.0
"""How long the rest of a refused body is read and dropped. Closing at once would reset the connection, and the client,
still sending, would never read why."""


class BodyMemory:
    """Memory held by request bodies, by client."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def reserve(self, client: str, count: int) -> None:
        """Count bytes that were read. :raises HttpRefused: the client, or all clients together, hold too many"""
        if self._held[client] + count > MOST_HELD_OF_CLIENT:
            raise HttpRefused(
                429,
                "rate.limited",
                f"{client} has {MOST_HELD_OF_CLIENT} bytes of requests under way already; send fewer at a time",
                (to_retry_after_header(1), CLOSE),
            )
        if self._held.total() + count > MOST_HELD:
            raise to_busy_refusal(f"{MOST_HELD} bytes of requests are under way already; try again in a moment")
        self._held[client] += count

    def release(self, client: str, count: int) -> None:
        self._held[client] -= count
        if not self._held[client]:
            del self._held[client]


class RequestBody:
    """The body of one request. Use it as a context manager: its bytes are counted for as long as they are held."""

    def __init__(self, receive: Receive, most_bytes: int, seconds: float, held: BodyMemory, client: str) -> None:
        self.receive = receive
        self.most_bytes = most_bytes
        self.seconds = seconds
        self.held = held
        self.client = client
        self.whole = bytearray()
        self._counted = 0
        self._given = False

    def __enter__(self) -> RequestBody:
        return self

    def __exit__(self, *_: object) -> None:
        self.held.release(self.client, self._counted)

    async def read(self) -> bool:
        """Read the whole body; return False when the client disconnected before the end.

        :raises HttpRefused: it is too large or too slow
        """
        try:
            async with asyncio.timeout(self.seconds):
                while True:
                    piece = await self.receive()
                    if piece["type"] == "http.disconnect":
                        return False
                    self._keep(piece.get("body", b""))
                    if not piece.get("more_body", False):
                        return True
        except TimeoutError:
            message = f"the request was not whole within {self.seconds:.0f} s; send it faster, or in parts"
            raise HttpRefused(408, "body.slow", message, (CLOSE,)) from None

    async def replay(self) -> MutableMapping[str, Any]:
        """Return a `receive` for the application: the whole body, then only the disconnect."""
        if self._given:
            return await self.receive()
        self._given = True
        return {"type": "http.request", "body": bytes(self.whole).removeprefix(BOM_UTF8), "more_body": False}

    def _keep(self, piece: bytes) -> None:
        if len(self.whole) + len(piece) > self.most_bytes:
            raise to_too_large_refusal(self.most_bytes)
        self.held.reserve(self.client, len(piece))
        self._counted += len(piece)
        self.whole += piece


def to_too_large_refusal(most: int) -> HttpRefused:
    """Return the refusal for a body that is not read to its end; the connection cannot be reused."""
    return HttpRefused(413, "body.too_large", f"a request has at most {most} bytes", (CLOSE,))


async def send_http_refusal(refused: HttpRefused, receive: Receive, send: Send) -> None:
    """Send the reason for a refusal. If that ends the connection, drain what the client still sends for a while."""
    await send({"type": "http.response.start", "status": refused.status, "headers": refused.head()})
    if CLOSE in refused.headers:
        await send({"type": "http.response.body", "body": refused.body, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await drain_body(receive)
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.body", "body": refused.body})


async def drain_body(receive: Receive) -> None:
    """Read a body to its end, or to the end of its connection, and discard it."""
    while True:
        piece = await receive()
        if piece["type"] == "http.disconnect" or not piece.get("more_body", False):
            return
