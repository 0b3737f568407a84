"""One HTTP connection: who its peer is, and time limits on what it sends and reads.

uvicorn limits neither. A client may take as long as it likes over the head of a request, and one that never reads
its response keeps the connection, and whatever writes to it, forever.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import socket
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from hermes_memory_bridge.access.http_refusal import CLOSE, HttpRefused, to_busy_refusal
from hermes_memory_bridge.access.loopback_peers import find_loopback_user
from hermes_memory_bridge.access.peer_connections import HttpConnection, PeerConnections
from hermes_memory_bridge.access.rate_limits import ClientLimits
from hermes_memory_bridge.wire.peers import find_peer

log = logging.getLogger(__name__)

MOST_AHEAD = 256 * 1024
"""Bytes that a client may send while its last request is answered. uvicorn reads on while a stream is open, to hear of its
end, and would keep all of it."""

CODES = {408: "head.slow", 431: "head.too_large", 503: "bridge.busy"}


class PeerProtocol(H11Protocol):
    """Close unix connections of other users, count each connection by its peer, and end one that takes too long."""

    def __init__(self, connections: PeerConnections, limits: ClientLimits, **options: Any) -> None:
        super().__init__(**options)
        self.limits = limits
        self.peers = connections
        self.counted = HttpConnection("", self._abort)
        self.deadline: asyncio.TimerHandle | None = None
        """Of the head that is awaited."""
        self.stalled: asyncio.TimerHandle | None = None
        """When a client that does not read is given up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # every byte that the client does not take counts as a stall
        connected = transport.get_extra_info("socket")
        if connected.family == socket.AF_UNIX:
            peer = find_peer(connected)
            self.client = ("unix", peer.pid or 0)
            self.counted.peer = f"process {peer.pid}"
            if peer.uid != os.getuid():
                log.warning("a process of user %d was turned away", peer.uid)
                transport.close()
                return
        else:
            self.counted.peer = f"user {find_loopback_user(connected)}"
        self.app_state = {**self.app_state, "connection": self.counted}
        if self.peers.add(self.counted):
            self._await_head()
        else:
            self._refuse(to_busy_refusal("the bridge has no connection left; try again in a moment"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.peers.remove(self.counted)
        self._head_is_whole()
        if self.stalled is not None:
            self.stalled.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle received data. What is not part of a request in progress starts the head of the next one."""
        super().data_received(data)
        if not self._is_serving():
            self._await_head()
            return
        self._head_is_whole()
        if self.conn.their_state is h11.DONE and len(self.conn.trailing_data[0]) > MOST_AHEAD:
            self._abort()

    def on_response_complete(self) -> None:
        """Finish a request; the next one may have arrived already."""
        super().on_response_complete()
        if self._is_serving():
            self._head_is_whole()

    def pause_writing(self) -> None:
        """Start the time limit on a client that does not read its response."""
        super().pause_writing()
        self.stalled = self.loop.call_later(self.limits.stall_s, self._abort)

    def resume_writing(self) -> None:
        """Stop the time limit: the client has read everything."""
        super().resume_writing()
        if self.stalled is not None:
            self.stalled.cancel()
            self.stalled = None

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid input. Called while the parser's error is handled, which knows the better status."""
        error = sys.exception()
        status = error.error_status_hint if isinstance(error, h11.RemoteProtocolError) else 400
        self._refuse(HttpRefused(status, CODES.get(status, "request.malformed"), f"{msg} {error}", (CLOSE,)))

    def _is_serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        if self.deadline is None:
            self.deadline = self.loop.call_later(self.limits.head_s, self._give_up)

    def _head_is_whole(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None

    def _give_up(self) -> None:
        beginning, _ = self.conn.trailing_data
        if beginning:
            message = f"the head of the request was not whole within {self.limits.head_s:.0f} s"
            self._refuse(HttpRefused(408, "head.slow", message, (CLOSE,)))
        else:
            self._abort()

    def _refuse(self, refused: HttpRefused) -> None:
        """Respond without the application, which has no complete request, and close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) and not self.transport.is_closing():
            headers = list(dict.fromkeys([*refused.head(), CLOSE]))
            response = h11.Response(status_code=refused.status, headers=headers)
            for event in (response, h11.Data(data=refused.body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _abort(self) -> None:
        self.transport.abort()


def to_protocol_factory(connections: PeerConnections, limits: ClientLimits) -> type[asyncio.Protocol]:
    """Return the factory of each connection's protocol for uvicorn, which calls it like a class."""
    return functools.partial(PeerProtocol, connections, limits)  # type: ignore[return-value]
