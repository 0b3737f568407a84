"""Prometheus metrics of the bridge: calls, their duration, queue length, connected agents, memory usage."""

from __future__ import annotations

import threading

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from hermes_memory_store.store import Store

CALL_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
GROUP = (1, 2, 4, 8, 16, 32, 64)

MOST_THEMES = 1_000
"""Maximum number of themes with metrics of their own, the most recent ones. About 10 KB each; a machine has a few dozen."""


class ThemeMetrics:
    """Metrics that can be exported for one theme alone, or for all together: calls, sessions, pressure."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        made = self.registry
        self._calls = Counter("hermes_memory_calls", "Tool calls by outcome", ["tool", "outcome"], registry=made)
        self._seconds = Histogram(
            "hermes_memory_call_seconds", "How long a call took", ["tool"], buckets=CALL_S, registry=made
        )
        self.sessions = Gauge("hermes_memory_sessions", "Sessions by status", ["status"], registry=made)
        self.pressure = Gauge("hermes_memory_pressure_ratio", "Hot tier, used of its budget", ["theme"], registry=made)

    def count_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a finished call. :param outcome: `ok`, or the code of its refusal"""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def look(self, store: Store, theme: str | None = None) -> None:
        """Read the values that are not counted as they occur. :param theme: read those of this theme alone"""
        self.sessions.clear()
        for status, count in store.sessions.counts(theme).items():
            self.sessions.labels(status).set(count)
        self.pressure.clear()
        for name in store.names.all_themes() if theme is None else [theme]:
            self.pressure.labels(name).set(store.tiers.gauge(name).pct / 100)

    def text(self) -> str:
        return generate_latest(self.registry).decode()


class BridgeMetrics(ThemeMetrics):
    """The bridge's metrics. Counting one call takes microseconds."""

    def __init__(self) -> None:
        super().__init__()
        made = self.registry
        self._groups = Histogram("hermes_memory_commit_writes", "Writes of one commit", buckets=GROUP, registry=made)
        self.refused = Counter("hermes_memory_refused_requests", "HTTP requests turned away", ["code"], registry=made)
        self.waiting = Gauge("hermes_memory_waiting_writes", "Writes that wait for their turn", registry=made)
        self.connections = Gauge("hermes_memory_connections", "Connections now", registry=made)
        self.bytes = Gauge("hermes_memory_store_bytes", "Size of the store's file", registry=made)
        self._themes: dict[str, ThemeMetrics] = {}
        self._lock = threading.Lock()

    def of_theme(self, theme: str) -> ThemeMetrics:
        with self._lock:
            metrics = self._themes.pop(theme, None) or ThemeMetrics()
            self._themes[theme] = metrics  # at the end: it was used last
            if len(self._themes) > MOST_THEMES:
                del self._themes[next(iter(self._themes))]
        return metrics

    def count_theme_call(self, theme: str, tool: str, outcome: str, seconds: float) -> None:
        self.count_call(tool, outcome, seconds)
        self.of_theme(theme).count_call(tool, outcome, seconds)

    def count_commit(self, writes: int) -> None:
        self._groups.observe(writes)

    def look(self, store: Store, theme: str | None = None) -> None:
        """Read the values that are not counted as they occur."""
        super().look(store, theme)
        self.bytes.set(store.path.stat().st_size)
