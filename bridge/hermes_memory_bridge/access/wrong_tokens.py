"""Throttling of clients that present wrong tokens.

Only the refusal of a wrong token is delayed; a valid token is admitted at once, even from a peer that has sent
wrong ones.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from hermes_memory_bridge.access.http_refusal import CLOSE, HttpRefused, to_retry_after_header
from hermes_memory_store.backoff import Backoff

FREE_ATTEMPTS = 3
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
class PeerFailures:
    count: int = 0
    at: float = 0.0
    waiting: int = 0


class WrongTokens:
    """Count wrong tokens by peer, and delay the next refusal."""

    def __init__(self) -> None:
        self._by_peer: dict[str, PeerFailures] = {}

    async def slow_down(self, peer: str) -> None:
        """Count a wrong token of this peer, and wait for as long as its refusal is delayed.

        :raises HttpRefused: too many of its refusals are already being delayed
        """
        failures = self._count(peer, time.monotonic())
        wait_s = compute_refusal_delay(failures.count)
        if failures.waiting >= MOST_WAITING:
            raise HttpRefused(
                429, "token.invalid", "too many wrong tokens; try again later", (to_retry_after_header(wait_s), CLOSE)
            )
        failures.waiting += 1
        try:
            await asyncio.sleep(wait_s)
        finally:
            failures.waiting -= 1

    def _count(self, peer: str, now: float) -> PeerFailures:
        if peer not in self._by_peer and len(self._by_peer) >= MOST_PEERS:
            self._by_peer = {
                name: peer for name, peer in self._by_peer.items() if peer.waiting or now - peer.at < FORGET_S
            }
        failures = self._by_peer.setdefault(peer, PeerFailures())
        failures.count = failures.count + 1 if now - failures.at < FORGET_S else 1
        failures.at = now
        return failures


def compute_refusal_delay(count: int) -> float:
    """Return the delay in seconds for the refusal of a peer's nth wrong token."""
    return DELAYS.delay_s(count - FREE_ATTEMPTS)
