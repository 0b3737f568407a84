"""An event as the bridge sees it: with its theme, its host's session, the host's process and what is known of them."""

from __future__ import annotations

import os

from hermes_memory_bridge.hook_program.hook_event import HookEvent
from hermes_memory_bridge.hook_service.giving import Giving
from hermes_memory_bridge.hook_service.host_habits import (
    DEAF_COMPACT_STARTS,
    FORGETFUL_RESUMES,
    SIMULTANEOUS_MS,
    SIMULTANEOUS_STARTS,
)
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.context.start_situation import Situation
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.hosts.host_data import list_client_names
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.model import Origin, Way
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.store import Store

AHEAD_MS = 60_000
"""How far the clock of an event may be ahead of this one's: both are of one machine."""

OLDEST_MS = 8 * DAY_MS
"""How long ago an event may have been: records wait seven days at most."""


@dataclass(frozen=True, slots=True)
class HookMoment:
    """One event in its place."""

    event: HookEvent
    name: str
    """The host's session, by which its row is found; empty: nobody can tell its windows apart."""
    at: int
    theme: str
    seen: ProjectSighting | None
    process: int | None
    """The process of the host."""
    may_capture: bool
    transcript_size: int = 0
    """Bytes of its transcript at that time."""
    pending: tuple[Giving, ...] = ()
    """What its session was given by events that are not committed yet."""

    def find_origin(self, store: Store) -> Origin:
        """Return where the event comes from; its project is noted when it is new and the store is open for writing."""
        origin = Origin(
            way=Way.HOOK, client=list_client_names(self.event.host)[0], client_version=self.event.version or None
        )
        return origin if self.seen is None else store.projects.place(origin, self.seen)

    def find_situation(self, store: Store, host_session: HostSession | None) -> Situation:
        """Return where the event's session is, by which is decided what it is given."""
        message = self.event.text if self.event.event == "prompt" else ""
        session = None if host_session is None or host_session.theme != self.theme else host_session.session
        branch = None if self.seen is None else self.seen.branch
        return Situation(store.clock(), folder=self.event.folder, branch=branch, session=session, message=message)


def measure_file(path: str) -> int:
    """Return the size of a file in bytes; 0 when there is none."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def to_session_name(event: HookEvent, process: int | None) -> str:
    """Return the name of a host's session: its own, that of a subagent in it, or else its process."""
    if event.session:
        return f"{event.session} {event.agent}" if event.agent else event.session
    return f"process {process}" if process is not None else ""


def to_event_time(event: HookEvent, now: int) -> int:
    return event.at if now - OLDEST_MS <= event.at <= now + AHEAD_MS else now


def is_window_open(host_session: HostSession | None) -> bool:
    """Check whether a session was given anything at the beginning of its present window, be it nothing for lack of facts."""
    given_at = None if host_session is None else host_session.given_at
    return host_session is not None and given_at is not None and given_at >= host_session.window_at


def is_compaction_unanswered(host_session: HostSession | None) -> bool:
    return host_session is not None and (
        host_session.compacted_at is not None or host_session.compacting_at is not None
    )


def begins_window(moment: HookMoment, host_session: HostSession | None) -> bool:
    """Check whether a start begins a window: the model has nothing of ours before it."""
    event = moment.event
    if event.source == "compact":
        return event.host not in DEAF_COMPACT_STARTS
    if event.agent:  # a subagent that is started again goes on with all that it has
        return not is_window_open(host_session)
    if event.source == "resume" and event.host not in FORGETFUL_RESUMES:
        return host_session is None or not is_window_open(host_session)
    return not is_beside_prompt(moment, host_session)


def is_beside_prompt(moment: HookMoment, host_session: HostSession | None) -> bool:
    """Check whether the first prompt of this start was heard before it, and has given what it would give."""
    event = moment.event
    if (
        event.host not in SIMULTANEOUS_STARTS
        or host_session is None
        or host_session.source
        or event.source not in ("", "startup")
    ):
        return False
    return (
        is_window_open(host_session)
        and host_session.prompts <= 1
        and moment.at - host_session.started_at < SIMULTANEOUS_MS
    )
