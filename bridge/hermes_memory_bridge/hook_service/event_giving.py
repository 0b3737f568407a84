"""What an event is answered with: chosen from what is known of its session's window. Reads alone."""

from __future__ import annotations

from dataclasses import replace

from hermes_memory_bridge.hook_program.hook_event import is_fork
from hermes_memory_bridge.hook_service.giving import Giving, fit_givings
from hermes_memory_bridge.hook_service.hook_moment import (
    HookMoment,
    begins_window,
    is_beside_prompt,
    is_compaction_unanswered,
    is_window_open,
)
from hermes_memory_bridge.hook_service.hook_sessions import HookSessions
from hermes_memory_bridge.hook_service.host_habits import (
    DEAF_COMPACT_STARTS,
    LATE_STARTS,
    SILENT_COMPACTIONS,
)
from hermes_memory_bridge.hook_service.prompt_matching import AVERAGE_TOKENS, make_prompt_giving
from hermes_memory_bridge.hook_service.window_texts import (
    make_compaction_giving,
    make_resume_giving,
    make_start_giving,
)
from hermes_memory_store.hosts.host_sessions import HostSession
from hermes_memory_store.store import Store

REFRESH_PROMPTS = 20
"""Prompts after which such a host's session is given the hot facts again: 180 tokens then are 9 a prompt, and no session goes on
for longer without them after a compression that left no trace."""


def choose_givings(store: Store, sessions: HookSessions, moment: HookMoment) -> list[Giving]:
    """Return what an event is answered with; nothing for events that take no answer."""
    with store.attribute(moment.find_origin(store)):  # facts of other branches are marked for who is here
        return fit_givings(choose_event_givings(store, sessions, moment))


def choose_event_givings(store: Store, sessions: HookSessions, moment: HookMoment) -> list[Giving]:
    event = moment.event
    host_session = store.host_sessions.find(event.host, moment.name) if moment.name else None
    if event.event == "start":
        return [] if is_unheard_start(moment, host_session) else [choose_start(store, sessions, moment, host_session)]
    is_asked = (
        event.event == "prompt" and event.text.strip()
    )  # Qwen Code asks again after each tool result, without a text
    if (
        not is_asked or event.agent == event.session != ""
    ):  # Copilot CLI asks for a subagent as for a session of its own
        return []
    return choose_prompt(store, sessions, moment, host_session)


def is_unheard_start(moment: HookMoment, host_session: HostSession | None) -> bool:
    """Check whether what this start would give reaches no model, or was given by the first prompt already."""
    event = moment.event
    if is_fork(event) or event.host in LATE_STARTS or (event.source == "compact" and event.host in DEAF_COMPACT_STARTS):
        return True
    return is_beside_prompt(moment, host_session)


def choose_start(store: Store, sessions: HookSessions, moment: HookMoment, host_session: HostSession | None) -> Giving:
    if moment.event.source == "compact":
        return compaction_giving(store, sessions, moment, host_session)
    if host_session is not None and not begins_window(moment, host_session):
        return make_resume_giving(store, moment.theme, moment.find_situation(store, host_session), host_session)
    return begin_session(store, moment, host_session)


def begin_session(store: Store, moment: HookMoment, host_session: HostSession | None) -> Giving:
    situation = moment.find_situation(store, host_session)
    giving = make_start_giving(store, moment.theme, situation)
    sessions = store.turns.describe_sessions(moment.theme, situation.session)
    return giving if sessions is None else replace(giving, lines=(*giving.lines, sessions))


def choose_prompt(
    store: Store, sessions: HookSessions, moment: HookMoment, host_session: HostSession | None
) -> list[Giving]:
    """Return what a prompt is answered with: what its window lacks, then the facts that the message touches."""
    opening = choose_opening(store, sessions, moment, host_session)
    is_new_window = host_session is None or (opening is not None and opening.kind == "compaction")
    before = {} if host_session is None or is_new_window else store.host_sessions.given_facts(host_session)
    for giving in (*moment.pending, *([] if opening is None else [opening])):
        before |= {fact.uid: fact.updated_at for fact in giving.facts}
    prompts, spent = (0, 0) if host_session is None else (host_session.prompts, host_session.prompt_tokens)
    left = AVERAGE_TOKENS * (prompts + 1) - spent
    touched = make_prompt_giving(store, moment.theme, moment.event.text, before, left)
    return [giving for giving in (opening, touched) if giving is not None and giving.all_lines]


def choose_opening(
    store: Store, sessions: HookSessions, moment: HookMoment, host_session: HostSession | None
) -> Giving | None:
    """Return what a prompt's window should have begun with, if nobody has told it: a missed start, a silent compaction."""
    if any(giving.kind != "prompt" for giving in moment.pending):
        return None
    if is_compaction_unanswered(host_session):
        return compaction_giving(store, sessions, moment, host_session)
    if host_session is None or not is_window_open(host_session):
        return begin_session(store, moment, host_session)
    if host_session.heard_event == "start" and moment.event.host in LATE_STARTS:
        return make_resume_giving(store, moment.theme, moment.find_situation(store, host_session), host_session)
    is_long = moment.event.host in SILENT_COMPACTIONS and host_session.window_prompts >= REFRESH_PROMPTS
    is_compacted = is_long or has_shrunk(moment, host_session)
    return compaction_giving(store, sessions, moment, host_session) if is_compacted else None


def compaction_giving(
    store: Store, sessions: HookSessions, moment: HookMoment, host_session: HostSession | None
) -> Giving:
    since = moment.at if host_session is None else host_session.started_at
    names, situation = sessions.find_names(store, moment, host_session), moment.find_situation(store, host_session)
    return make_compaction_giving(store, moment.theme, situation, names, since)


def has_shrunk(moment: HookMoment, host_session: HostSession) -> bool:
    """Check whether the transcript of a host that tells of no compaction became shorter, or is another file."""
    if moment.event.host not in SILENT_COMPACTIONS or not moment.event.transcript or host_session.transcript is None:
        return False
    is_other = moment.event.transcript != host_session.transcript
    return is_other or moment.transcript_size < host_session.transcript_size
