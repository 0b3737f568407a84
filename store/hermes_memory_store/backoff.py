"""Exponential back-off: how long to leave alone what failed. The standard library alone."""

from __future__ import annotations

import time

MAX_DOUBLINGS = 30
"""Keeps the product of a long failure a finite float."""


class Backoff:
    """Delays that double with each failure in a row, up to a longest one; the share `jitter` of each is random."""

    __slots__ = ("_until", "failures", "first_s", "jitter", "longest_s")

    def __init__(self, first_s: float, longest_s: float, *, jitter: float = 0.0) -> None:
        self.first_s = first_s
        self.longest_s = longest_s
        self.jitter = jitter
        self.failures = 0
        self._until = 0.0

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._until

    @property
    def remaining_s(self) -> float:
        """Return the seconds until it may be tried, 0 when it is due."""
        return max(0.0, self._until - time.monotonic())

    def delay_s(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row, 0 after none."""
        if failures < 1:
            return 0.0
        longest = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, MAX_DOUBLINGS))
        import random  # here, not above: few processes ever wait

        return longest * random.uniform(1.0 - self.jitter, 1.0) if self.jitter else longest

    def fail(self, *, at_least_s: float = 0.0) -> float:
        """Count a failure and leave it alone for a while; for how many seconds."""
        self.failures += 1
        wait_s = max(self.delay_s(self.failures), at_least_s)
        self.pause(wait_s)
        return wait_s

    def pause(self, wait_s: float) -> None:
        """Leave it alone for this long, without counting a failure."""
        self._until = time.monotonic() + wait_s

    def reset(self) -> None:
        self.failures, self._until = 0, 0.0

    def hurry(self) -> None:
        """Try it at once; if it fails, it is left alone for as long as it would be anyway."""
        self._until = 0.0
