"""The gate before HTTP: who is let in, as whom, and how much they may send.

Pure ASGI, so that streams pass through untouched. Everything it refuses is a small JSON document with a stable code.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from hermes_memory_bridge import __version__
from hermes_memory_bridge.access.identity import Identity
from hermes_memory_bridge.access.limits import Buckets
from hermes_memory_bridge.hub import Hub
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from hermes_memory_themes import ThemeError, resolve_theme

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
LOCAL_ORIGIN = re.compile(rb"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Browsers send where a page came from. Only pages of this machine may speak to its bridge (DNS rebinding)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may ask of the bridge."""

    body_bytes: int = 4 * 1024 * 1024
    body_s: float = 30.0
    """A request must be whole within this time."""
    per_second: float = 500.0
    burst: float = 1_000.0


STRICT = Limits(body_bytes=1024 * 1024, body_s=10.0, per_second=100.0, burst=200.0)
"""What `--hardening-profile` sets."""


class Refused(Exception):
    """A request that is not let in."""

    def __init__(self, status: int, code: str, message: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = json.dumps({"error": {"code": code, "message": message}}).encode()
        self.headers = headers


class Gate:
    """Lets requests in to `app`, each with its `Identity` in the scope's state."""

    def __init__(self, app: Asgi, hub: Hub, limits: Limits) -> None:
        self.app = app
        self.hub = hub
        self.limits = limits
        self.buckets = Buckets(limits.per_second, limits.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            await self._let_in(scope, receive, send)
        except Refused as refused:
            self.hub.metrics.refused.labels(refused.code).inc()
            await respond(send, refused.status, refused.body, refused.headers)
        except StoreError as error:
            await respond(send, 503, json.dumps({"error": error.as_dict()}).encode())

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope["headers"])
        check_local(headers)
        if scope["path"] == "/health":
            await respond(send, 200, json.dumps({"status": "ok", "version": __version__}).encode())
            return
        identity = await self._identified(scope, headers)
        wait_s = self.buckets.take(identity.credential or f"pid {identity.pid}", time.monotonic())
        if wait_s:
            retry = (b"retry-after", str(max(1, round(wait_s))).encode())
            raise Refused(429, "rate.limited", f"too many requests; try again in {wait_s:.1f} s", (retry,))
        if scope["path"] == "/metrics":
            shown = await self.hub.read(lambda store: self._numbers(store, identity))
            await respond(send, 200, shown.encode(), kind=b"text/plain; version=0.0.4")
            return
        scope.setdefault("state", {})["identity"] = identity
        scope["user"] = AuthenticatedUser(
            AccessToken(token="", client_id=identity.credential or f"theme {identity.theme}", scopes=[])
        )
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limits.body_bytes:
            raise too_large(self.limits.body_bytes)
        await self.app(scope, Bounded(receive, self.limits), send)

    def _numbers(self, store: Store, identity: Identity) -> str:
        """What may be shown: a token's holder sees numbers of its own theme alone, and none of the whole bridge."""
        if identity.credential is not None and not identity.rights.read:
            raise Refused(403, "access.denied", "numbers need a token with the right to read")
        if identity.credential is not None and not identity.rights.other_themes:
            numbers = self.hub.metrics.of_theme(identity.theme)
            numbers.look(store, identity.theme)
            return numbers.text()
        self.hub.metrics.waiting.set(self.hub.waiting)
        self.hub.metrics.look(store)
        return self.hub.metrics.text()

    async def _identified(self, scope: Scope, headers: dict[bytes, bytes]) -> Identity:
        client = scope.get("client") or ("", 0)
        on_unix = client[0] == "unix"
        asked = headers.get(b"x-hermes-session-key", b"").decode("latin-1") or None
        authorization = headers.get(b"authorization")
        try:
            if authorization is not None:
                return await self._by_token(authorization, asked)
            if not on_unix:
                raise unauthorised("a token is needed here; make one with `hermes-memory-bridge token add`")
            return Identity(resolve_theme(header=asked, environ={}), Rights(), None, client[1] or None)
        except ThemeError as error:
            raise Refused(400, error.code, error.message) from error

    async def _by_token(self, authorization: bytes, asked: str | None) -> Identity:
        kind, _, secret = authorization.decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise unauthorised("the Authorization header must read `Bearer <token>`")
        known = await self.hub.read(lambda store: store.credentials.verify(secret.strip()))
        if known is None:
            raise unauthorised("this token is unknown, expired or revoked")
        theme = resolve_theme(header=asked, token=known.theme, environ={})
        if theme != known.theme:
            # DESIGN lets the header name the theme; a token may not be used to speak for another one.
            raise Refused(
                403, "access.denied", f"this token speaks for {known.theme} only; leave X-Hermes-Session-Key out"
            )
        return Identity(known.theme, known.rights, known.name)


class Bounded:
    """A request's body, up to a size and within a time."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self.receive = receive
        self.limits = limits
        self.read = 0
        self.whole = False
        self.until = time.monotonic() + limits.body_s

    async def __call__(self) -> MutableMapping[str, Any]:
        """The next piece. After the last one, only the end of the connection follows, for which nobody hurries."""
        if self.whole:
            return await self.receive()
        try:
            async with asyncio.timeout(max(0.0, self.until - time.monotonic())):
                piece = await self.receive()
        except TimeoutError:
            raise Refused(408, "body.slow", f"the request was not whole within {self.limits.body_s:.0f} s") from None
        self.read += len(piece.get("body", b""))
        if self.read > self.limits.body_bytes:
            raise too_large(self.limits.body_bytes)
        self.whole = not piece.get("more_body", False)
        return piece


def check_local(headers: dict[bytes, bytes]) -> None:
    """:raises Refused: the request was meant for another host, or comes from a foreign page"""
    host = headers.get(b"host", b"")
    if not LOCAL.fullmatch(host):
        raise Refused(
            421, "host.refused", f"this bridge is not {host[:80].decode('latin-1') or 'there'}; use localhost"
        )
    origin = headers.get(b"origin")
    if origin is not None and not LOCAL_ORIGIN.fullmatch(origin):
        raise Refused(403, "origin.refused", "pages of other hosts may not use this bridge")


def unauthorised(message: str) -> Refused:
    """No token, or one that is worth nothing."""
    return Refused(401, "token.invalid", message, ((b"www-authenticate", b"Bearer"),))


def too_large(most: int) -> Refused:
    """A body that is not read to its end; the connection is of no more use."""
    return Refused(413, "body.too_large", f"a request has at most {most} bytes", ((b"connection", b"close"),))


async def respond(
    send: Send,
    status: int,
    body: bytes,
    headers: tuple[tuple[bytes, bytes], ...] = (),
    kind: bytes = b"application/json",
) -> None:
    """Send one small answer."""
    length = (b"content-length", str(len(body)).encode())
    await send(
        {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), length, *headers]}
    )
    await send({"type": "http.response.body", "body": body})
