"""What is known of each host: where its hooks are installed, when they were heard last, and what they gave.

A host that works with the memory while its installed hooks are not heard is silent, and nothing else would say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hermes_memory_bridge.connect.hooks.installation_record import read_installations
from hermes_memory_store.hosts.host_data import find_client_host
from hermes_memory_store.hosts.host_sessions import HostReport
from hermes_memory_store.model import Session
from hermes_memory_store.safe_text import pluralise
from hermes_memory_store.store import Store

MOST_LEAD_MS = 300_000
"""By how much a call of a tool may be newer than the last hook: hosts run one with each message."""

MOST_SESSIONS = 200
"""Sessions of the store that are looked through for hosts that call tools."""


@dataclass(frozen=True, slots=True)
class HostState:
    """One host that has our hooks, or was heard."""

    host: str
    installed_at: int | None
    """When its hooks were installed last, in milliseconds UTC; None: they are not, as far as this store's record says."""
    report: HostReport | None
    called_at: int | None
    """When a session of it was active last."""

    @property
    def is_silent(self) -> bool:
        """Whether its hooks are installed and not heard: never since, or not although it works with the memory."""
        if self.installed_at is None:
            return False
        heard_at = 0 if self.report is None else self.report.heard_at
        return heard_at < self.installed_at or (self.called_at or 0) > heard_at + MOST_LEAD_MS

    def describe(self, now: int) -> str:
        """Describe the state in a sentence. :param now: milliseconds UTC"""
        if self.report is None:
            return "silent: its hooks are installed and were never heard"
        heard = format_heard(self.report, now)
        if self.installed_at is None:
            return f"{heard}; its hooks are not installed"
        return f"silent: {heard}" if self.is_silent else heard


def list_host_states(store: Store, sessions: Sequence[Session]) -> list[HostState]:
    """Return the state of every host that has hooks installed for this store, or was heard; the one heard last first.

    :param sessions: of the store, as it lists them; the first `MOST_SESSIONS` are looked through
    """
    installed = read_installations(store.path)
    heard = {report.host: report for report in store.host_sessions.list_hosts()}
    called: dict[str, int] = {}
    for session in sessions[:MOST_SESSIONS]:
        host = find_client_host(session.client or "")
        if host is not None:
            called[host] = max(called.get(host, 0), session.heartbeat_at)
    states = [
        HostState(host, max(installed.get(host, {}).values(), default=None), heard.get(host), called.get(host))
        for host in heard.keys() | installed.keys()
    ]
    return sorted(states, key=lambda state: (-(state.report.heard_at if state.report else 0), state.host))


def format_heard(report: HostReport, now: int) -> str:
    """Format when a host was heard and what it was given: `last start heard 2 min ago, 9 facts in 142 tokens given`."""
    last = report.last
    heard = f"last {last.heard_event} heard {format_elapsed(now - last.heard_at)} ago"
    if last.given_at is None:
        return f"{heard}, nothing given in that session"
    given = f"{pluralise(last.given_facts, 'fact')} in {pluralise(last.given_tokens, 'token')}"
    return f"{heard}, {given} given {format_elapsed(now - last.given_at)} ago"


def format_elapsed(millis: int) -> str:
    """Format a duration in its largest unit: `40 s`, `2 min`, `3 h`, `5 days`."""
    seconds = max(0, millis) // 1000
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (seconds >= size and unit != "days"):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
