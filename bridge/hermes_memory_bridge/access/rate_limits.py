"""Limits on what one client may request, and rate limits: one token bucket per client, kept only while it is in use."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BUCKETS = 10_000


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Limits on what one client may request from the bridge."""

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


STRICT_LIMITS = ClientLimits(
    head_s=4.0, body_bytes=1024 * 1024, body_s=10.0, stall_s=10.0, per_second=100.0, burst=200.0
)
"""Limits of `--hardening-profile`."""


@dataclass(slots=True)
class TokenBucket:
    """The tokens left to one client, and when that number was computed."""

    tokens: float
    at: float


class TokenBuckets:
    def __init__(self, per_second: float, burst: float) -> None:
        """:param per_second: sustained calls per second for each client
        :param burst: calls it may make at once after a pause
        """
        self.per_second = per_second
        self.burst = burst
        self._by_client: dict[str, TokenBucket] = {}

    def take(self, client: str, now: float) -> float:
        """Take one call from a client's bucket; return 0 when it may be made, else the seconds until it may.

        :param now: monotonic seconds
        """
        bucket = self._by_client.get(client)
        if bucket is None:
            if len(self._by_client) >= MOST_BUCKETS:
                self._drop_full(now)
            bucket = self._by_client[client] = TokenBucket(self.burst, now)
        bucket.tokens = min(self.burst, bucket.tokens + max(0.0, now - bucket.at) * self.per_second)
        bucket.at = max(bucket.at, now)
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self.per_second

    def _drop_full(self, now: float) -> None:
        """Drop the buckets that are full again: they are equivalent to new ones."""
        full_after = self.burst / self.per_second
        for client, bucket in list(self._by_client.items()):
            if now - bucket.at > full_after:
                del self._by_client[client]
