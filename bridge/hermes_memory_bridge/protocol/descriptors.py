"""File descriptors of the process.

Raise the limit at startup and divide it, so that HTTP can never use up what the line socket and the store need.
"""

from __future__ import annotations

import resource
from dataclasses import dataclass

WANTED_LIMIT = 8_192
"""Descriptors that both kinds of connections need at their most, with the reserve."""

RESERVED_DESCRIPTORS = 128
"""Reserve for the process itself: 19 at rest, and then readers, backups, a team's database and models."""

ACCEPT_BURST = 16
"""Connections a listener accepts before anything else runs. asyncio decides on a connection only after it has accepted it,
so each listener may exceed its share by what it accepts until the first surplus connection is closed."""

BACKLOG = 1024
"""Connections that may wait in the kernel to be accepted."""

BURST_RESERVE = 3 * 4 * ACCEPT_BURST
"""Reserve for that: three listeners, and four turns of the event loop from accepting a connection to closing it."""

MOST_HTTP = 1_024
MOST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class DescriptorShares:
    """Maximum number of simultaneous connections of each kind."""

    http: int = MOST_HTTP
    line: int = MOST_LINE


def raise_descriptor_limit() -> int:
    """Raise the soft descriptor limit towards the hard one, up to `WANTED_LIMIT`; return the resulting limit."""
    soft, hard = (WANTED_LIMIT if limit == resource.RLIM_INFINITY else limit for limit in descriptor_limits())
    limit = min(hard, WANTED_LIMIT)
    if soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, descriptor_limits()[1]))
    return max(soft, limit)


def descriptor_limits() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def to_descriptor_shares(limit: int) -> DescriptorShares:
    """Divide a limit: after the reserve, at most half for HTTP, the rest for the line socket."""
    free = limit - min(RESERVED_DESCRIPTORS + BURST_RESERVE, limit // 2)
    http = min(MOST_HTTP, free // 2)
    return DescriptorShares(http, min(MOST_LINE, free - http))
