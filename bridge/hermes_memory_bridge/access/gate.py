"""The gate in front of HTTP: who is admitted, under which identity, and how much a client may send.

Pure ASGI, so that streams pass through untouched. Every refusal is a small JSON document with a stable code.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from hermes_memory_bridge.access.http_refusal import (
    CLOSE,
    Asgi,
    Header,
    HttpRefused,
    Receive,
    Scope,
    Send,
    send_http_answer,
    to_retry_after_header,
)
from hermes_memory_bridge.access.http_sessions import HttpSessions
from hermes_memory_bridge.access.peer_connections import HttpConnection, PeerConnections
from hermes_memory_bridge.access.rate_limits import ClientLimits, TokenBuckets
from hermes_memory_bridge.access.request_body import BodyMemory, RequestBody, send_http_refusal, to_too_large_refusal
from hermes_memory_bridge.access.request_identity import Identity
from hermes_memory_bridge.access.wrong_tokens import WrongTokens
from hermes_memory_bridge.runtime.place_resolution import find_place_theme
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.declared_folder import parse_folder_header
from hermes_memory_bridge.version import __version__
from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from hermes_memory_themes import ThemeError, resolve_theme

LOCAL = re.compile(rb"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
LOCAL_ORIGIN = re.compile(rb"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
"""Browsers send where a page came from. Only pages of this machine may speak to its bridge (DNS rebinding)."""


MOST_HEADERS = 100
MOST_HEAD_BYTES = 16 * 1024
"""Maximum size of all header names and values, in bytes."""

SINGLE_HEADERS = frozenset(
    {b"authorization", b"origin", b"mcp-session-id", b"mcp-protocol-version", b"x-hermes-session-key"}
)
"""Headers that decide who asks for what. Given twice, two readers could take different ones."""


class Gate:
    """ASGI middleware that admits requests to `app` and stores each one's `Identity` in the scope's state."""

    def __init__(
        self, app: Asgi, worker: StoreWorker, limits: ClientLimits, connections: PeerConnections, sessions: HttpSessions
    ) -> None:
        self.app = app
        self.worker = worker
        self.limits = limits
        self.connections = connections
        self.sessions = sessions
        self.buckets = TokenBuckets(limits.per_second, limits.burst)
        self.wrong_tokens = WrongTokens()
        self.held = BodyMemory()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            await self._admit(scope, receive, send)
        except HttpRefused as refused:
            self.worker.metrics.refused.labels(refused.code).inc()
            await send_http_refusal(refused, receive, send)
        except StoreError as error:
            await send_http_answer(send, 503, json.dumps({"error": error.as_dict()}).encode())

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        check_request_head(scope["headers"])
        headers = dict(scope["headers"])
        check_request_origin(headers)
        if scope["path"] == "/health":
            await send_http_answer(send, 200, json.dumps({"status": "ok", "version": __version__}).encode())
            return
        connection: HttpConnection = scope["state"]["connection"]
        identity = await self._find_identity(scope, headers, connection.peer)
        wait_s = self.buckets.take(identity.client, time.monotonic())
        if wait_s:
            message = f"too many requests; try again in {wait_s:.1f} s"
            raise HttpRefused(429, "rate.limited", message, (to_retry_after_header(wait_s),))
        if int(headers.get(b"content-length", b"0")) > self.limits.body_bytes:
            raise to_too_large_refusal(self.limits.body_bytes)
        with (
            self.connections.serve_request(connection, identity.client),
            RequestBody(receive, self.limits.body_bytes, self.limits.body_s, self.held, identity.client) as body,
        ):
            if await body.read():
                await self._serve(scope, headers, identity, body, send)

    async def _serve(
        self, scope: Scope, headers: dict[bytes, bytes], identity: Identity, body: RequestBody, send: Send
    ) -> None:
        """Pass a complete, permitted request to its handler."""
        if scope["path"] == "/metrics":
            shown = await self.worker.read(lambda store: self._numbers(store, identity))
            await send_http_answer(send, 200, shown.encode(), kind=b"text/plain; version=0.0.4")
            return
        scope["state"]["identity"] = identity
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=identity.account, scopes=[]))
        session = headers.get(b"mcp-session-id")
        if session is not None:
            with self.sessions.hold_session(session.decode("latin-1")):
                await self.app(scope, body.replay, send)
        elif scope["method"] == "POST" and is_handshake_era(headers):
            async with self.sessions.open_session(identity, send) as watched:
                await self.app(scope, body.replay, watched)
        else:
            await self.app(scope, body.replay, send)

    def _numbers(self, store: Store, identity: Identity) -> str:
        """Return the metrics an identity may see.

        A token holder gets those of its own theme only, never bridge-wide ones.
        """
        if identity.credential is not None and not identity.rights.read:
            raise HttpRefused(403, "access.denied", "numbers need a token with the right to read")
        if identity.credential is not None and not identity.rights.other_themes:
            numbers = self.worker.metrics.of_theme(identity.theme)
            numbers.look(store, identity.theme)
            return numbers.text()
        self.worker.metrics.waiting.set(self.worker.queue_length)
        self.worker.metrics.look(store)
        return self.worker.metrics.text()

    async def _find_identity(self, scope: Scope, headers: dict[bytes, bytes], peer: str) -> Identity:
        client = scope.get("client") or ("", 0)
        on_unix = client[0] == "unix"
        requested_theme = headers.get(b"x-hermes-session-key", b"").decode("latin-1") or None
        authorization = headers.get(b"authorization")
        try:
            if authorization is not None:
                return await self._by_token(authorization, requested_theme, peer)
            if not on_unix:
                raise to_unauthorized_refusal("a token is needed here; make one with `hermes-memory-bridge token add`")
            pid = client[1] or None
            if requested_theme is not None and requested_theme.strip():
                return Identity(resolve_theme(header=requested_theme, environ={}), Rights(), None, pid)
            folder = parse_folder_header(headers.get(b"x-hermes-folder", b"").decode("latin-1") or None)
            return Identity(await find_place_theme(self.worker, folder), Rights(), None, pid, is_placed=True)
        except ThemeError as error:
            raise HttpRefused(400, error.code, error.message) from error

    async def _by_token(self, authorization: bytes, requested_theme: str | None, peer: str) -> Identity:
        kind, _, secret = authorization.decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise to_unauthorized_refusal("the Authorization header must read `Bearer <token>`")
        credential = await self.worker.read(lambda store: store.credentials.verify(secret.strip()))
        if credential is None:
            await self.wrong_tokens.slow_down(peer)
            raise to_unauthorized_refusal("this token is unknown, expired or revoked")
        theme = resolve_theme(header=requested_theme, token=credential.theme, environ={})
        if theme != credential.theme:
            # DESIGN lets the header name the theme; a token may not be used to speak for another one.
            raise HttpRefused(
                403, "access.denied", f"this token speaks for {credential.theme} only; leave X-Hermes-Session-Key out"
            )
        return Identity(credential.theme, credential.rights, credential)


def check_request_head(headers: list[Header]) -> None:
    """Check the request headers.

    :raises HttpRefused: there are too many, or two parsers could interpret them differently
    """
    size = sum(len(name) + len(value) for name, value in headers)
    if len(headers) > MOST_HEADERS or size > MOST_HEAD_BYTES:
        message = f"a request has at most {MOST_HEADERS} headers of {MOST_HEAD_BYTES} bytes together"
        raise HttpRefused(431, "head.too_large", message, (CLOSE,))
    counts = Counter(name for name, _ in headers)
    for name in SINGLE_HEADERS:
        if counts[name] > 1:
            raise HttpRefused(400, "request.malformed", f"the header {name.decode()} stands there twice", (CLOSE,))
    if counts[b"content-length"] and counts[b"transfer-encoding"]:
        message = "content-length and transfer-encoding contradict each other; give one of them"
        raise HttpRefused(400, "request.malformed", message, (CLOSE,))


def is_handshake_era(headers: dict[bytes, bytes]) -> bool:
    """Check whether the SDK treats a request without a session as a handshake: it decides by this header alone."""
    version = headers.get(b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def check_request_origin(headers: dict[bytes, bytes]) -> None:
    """Check Host and Origin.

    :raises HttpRefused: the request was meant for another host or comes from a foreign page
    """
    host = headers.get(b"host", b"")
    if not LOCAL.fullmatch(host):
        raise HttpRefused(
            421, "host.refused", f"this bridge is not {host[:80].decode('latin-1') or 'there'}; use localhost"
        )
    origin = headers.get(b"origin")
    if origin is not None and not LOCAL_ORIGIN.fullmatch(origin):
        raise HttpRefused(403, "origin.refused", "pages of other hosts may not use this bridge")


def to_unauthorized_refusal(message: str) -> HttpRefused:
    return HttpRefused(401, "token.invalid", message, ((b"www-authenticate", b"Bearer"),))
