"""Slowing down whoever shows wrong tokens. Only the refusal of a wrong token waits; a right one is let in at once, whoever
else at the same place has shown wrong ones."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from hermes_memory_bridge.access.refusal import CLOSE, Refused, retry_after
from hermes_memory_store.backoff import Backoff

FREE = 3
"""Wrong tokens of a peer that cost nothing: a copy that went wrong, an old configuration."""

FIRST_S = 0.25
LONGEST_S = 5.0
DELAYS = Backoff(FIRST_S, LONGEST_S)

FORGET_S = 60.0
"""A peer that has shown no wrong token for this long begins anew."""

MOST_WAITING = 32
"""Refusals of one peer that may wait at a time: more are answered at once, and their connections closed."""

MOST_PEERS = 1_000


@dataclass(slots=True)
class Failures:
    """Wrong tokens of one peer."""

    count: int = 0
    at: float = 0.0
    waiting: int = 0


class WrongTokens:
    """Counts wrong tokens by peer, and makes the next refusal wait."""

    def __init__(self) -> None:
        self._by_peer: dict[str, Failures] = {}

    async def slow_down(self, peer: str) -> None:
        """Count a wrong token of this peer, and wait as long as its refusal has to.

        :raises Refused: too many of its refusals wait already
        """
        failures = self._count(peer, time.monotonic())
        wait_s = delay_of(failures.count)
        if failures.waiting >= MOST_WAITING:
            raise Refused(429, "token.invalid", "too many wrong tokens; try again later", (retry_after(wait_s), CLOSE))
        failures.waiting += 1
        try:
            await asyncio.sleep(wait_s)
        finally:
            failures.waiting -= 1

    def _count(self, peer: str, now: float) -> Failures:
        if peer not in self._by_peer and len(self._by_peer) >= MOST_PEERS:
            self._by_peer = {name: one for name, one in self._by_peer.items() if one.waiting or now - one.at < FORGET_S}
        failures = self._by_peer.setdefault(peer, Failures())
        failures.count = failures.count + 1 if now - failures.at < FORGET_S else 1
        failures.at = now
        return failures


def delay_of(count: int) -> float:
    """Seconds that the refusal of a peer's so-manyth wrong token waits."""
    return DELAYS.delay_s(count - FREE)
