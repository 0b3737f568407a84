"""When to try again what failed: soon at first, then ever more seldom."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class Backoff:
    """What is left alone for a while after it failed, each time twice as long as the time before."""

    first_s: float
    longest_s: float
    failures: int = 0
    _until: float = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it may be tried."""
        return time.monotonic() >= self._until

    def fail(self) -> None:
        """Leave it alone for a while."""
        wait_s = min(self.longest_s, self.first_s * 2.0 ** min(self.failures, 30))
        self.failures += 1
        self._until = time.monotonic() + wait_s

    def reset(self) -> None:
        """Try it at once, as if it had never failed."""
        self.failures, self._until = 0, 0.0

    def hurry(self) -> None:
        """Try it at once; if it fails, it is left alone for as long as it would be anyway."""
        self._until = 0.0
