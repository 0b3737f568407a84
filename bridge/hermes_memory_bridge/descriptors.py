"""The process's file descriptors: raise the limit at start, and share them out, so that HTTP can never use up what the
line socket and the store need."""

from __future__ import annotations

import resource
from dataclasses import dataclass

ENOUGH = 8_192
"""Descriptors that both kinds of connections need at their most, with the reserve."""

OWN = 128
"""Reserve for the process itself: 19 at rest, and then readers, backups, a team's database and models."""

ACCEPT_BURST = 16
"""Connections a listener accepts before anything else runs. asyncio decides on a connection only after it has accepted it,
so each listener may exceed its share by what it accepts until the first surplus connection is closed."""

BURSTS = 3 * 4 * ACCEPT_BURST
"""Reserve for that: three listeners, and four turns of the event loop from accepting a connection to closing it."""

MOST_HTTP = 1_024
MOST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class DescriptorShares:
    """How many connections of each kind there may be at one time."""

    http: int = MOST_HTTP
    line: int = MOST_LINE


def raise_limit() -> int:
    """Raise the soft limit on descriptors towards the hard one, up to `ENOUGH`; the limit from now on."""
    soft, hard = (ENOUGH if limit == resource.RLIM_INFINITY else limit for limit in limits())
    wanted = min(hard, ENOUGH)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, limits()[1]))
    return max(soft, wanted)


def limits() -> tuple[int, int]:
    """The soft and the hard limit."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def shares_of(limit: int) -> DescriptorShares:
    """Share out a limit: after the reserve, at most half for HTTP, the rest for the line socket."""
    free = limit - min(OWN + BURSTS, limit // 2)
    http = min(MOST_HTTP, free // 2)
    return DescriptorShares(http, min(MOST_LINE, free - http))
