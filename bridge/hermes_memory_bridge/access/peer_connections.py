"""The HTTP connections that are open, and which of them has to go when there are too many.

A connection waits until a request on it has been let in: while its head is unfinished, while its token is looked up, between
two requests. Waiting ones cost only whoever holds them: the oldest of the peer that has the most is closed for a newcomer.
A connection whose request has been let in is served, counted by client, and never closed for another.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hermes_memory_bridge.access.refusal import Refused, busy, retry_after


@dataclass(eq=False, slots=True)
class HttpConnection:
    """One connection. :ivar peer: who is at the other end, as far as the system says: a user, or a process of ours"""

    peer: str
    abort: Callable[[], None]


class PeerConnections:
    """Counts connections by peer and by client, and closes what is too much."""

    def __init__(self, most: int) -> None:
        """:param most: connections at one time"""
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
        """Count a new connection, closing an older one where there is no room; False when there is none to close."""
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
        """The connection has ended."""
        self._open.discard(connection)
        self._stop_waiting(connection)

    @contextlib.contextmanager
    def serving(self, connection: HttpConnection, client: str) -> Iterator[None]:
        """Serve a request that has been let in, whose connection does not wait meanwhile.

        :param client: the token, or the process of this user, that asks
        :raises Refused: it has too many requests open, or everybody together has
        """
        if self._served[client] >= self.most_of_client:
            raise Refused(
                429,
                "rate.limited",
                f"{client} has {self._served[client]} requests and streams open already; end some first",
                (retry_after(1),),
            )
        if self._served.total() >= self.most_served:
            raise busy(f"the bridge serves {self.most_served} requests already; try again in a moment")
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
