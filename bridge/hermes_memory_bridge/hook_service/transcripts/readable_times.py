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


def note_transcript(moment: HookMoment, known: HostSession | None) -> dict[str, Any]:
    """Return where a session's transcript is, and from where and of which times it may be read.

    What was said while nothing might be kept is never read: not before the next prompt, or new session, that may be kept.
    An event that is older than the last one heard begins no time.
    """
    if known is not None and moment.at < known.heard_at:
        return {} if moment.may_capture else drop_times(known, moment.at)
    event = moment.event
    path = event.transcript or (None if known is None else known.transcript)
    size = moment.transcript_size if event.transcript or path is None else measure_file(path)
    said: dict[str, Any] = {} if path is None else {"transcript": path, "transcript_size": size}
    since = None if known is None else known.capture_from
    if known is not None and since is not None and (not moment.may_capture or is_break(moment, known)):
        said |= {"capture_from": None, "capture_spans": add_span(known, since)}
        since = None
    is_new = known is None or known.transcript != path or known.transcript_offset == UNREAD
    if since is None and is_new:
        said |= {"capture_spans": "[]"} if known is not None and known.transcript not in (None, path) else {}
    begins = event.event == "prompt" or (event.event == "start" and event.source != "compact")
    if moment.may_capture and since is None and begins:
        # What stands unread of times that have ended is told from what must not be read by the time of each message.
        return {**said, "capture_from": moment.at, **({"transcript_offset": size} if is_new else {})}
    if since is None:
        return {**said, "transcript_offset": UNREAD} if is_new else said
    # A path that is told only now: what was said before `capture_from` is passed over by its time.
    return {**said, "transcript_offset": 0} if is_new else said


def is_break(moment: HookMoment, known: HostSession) -> bool:
    """Check whether hooks may have been absent since a session was heard last: nobody knows then what might be kept."""
    if known.heard_event == "end":
        return moment.event.event in ("start", "prompt")
    return moment.event.event == "start" and moment.at - known.heard_at > BREAK_MS


def find_horizon(known: HostSession) -> int:
    """Return until when it is known what may be kept, UTC milliseconds: events that are heard later tell it of what is newer."""
    is_over = known.heard_event == "end" or known.capture_from is None
    return known.heard_at + (0 if is_over else BREAK_MS)


def add_span(known: HostSession, since: int) -> str:
    """Return the times of a session that have ended, with its present one, which ended when it was heard last."""
    return json.dumps([*list_spans(known), [since, known.heard_at]][-MOST_SPANS:])


def drop_times(known: HostSession, at: int) -> dict[str, Any]:
    """Return the times of a session without the one in which an event that is heard only now says that nothing might be kept.

    :param at: UTC milliseconds
    """
    spans = [[begin, end] for begin, end in list_spans(known) if not begin <= at <= end]
    is_open = known.capture_from is not None and known.capture_from > at
    return {"capture_spans": json.dumps(spans), "capture_from": known.capture_from if is_open else None}


def list_spans(known: HostSession) -> list[list[int]]:
    """Return the times of a session that have ended: when each began and ended, UTC milliseconds."""
    spans: list[list[int]] = json.loads(known.capture_spans)
    return spans


def may_read(known: HostSession, at: int) -> bool:
    """Check whether what was said at a moment may be kept. :param at: UTC milliseconds"""
    if known.capture_from is not None and known.capture_from <= at <= find_horizon(known):
        return True
    return any(begin <= at <= end for begin, end in list_spans(known))
