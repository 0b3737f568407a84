"""Sessions opened over HTTP by clients of older protocol revisions, counted before the SDK creates one.

The SDK keeps a session until it has been idle for half an hour and has room for a fixed number. Without a count
per client, one client that opens one after another would lock everybody out.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_bridge.access.http_refusal import HttpRefused, Send, to_busy_refusal, to_retry_after_header
from hermes_memory_bridge.access.request_identity import Identity
from hermes_memory_bridge.runtime.connection_registry import MOST_OF_A_TOKEN

MOST_SESSIONS = 1_000
"""Maximum number of sessions of all clients together."""

MOST_OF_TOKENS = 750
"""Maximum of all tokens together; the rest is reserved for processes of this user."""

MOST_OF_A_PROCESS = 256
"""Maximum per process of this user: a gateway may serve many agents."""

QUIET_S = 60.0
"""A client at its limit loses its longest idle session to a new one, if that has been idle at least this long."""


@dataclass(eq=False, slots=True)
class HttpSession:
    """An SDK session as far as counting is concerned."""

    identity: Identity
    requests: int = 0
    """Number of requests and streams in progress."""
    seen: float = field(default_factory=time.monotonic)
    """Monotonic time at which the last of them began or ended."""


class HttpSessions:
    """Count open sessions per client."""

    def __init__(self, is_open: Callable[[str], bool], end: Callable[[str], Awaitable[None]]) -> None:
        """:param is_open: checks whether the SDK has a session with this id
        :param end: ends a session
        """
        self._is_open = is_open
        self._end = end
        self._by_id: dict[str, HttpSession] = {}
        self._opening: set[HttpSession] = set()

    def open_sessions(self) -> dict[str, HttpSession]:
        self._by_id = {name: session for name, session in self._by_id.items() if self._is_open(name)}
        return self._by_id

    async def end(self, name: str) -> None:
        self._by_id.pop(name, None)
        await self._end(name)

    @contextlib.contextmanager
    def hold_session(self, name: str) -> Iterator[None]:
        """Mark a session as in use for the duration of a request."""
        session = self._by_id.get(name)
        if session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.seen = time.monotonic()

    @contextlib.asynccontextmanager
    async def open_session(self, identity: Identity, send: Send) -> AsyncIterator[Send]:
        """Let a client open a session; yield the `send` for the application.

        The session's id is learned from the response sent through it.

        :raises HttpRefused: the client has too many sessions in use, or all tokens together have
        """
        quiet = self._room_for(identity)
        session = HttpSession(identity)
        self._opening.add(session)

        async def send_and_note_session(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                for name in (value for header, value in message["headers"] if header == b"mcp-session-id"):
                    self._opening.discard(session)
                    self._by_id[name.decode("ascii")] = session
            await send(message)

        try:
            if quiet is not None:
                await self.end(quiet)
            yield send_and_note_session
        finally:
            self._opening.discard(session)
            session.seen = time.monotonic()

    def _room_for(self, identity: Identity) -> str | None:
        """Return the idle session to end for a new one, if one must go. :raises HttpRefused: none is idle"""
        here = self.open_sessions()
        own = {name: session for name, session in here.items() if session.identity.client == identity.client}
        opening = sum(session.identity.client == identity.client for session in self._opening)
        most = MOST_OF_A_PROCESS if identity.credential_shown is None else MOST_OF_A_TOKEN
        if len(own) + opening >= most:
            return find_idlest_session(own, f"{identity.client} has {most} sessions open already; end some with DELETE")
        if identity.credential_shown is not None:
            everybody = sum(
                session.identity.credential_shown is not None for session in (*here.values(), *self._opening)
            )
            if everybody >= MOST_OF_TOKENS:
                raise to_busy_refusal(f"tokens have {MOST_OF_TOKENS} sessions open already; try again later")
        return None


def find_idlest_session(sessions: dict[str, HttpSession], message: str) -> str:
    """Return the session without a request that has been idle longest.

    :raises HttpRefused: says when one will be idle enough
    """
    idle = [(session.seen, name) for name, session in sessions.items() if not session.requests]
    seen, name = min(idle, default=(time.monotonic(), ""))
    rest_s = seen + QUIET_S - time.monotonic()
    if rest_s > 0:
        raise HttpRefused(429, "sessions.exceeded", message, (to_retry_after_header(rest_s),))
    return name
