"""What an event leaves in the store: the host's session and its window, ours, what was given, and what was said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hermes_memory_bridge.hook_service.giving import Giving, fit_givings, join_givings
from hermes_memory_bridge.hook_service.hook_moment import HookMoment, begins_window, is_compaction_unanswered
from hermes_memory_bridge.hook_service.hook_sessions import HookSessions
from hermes_memory_bridge.hook_service.host_habits import LASTING_PROMPTS, SILENT_COMPACTIONS
from hermes_memory_bridge.hook_service.rules_file import refresh_rules_file
from hermes_memory_bridge.hook_service.transcripts.readable_times import note_transcript
from hermes_memory_bridge.hook_service.turn_capture import (
    SUMMARY_TITLE,
    capture_message,
    captures_subagents,
    to_spoken_text,
)
from hermes_memory_bridge.hook_service.window_texts import make_start_giving
from hermes_memory_store.hosts.host_sessions import HostSession, HostTurns
from hermes_memory_store.items.action_rows import Action, keep_actions
from hermes_memory_store.model import Origin, Session
from hermes_memory_store.store import Store

LATE_MS = 5_000
"""An event this much older than the last one of its session comes late: it says nothing of the present window. So does one of
before the session's end that comes after it."""

ROLES = {"prompt": "user", "turn": "assistant", "compacted": "system"}

TOLD_MS = 60_000
"""How long ago a window may have begun for the end of a compaction to belong to that beginning: Claude Code starts anew first."""


def record_event(store: Store, sessions: HookSessions, moment: HookMoment, givings: Sequence[Giving]) -> None:
    """Record an event. Within a write. :param givings: what its session was given, as far as that reached the host"""
    event = moment.event
    origin = moment.find_origin(store)
    with store.attribute(origin):
        host_session = store.host_sessions.find(event.host, moment.name)
        most_late = 0 if host_session is not None and host_session.heard_event == "end" else LATE_MS
        late = host_session is not None and moment.at < host_session.heard_at - most_late
        if late and host_session is not None and host_session.session is not None and host_session.theme is not None:
            session = store.sessions.get(host_session.theme, host_session.session)
        else:
            session = sessions.take(store, moment, host_session, origin.project)
        host_session = note_event(store, moment, session, host_session, late=late)
        record_givings(store, moment, session, host_session, givings, late=late)
        is_new = record_message(store, moment, session, host_session, origin)
        if event.event == "prompt" and is_new and event.text.strip() and not late and not event.agent:
            store.sessions.tick(session, store.sessions.get(session.theme, session.name).turn + 1, event.text)
        if event.event == "end" and not late and not event.agent:
            store.sessions.close(session)
        if not late:
            theme, situation = session.theme, moment.find_situation(store, None)
            refresh_rules_file(
                *(store, event.host, event.event, event.folder, theme),
                lambda: join_givings(fit_givings([make_start_giving(store, theme, situation)])),
            )


def record_actions(store: Store, sessions: HookSessions, moment: HookMoment, actions: Sequence[Action]) -> None:
    """Keep what a session's tool did. Within a write. The session is opened where none of its events was heard before."""
    event, origin = moment.event, moment.find_origin(store)
    with store.attribute(origin):
        host_session = store.host_sessions.find(event.host, moment.name)
        name = None if host_session is None or host_session.theme != moment.theme else host_session.session
        session = None if name is None else store.sessions.find_named(moment.theme, name)
        if session is None:
            session = sessions.take(store, moment, host_session, origin.project)
            store.host_sessions.note(
                *(event.host, moment.name, event.event),
                theme=moment.theme,
                session=session.name,
                pid=moment.process,
                folder=event.folder,
            )
        policy = store.policies.for_theme(session.theme)
        if policy.turns != "none" and (not event.agent or policy.capture_subagents):
            keep_actions(store.db, session, event.host, actions, None, store.clock())


