"""Session and retry settings of a client: those of Memory Sidecar 3.5.1, under its names."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes_memory_store.backoff import Backoff
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import OrphanPolicy

MOST_RETRIES = 5
"""More than this many is taken for this many, as the sidecar does: a call must not wait for minutes."""

LEGACY_OPTION_NAMES = {"timeout_action": "on_orphan", "on_orhpan": "on_orphan"}
"""Names of older configurations; the second stands, misspelt, in the sidecar's own announcement."""


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """Session settings. Times in seconds."""

    heartbeat_interval_s: float = 10.0
    heartbeat_timeout_s: float = 25.0
    on_orphan: str = OrphanPolicy.CHECKPOINT_AND_CLOSE.value

    @classmethod
    def parse(cls, config: Mapping[str, Any] | SessionConfig | None) -> SessionConfig:
        """Parse the settings a worker passes. `timeout_ms` and other old names are accepted with a warning.

        :raises ArgumentError: names the setting and the value
        """
        if config is None or isinstance(config, SessionConfig):
            return config or cls()
        settings = dict(config)
        for old, new in LEGACY_OPTION_NAMES.items():
            if old in settings:
                warnings.warn(f"session_config: {old} is called {new}", DeprecationWarning, stacklevel=4)
                settings.setdefault(new, settings.pop(old))
        if "timeout_ms" in settings:
            warnings.warn(
                "session_config: timeout_ms is deprecated; say heartbeat_interval_s and heartbeat_timeout_s",
                DeprecationWarning,
                stacklevel=4,
            )
            timeout_s = parse_policy_number("timeout_ms", settings.pop("timeout_ms")) / 1000
            settings.setdefault("heartbeat_timeout_s", timeout_s)
            settings.setdefault("heartbeat_interval_s", timeout_s / 2.5)
        unknown = settings.keys() - {"heartbeat_interval_s", "heartbeat_timeout_s", "on_orphan"}
        if unknown:
            raise ArgumentError(f"session_config knows no {sorted(unknown)[0]!r}", sorted(unknown)[0])
        made = cls(**settings)
        if made.on_orphan not in set(OrphanPolicy):
            raise ArgumentError(
                f"on_orphan must be one of {', '.join(OrphanPolicy)}, not {made.on_orphan!r}", made.on_orphan
            )
        parse_policy_number("heartbeat_interval_s", made.heartbeat_interval_s)
        if parse_policy_number("heartbeat_timeout_s", made.heartbeat_timeout_s) <= made.heartbeat_interval_s:
            raise ArgumentError(
                "heartbeat_timeout_s must be longer than heartbeat_interval_s", made.heartbeat_timeout_s
            )
        return made


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to retry a call, and the delays between retries."""

    max_retries: int = 3
    base_delay_ms: float = 200.0
    cap_delay_s: float = 30.0
    jitter_factor: float = 0.25

    @classmethod
    def parse(cls, config: Mapping[str, Any] | RetryPolicy | None) -> RetryPolicy:
        """Parse the settings a worker passes.

        :raises ArgumentError: names the setting and the value
        """
        if config is None or isinstance(config, RetryPolicy):
            return config or cls()
        unknown = config.keys() - {"max_retries", "base_delay_ms", "cap_delay_s", "jitter_factor"}
        if unknown:
            raise ArgumentError(f"retry_policy knows no {sorted(unknown)[0]!r}", sorted(unknown)[0])
        for name, value in config.items():
            parse_policy_number(name, value, least=0)
        settings = dict(config)
        if settings.get("max_retries", 0) > MOST_RETRIES:
            warnings.warn(f"retry_policy: max_retries is at most {MOST_RETRIES}", stacklevel=4)
            settings["max_retries"] = MOST_RETRIES
        return cls(**settings)

    def pauses(self, session: str, call: int) -> Iterator[float]:
        """Return the seconds to wait before each retry.

        Derived from the session's id, so that no two workers retry in step.
        """
        delays = Backoff(self.base_delay_ms / 1000, self.cap_delay_s)
        for attempt in range(int(self.max_retries)):
            seed = hashlib.sha256(f"{session}/{call}/{attempt}".encode()).digest()
            part = int.from_bytes(seed[:4], "big") / 2**31 - 1
            pause_s = delays.delay_s(attempt + 1)
            yield min(pause_s * (1 + self.jitter_factor * part), self.cap_delay_s)


def parse_policy_number(name: str, value: Any, *, least: float = 0.001) -> float:
    """Return a number that is at least `least`.

    :raises ArgumentError: names it
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= least:
        raise ArgumentError(f"{name} must be a number of at least {least}, not {value!r}", value)
    return float(value)
