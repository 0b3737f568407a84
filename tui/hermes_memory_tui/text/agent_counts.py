"""Who is at work: the one definition for titles, *Now*, *Agents* and `watch`."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.memory.sessions import present_status
from hermes_memory_store.model import Session, SessionStatus
from hermes_memory_tui.text.display_formats import format_count, pluralise

AT_WORK = frozenset({SessionStatus.OPEN, SessionStatus.LIVE})


@dataclass(frozen=True, slots=True)
class AgentCounts:
    """How many sessions that have not ended are heard, and how many are not."""

    at_work: int
    stale: int

    def sentence(self) -> str:
        """Format both for a sentence: `3 agents at work, 2 stale`."""
        agents = f"{pluralise(self.at_work, 'agent')} at work" if self.at_work else "no agent at work"
        return agents + self._format_stale()

    def short(self) -> str:
        """Format both for the edge of a list: `3 at work, 2 stale`."""
        return f"{format_count(self.at_work)} at work{self._format_stale()}"

    def _format_stale(self) -> str:
        return f", {format_count(self.stale)} stale" if self.stale else ""


def is_at_work(session: Session, now: int) -> bool:
    """Check whether a session is heard: its agent is connected, and its lease has not passed."""
    return present_status(session, now) in AT_WORK


def count_agents(sessions: Iterable[Session], now: int) -> AgentCounts:
    statuses = [present_status(session, now) for session in sessions]
    return AgentCounts(sum(status in AT_WORK for status in statuses), statuses.count(SessionStatus.STALE))


def find_next_lapse(sessions: Iterable[Session], now: int) -> int | None:
    """Return when the next lease of those at work passes, unless it is renewed: nothing is written then that would tell."""
    return min(
        (session.heartbeat_at + session.lease_ms for session in sessions if is_at_work(session, now)), default=None
    )