def note_event(
    store: Store, moment: HookMoment, session: Session, host_session: HostSession | None, *, late: bool
) -> HostSession:
    """Note an event of a host's session, and begin its window where the event begins one."""
    event = moment.event
    heard = event.event if host_session is None or moment.at >= host_session.heard_at else host_session.heard_event
    columns: dict[str, Any] = {"heard_at": moment.at if host_session is None else max(moment.at, host_session.heard_at)}
    columns |= {"pid": moment.process} if moment.process is not None else {}
    columns |= {"folder": event.folder} if event.folder else {}
    columns |= {"host_version": event.version} if event.version else {}
    if late and host_session is not None:
        columns = {"heard_at": host_session.heard_at}
    elif event.event == "start":
        columns |= {"source": event.source or "startup"}
    columns |= note_compaction(moment, host_session) if not late else {}
    columns |= note_transcript(moment, host_session)
    updated = store.host_sessions.note(
        event.host, moment.name, heard, theme=moment.theme, session=session.name, **columns
    )
    if not late and event.event == "start" and begins_window(moment, host_session):
        is_kept = (
            host_session is not None and event.host in LASTING_PROMPTS and not is_compaction_unanswered(host_session)
        )
        store.host_sessions.begin_window(updated, at=host_session.window_at if host_session and is_kept else moment.at)
    return updated


def note_compaction(moment: HookMoment, host_session: HostSession | None) -> dict[str, Any]:
    """Return what an event says of a compaction that no start has told of yet."""
    event = moment.event
    if event.host in SILENT_COMPACTIONS:
        return {}
    if event.event == "compacting":
        return {"compacting_at": moment.at}
    is_announced = host_session is None or host_session.compacting_at is not None
    is_told = host_session is not None and not is_announced and moment.at - host_session.window_at < TOLD_MS
    return {"compacted_at": moment.at} if event.event == "compacted" and not is_told else {}


def record_givings(
    store: Store,
    moment: HookMoment,
    session: Session,
    host_session: HostSession,
    givings: Sequence[Giving],
    *,
    late: bool,
) -> None:
    """Record what a session was given: for its window, and as context records."""
    event = moment.event
    if any(giving.kind == "compaction" for giving in givings) and event.event == "prompt":
        store.host_sessions.begin_window(host_session, at=moment.at)
    for giving in givings:
        store.reads.note(
            giving.kind, session.theme, giving.facts, session=session, tokens=giving.tokens, reasons=giving.reasons
        )
        if event.event != "guard" and not late:  # a reason is read by the person, or not at all
            store.host_sessions.forget_given(host_session, giving.gone)
            store.host_sessions.note_given(host_session, giving.facts)
    store.reads.flush()
    if late:
        return
    columns: dict[str, Any] = {}
    nonempty = [giving for giving in givings if giving.all_lines and giving.kind != "guard"]
    if event.event == "prompt" and event.text.strip():
        spent = sum(giving.tokens for giving in nonempty if giving.kind == "prompt" or event.host in SILENT_COMPACTIONS)
        is_new_window = any(giving.kind == "compaction" for giving in nonempty)
        columns |= {"prompts": host_session.prompts + 1, "prompt_tokens": host_session.prompt_tokens + spent}
        columns |= {"window_prompts": 0 if is_new_window else host_session.window_prompts + 1}
    if givings and event.event != "guard":
        columns |= {"given_at": moment.at, "given_seq": store.journal.last_seq()}
    if nonempty:
        columns |= {"given_tokens": sum(giving.tokens for giving in nonempty)}
        columns |= {"given_facts": sum(len(giving.facts) for giving in nonempty)}
    if columns:
        store.host_sessions.note(event.host, moment.name, event.event, heard_at=host_session.heard_at, **columns)


def record_message(
    store: Store, moment: HookMoment, session: Session, host_session: HostSession, origin: Origin
) -> bool:
    """Capture what an event brings, where that is allowed; return whether the event was new."""
    event = moment.event
    role = ROLES.get(event.event)
    if role is None or not event.text.strip():
        return True
    if not moment.may_capture or (event.agent and not captures_subagents(store, session)):
        if event.event != "prompt":
            return True
        return HostTurns(store.db).note_heard(host_session, role, None, at=moment.at, turn=event.turn) is not None
    text = event.text
    if event.event == "compacted":
        origin, text = replace(origin, title=SUMMARY_TITLE), remove_given_lines(store, host_session, text)
    if not to_spoken_text(text):
        return True
    return capture_message(store, host_session, session, role, text, at=moment.at, turn=event.turn, origin=origin)


def remove_given_lines(store: Store, host_session: HostSession, summary: str) -> str:
    """Return a summary without the lines of facts that its session was given."""
    texts = {fact.notation for fact in store.facts.by_uids(store.host_sessions.given_facts(host_session)).values()}
    texts |= {fact.notation for fact in store.context.ranked_facts(host_session.theme or "default")}
    return "\n".join(line for line in summary.split("\n") if line.strip().lstrip("-*•> ").strip("`") not in texts)
