"""The gate before HTTP: who is let in, as whom, and how much they may send.

Pure ASGI, so that streams pass through untouched. Everything it refuses is a small JSON document with a stable code.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from hermes_memory_bridge import __version__
from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.access.identity import Identity
from hermes_memory_bridge.access.limits import Buckets
from hermes_memory_bridge.access.peer_connections import HttpConnection, PeerConnections
from hermes_memory_bridge.access.refusal import CLOSE, Asgi, Header, Receive, Refused, Scope, Send, respond, retry_after
from hermes_memory_bridge.access.request_body import HeldBytes, RequestBody, refuse, too_large
from hermes_memory_bridge.access.wrong_tokens import WrongTokens
from hermes_memory_bridge.hub import Hub
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from hermes_memory_themes import ThemeError, resolve_theme

LOCAL = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
LOCAL_ORIGIN = re.compile(rb"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Browsers send where a page came from. Only pages of this machine may speak to its bridge (DNS rebinding)."""


MOST_HEADERS = 100
MOST_HEAD_BYTES = 16 * 1024
"""Names and values of all headers."""

ONCE = frozenset({b"authorization", b"origin", b"mcp-session-id", b"mcp-protocol-version", b"x-hermes-session-key"})
"""Headers that decide who asks for what. Given twice, two readers could take different ones."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client may ask of the bridge."""

    head_s: float = 10.0
    """A request's head must be whole this long after its connection was opened, or after its first byte on one that was
    open."""
    body_bytes: int = 4 * 1024 * 1024
    body_s: float = 30.0
    """A request must be whole within this time."""
    stall_s: float = 30.0
    """A client that has not read what was written to it after this long is gone."""
    per_second: float = 500.0
    burst: float = 1_000.0


STRICT = Limits(head_s=4.0, body_bytes=1024 * 1024, body_s=10.0, stall_s=10.0, per_second=100.0, burst=200.0)
"""What `--hardening-profile` sets."""


class Gate:
    """Lets requests in to `app`, each with its `Identity` in the scope's state."""

    def __init__(
        self, app: Asgi, hub: Hub, limits: Limits, connections: PeerConnections, sessions: HttpSessions
    ) -> None:
        self.app = app
        self.hub = hub
        self.limits = limits
        self.connections = connections
        self.sessions = sessions
        self.buckets = Buckets(limits.per_second, limits.burst)
        self.wrong_tokens = WrongTokens()
        self.held = HeldBytes()

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
            await refuse(refused, receive, send)
        except StoreError as error:
            await respond(send, 503, json.dumps({"error": error.as_dict()}).encode())

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        check_head(scope["headers"])
        headers = dict(scope["headers"])
        check_local(headers)
        if scope["path"] == "/health":
            await respond(send, 200, json.dumps({"status": "ok", "version": __version__}).encode())
            return
        connection: HttpConnection = scope["state"]["connection"]
        identity = await self._identified(scope, headers, connection.peer)
        wait_s = self.buckets.take(identity.client, time.monotonic())
        if wait_s:
            message = f"too many requests; try again in {wait_s:.1f} s"
            raise Refused(429, "rate.limited", message, (retry_after(wait_s),))
        if int(headers.get(b"content-length", b"0")) > self.limits.body_bytes:
            raise too_large(self.limits.body_bytes)
        with (
            self.connections.serving(connection, identity.client),
            RequestBody(receive, self.limits.body_bytes, self.limits.body_s, self.held, identity.client) as body,
        ):
            if await body.read():
                await self._serve(scope, headers, identity, body, send)

    async def _serve(
        self, scope: Scope, headers: dict[bytes, bytes], identity: Identity, body: RequestBody, send: Send
    ) -> None:
        """Hand a request that is whole and may be made to whoever answers it."""
        if scope["path"] == "/metrics":
            shown = await self.hub.read(lambda store: self._numbers(store, identity))
            await respond(send, 200, shown.encode(), kind=b"text/plain; version=0.0.4")
            return
        scope["state"]["identity"] = identity
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=identity.account, scopes=[]))
        session = headers.get(b"mcp-session-id")
        if session is not None:
            with self.sessions.using(session.decode("latin-1")):
                await self.app(scope, body.replay, send)
        elif scope["method"] == "POST" and is_handshake_era(headers):
            async with self.sessions.opening(identity, send) as watched:
                await self.app(scope, body.replay, watched)
        else:
            await self.app(scope, body.replay, send)

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

    async def _identified(self, scope: Scope, headers: dict[bytes, bytes], peer: str) -> Identity:
        client = scope.get("client") or ("", 0)
        on_unix = client[0] == "unix"
        asked = headers.get(b"x-hermes-session-key", b"").decode("latin-1") or None
        authorization = headers.get(b"authorization")
        try:
            if authorization is not None:
                return await self._by_token(authorization, asked, peer)
            if not on_unix:
                raise unauthorised("a token is needed here; make one with `hermes-memory-bridge token add`")
            return Identity(resolve_theme(header=asked, environ={}), Rights(), None, client[1] or None)
        except ThemeError as error:
            raise Refused(400, error.code, error.message) from error

    async def _by_token(self, authorization: bytes, asked: str | None, peer: str) -> Identity:
        kind, _, secret = authorization.decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise unauthorised("the Authorization header must read `Bearer <token>`")
        known = await self.hub.read(lambda store: store.credentials.verify(secret.strip()))
        if known is None:
            await self.wrong_tokens.slow_down(peer)
            raise unauthorised("this token is unknown, expired or revoked")
        theme = resolve_theme(header=asked, token=known.theme, environ={})
        if theme != known.theme:
            # DESIGN lets the header name the theme; a token may not be used to speak for another one.
            raise Refused(
                403, "access.denied", f"this token speaks for {known.theme} only; leave X-Hermes-Session-Key out"
            )
        return Identity(known.theme, known.rights, known)


def check_head(headers: list[Header]) -> None:
    """:raises Refused: there are too many headers, or two readers could understand them differently"""
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MOST_HEADERS or size > MOST_HEAD_BYTES:
        message = f"a request has at most {MOST_HEADERS} headers of {MOST_HEAD_BYTES} bytes together"
        raise Refused(431, "head.too_large", message, (CLOSE,))
    counts = Counter(name for name, _ in headers)
    for name in ONCE:
        if counts[name] > 1:
            raise Refused(400, "request.malformed", f"the header {name.decode()} stands there twice", (CLOSE,))
    if counts[b"content-length"] and counts[b"transfer-encoding"]:
        message = "content-length and transfer-encoding contradict each other; give one of them"
        raise Refused(400, "request.malformed", message, (CLOSE,))


def is_handshake_era(headers: dict[bytes, bytes]) -> bool:
    """Whether the SDK takes a request without a session for the opening of one: it decides by this header alone."""
    version = headers.get(b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


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
