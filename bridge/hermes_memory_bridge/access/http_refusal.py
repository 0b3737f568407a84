"""Refusal of an HTTP request: a small JSON document with a stable code."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

Header = tuple[bytes, bytes]

CLOSE: Header = (b"connection", b"close")


class HttpRefused(Exception):
    """The request was not admitted."""

    def __init__(self, status: int, code: str, message: str, headers: tuple[Header, ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = json.dumps({"error": {"code": code, "message": message}}).encode()
        self.headers = headers

    def head(self) -> list[Header]:
        return [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(self.body)).encode()),
            *self.headers,
        ]


def to_retry_after_header(seconds: float) -> Header:
    return b"retry-after", str(max(1, math.ceil(seconds))).encode()


def to_busy_refusal(message: str) -> HttpRefused:
    return HttpRefused(503, "bridge.busy", message, (to_retry_after_header(1),))


async def send_http_answer(
    send: Send,
    status: int,
    body: bytes,
    headers: tuple[Header, ...] = (),
    kind: bytes = b"application/json",
) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})
