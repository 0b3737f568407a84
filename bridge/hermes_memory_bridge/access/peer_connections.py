"""The open HTTP connections, and which one to close when there are too many.

A connection waits until a request on it has been admitted: while its head is incomplete, while its token is looked
up, and between two requests. Waiting connections cost only their holder: the oldest of the peer that has the most
is closed to make room for a new one. A connection whose request has been admitted is being served, is counted by
client, and is never closed for another.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hermes_memory_bridge.access.http_refusal import HttpRefused, to_busy_refusal, to_retry_after_header


@dataclass(eq=False, slots=True)
class HttpConnection:
    """An HTTP connection.

    :ivar peer: who is at the other end as far as the system tells: a user, or one of our processes
    """

    peer: str
    abort: Callable[[], None]


class PeerConnections:
    """Count connections by peer and by client, and close those over the limit."""

    def __init__(self, most: int) -> None:
        """:param most: maximum number of simultaneous connections"""
        self.most = most
        self.most_waiting = max(1, most // 2)
        """Waiting connections of one peer."""
        self.most_served = max(1, most * 3 // 4)
        """Requests and streams of everybody. The rest is for newcomers, so that they are heard."""
        self.most_of_client = max(1, most // 4)
        """Requests and streams of one token, or one process of this user."""
        self._waiting: defaultdict[str, dict[HttpConnection, None]] = defaultdict(dict)
        self._served: Counter[str] = Counter()
        self._open: set[HttpConnection] = set()

    def add(self, connection: HttpConnection) -> bool:
        """Count a new connection, closing an older one to make room; return False when none can be closed."""
        own = self._waiting.get(connection.peer, {})
        if len(own) >= self.most_waiting:
            self._close(next(iter(own)))
        elif len(self._open) >= self.most:
            fullest = max(self._waiting.values(), key=len, default={})
            if not fullest:
                return False
            self._close(next(iter(fullest)))
        self._open.add(connection)
        self._waiting[connection.peer][connection] = None
        return True

    def remove(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        self._stop_waiting(connection)

    @contextlib.contextmanager
    def serve_request(self, connection: HttpConnection, client: str) -> Iterator[None]:
        """Serve an admitted request; its connection does not count as waiting meanwhile.

        :param client: the token, or the process of this user, that sent the request
        :raises HttpRefused: it has too many open requests, or all clients together have
        """
        if self._served[client] >= self.most_of_client:
            raise HttpRefused(
                429,
                "rate.limited",
                f"{client} has {self._served[client]} requests and streams open already; end some first",
                (to_retry_after_header(1),),
            )
        if self._served.total() >= self.most_served:
            raise to_busy_refusal(f"the bridge serves {self.most_served} requests already; try again in a moment")
        self._served[client] += 1
        self._stop_waiting(connection)
        try:
            yield
        finally:
            self._served[client] -= 1
            if not self._served[client]:
                del self._served[client]
            if connection in self._open:
                self._waiting[connection.peer][connection] = None

    def _stop_waiting(self, connection: HttpConnection) -> None:
        of_peer = self._waiting.get(connection.peer, {})
        of_peer.pop(connection, None)
        if not of_peer:
            self._waiting.pop(connection.peer, None)

    def _close(self, connection: HttpConnection) -> None:
        self.remove(connection)
        connection.abort()
