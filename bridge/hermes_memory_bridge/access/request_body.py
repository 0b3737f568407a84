"""A request's body, read whole before anybody else sees a byte of it: up to a size, within a time, and within what all
bodies together may take in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import MutableMapping
from typing import Any

from hermes_memory_bridge.access.refusal import CLOSE, Receive, Refused, Send, busy, retry_after

MOST_HELD = 64 * 1024 * 1024
"""Bytes of all bodies in memory."""

MOST_HELD_OF_CLIENT = 16 * 1024 * 1024
"""Bytes of the bodies of one client."""

LINGER_S = 2.0
"""How long the rest of a refused body is read and dropped. Closing at once would reset the connection, and the client,
still sending, would never read why."""


class HeldBytes:
    """What bodies take in memory, by client."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def take(self, client: str, count: int) -> None:
        """Count bytes that were read. :raises Refused: the client, or everybody, holds too many"""
        if self._held[client] + count > MOST_HELD_OF_CLIENT:
            raise Refused(
                429,
                "rate.limited",
                f"{client} has {MOST_HELD_OF_CLIENT} bytes of requests under way already; send fewer at a time",
                (retry_after(1), CLOSE),
            )
        if self._held.total() + count > MOST_HELD:
            raise busy(f"{MOST_HELD} bytes of requests are under way already; try again in a moment")
        self._held[client] += count

    def give_back(self, client: str, count: int) -> None:
        """These bytes are dropped."""
        self._held[client] -= count
        if not self._held[client]:
            del self._held[client]


class RequestBody:
    """The body of one request. Use it as a context, which counts its bytes for as long as they are held."""

    def __init__(self, receive: Receive, most_bytes: int, seconds: float, held: HeldBytes, client: str) -> None:
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
        self.held.give_back(self.client, self._counted)

    async def read(self) -> bool:
        """Read all of it; False when the client left before it was whole.

        :raises Refused: it is too large, or too slow
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
            raise Refused(408, "body.slow", message, (CLOSE,)) from None

    async def replay(self) -> MutableMapping[str, Any]:
        """`receive` for the application: the whole body, then only the end of the connection."""
        if self._given:
            return await self.receive()
        self._given = True
        return {"type": "http.request", "body": bytes(self.whole), "more_body": False}

    def _keep(self, piece: bytes) -> None:
        if len(self.whole) + len(piece) > self.most_bytes:
            raise too_large(self.most_bytes)
        self.held.take(self.client, len(piece))
        self._counted += len(piece)
        self.whole += piece


def too_large(most: int) -> Refused:
    """A body that is not read to its end; the connection is of no more use."""
    return Refused(413, "body.too_large", f"a request has at most {most} bytes", (CLOSE,))


async def refuse(refused: Refused, receive: Receive, send: Send) -> None:
    """Answer why a request is not let in. Where that ends the connection, what the client still sends is dropped for a while."""
    await send({"type": "http.response.start", "status": refused.status, "headers": refused.head()})
    if CLOSE in refused.headers:
        await send({"type": "http.response.body", "body": refused.body, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                await drop_rest(receive)
        await send({"type": "http.response.body", "body": b""})
        return
    await send({"type": "http.response.body", "body": refused.body})


async def drop_rest(receive: Receive) -> None:
    """Read a body to its end, or to the end of its connection, and keep nothing."""
    while True:
        piece = await receive()
        if piece["type"] == "http.disconnect" or not piece.get("more_body", False):
            return
