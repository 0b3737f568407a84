"""From where and of which times a session's transcript may be read: those in which hooks saw that capture was allowed.

A time begins with a prompt, or new session, that may be kept. It ends with the last event heard before capture was stopped, or
before a break in which nobody knows what was allowed. What stands unread of a time that has ended is still read, however late.
"""

from __future__ import annotations

import json
from typing import Any

from hermes_memory_bridge.hook_service.hook_moment import HookMoment, measure_file
from hermes_memory_store.hosts.host_sessions import HostSession

BREAK_MS = 3_600_000
"""After so long without an event a session that starts again has had a break."""

UNREAD = -1
"""The transcript's offset while there is nothing in it that may be kept."""

MOST_SPANS = 16
"""Times that have ended, of one session; the oldest are forgotten."""


def note_transcript(moment: HookMoment, host_session: HostSession | None) -> dict[str, Any]:
    """Return where a session's transcript is, and from where and of which times it may be read.

    What was said while nothing might be kept is never read: not before the next prompt, or new session, that may be kept.
    An event that is older than the last one heard begins no time.
    """
    if host_session is not None and moment.at < host_session.heard_at:
        return {} if moment.may_capture else drop_times(host_session, moment.at)
    event = moment.event
    path = event.transcript or (None if host_session is None else host_session.transcript)
    size = moment.transcript_size if event.transcript or path is None else measure_file(path)
    columns: dict[str, Any] = {} if path is None else {"transcript": path, "transcript_size": size}
    since = None if host_session is None else host_session.capture_from
    if host_session is not None and since is not None and (not moment.may_capture or is_break(moment, host_session)):
        spans = [*list_spans(host_session), [since, host_session.heard_at]]  # it ended when it was heard last
        columns |= {"capture_from": None, "capture_spans": json.dumps(spans[-MOST_SPANS:])}
        since = None
    is_new = host_session is None or host_session.transcript != path or host_session.transcript_offset == UNREAD
    if since is None and is_new and host_session is not None and host_session.transcript not in (None, path):
        columns["capture_spans"] = "[]"
    begins = event.event == "prompt" or (event.event == "start" and event.source != "compact")
    if moment.may_capture and since is None and begins:
        # What stands unread of times that have ended is told from what must not be read by the time of each message.
        return {**columns, "capture_from": moment.at, **({"transcript_offset": size} if is_new else {})}
    if since is None:
        return {**columns, "transcript_offset": UNREAD} if is_new else columns
    # A path that is told only now: what was said before `capture_from` is passed over by its time.
    return {**columns, "transcript_offset": 0} if is_new else columns


def is_break(moment: HookMoment, host_session: HostSession) -> bool:
    """Check whether hooks may have been absent since a session was heard last: nobody knows then what might be kept."""
    if host_session.heard_event == "end":
        return moment.event.event in ("start", "prompt")
    return moment.event.event == "start" and moment.at - host_session.heard_at > BREAK_MS


def find_horizon(host_session: HostSession) -> int:
    """Return until when it is known what may be kept, UTC milliseconds: events that are heard later tell it of what is newer."""
    is_over = host_session.heard_event == "end" or host_session.capture_from is None
    return host_session.heard_at + (0 if is_over else BREAK_MS)


def drop_times(host_session: HostSession, at: int) -> dict[str, Any]:
    """Return the times of a session without the one in which an event that is heard only now says that nothing might be kept."""
    spans = [[begin, end] for begin, end in list_spans(host_session) if not begin <= at <= end]
    is_open = host_session.capture_from is not None and host_session.capture_from > at
    return {"capture_spans": json.dumps(spans), "capture_from": host_session.capture_from if is_open else None}


def list_spans(host_session: HostSession) -> list[list[int]]:
    """Return the times of a session that have ended: when each began and ended, UTC milliseconds."""
    spans: list[list[int]] = json.loads(host_session.capture_spans)
    return spans


def may_read(host_session: HostSession, at: int) -> bool:
    """Check whether what was said at a moment may be kept. :param at: UTC milliseconds"""
    if host_session.capture_from is not None and host_session.capture_from <= at <= find_horizon(host_session):
        return True
    return any(begin <= at <= end for begin, end in list_spans(host_session))
