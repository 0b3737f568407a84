"""What a session is given after a tool, and its record: little, each fact once a window."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from hermes_memory_bridge.hook_service.giving import Giving, mark_facts, pack_lines, to_giving
from hermes_memory_bridge.hook_service.hook_moment import HookMoment
from hermes_memory_bridge.hook_service.hook_sessions import HookSessions
from hermes_memory_bridge.hook_service.host_habits import LASTING_PROMPTS
from hermes_memory_bridge.hook_service.moments.act_matching import find_act_facts
from hermes_memory_store.context.context_block import count_fence, count_fenced_line
from hermes_memory_store.conversations.clearings import find_clearing
from hermes_memory_store.fact_types import FactType
from hermes_memory_store.find.turn_sentences import format_day
from hermes_memory_store.model import Fact, Uid
from hermes_memory_store.store import Store

OCCASION_TOKENS, SESSION_TOKENS = 60, 240
MOST_FACTS = 3

COUNTED = frozenset({"moment", "prompt", "start", "compaction"})
"""What was given before that counts at a moment: what begins a window may be given again."""

REASONS = {"read": "after a read", "edit": "after an edit", "run": "after a command", "plan": "after a plan"}
"""Why something is given, by the act: nothing of the act itself, which only who allowed that may keep."""

MOST_ERROR = 1 << 14
"""Characters at the end of an error that are compared with those of earlier ones."""

REMINDER = "Was something decided here? Write it down with memory_write: `D[target]: what and why`."


def choose_moment(store: Store, moment: HookMoment, given_lines: Collection[str] = ()) -> list[Giving]:
    """Return what a session is given after a tool: nothing for most.

    :param given_lines: what it was told beside facts
    """
    with store.attribute(moment.find_origin(store)):  # facts of other branches are marked for who is here
        giving = make_act_giving(store, moment, given_lines)
    return [giving] if giving is not None and giving.lines else []


def make_act_giving(store: Store, moment: HookMoment, given_lines: Collection[str]) -> Giving | None:
    event = moment.event
    reason = "after a failed command" if event.act == "run" and event.failed else REASONS.get(event.act, "")
    facts = find_act_facts(store, moment.theme, event)
    lines = [line for line in list_lines(store, moment) if line not in given_lines]
    if not reason or not (facts or lines):
        return None
    spent, given, reasons = find_spent(store, moment)
    budget = min(OCCASION_TOKENS, SESSION_TOKENS - spent)
    if event.act == "plan" and reason in reasons:
        return None
    lines = [line for line in lines if count_fence() + count_fenced_line(line) <= budget]
    fresh = [fact for fact in facts if given.get(fact.uid, -1) < fact.updated_at]
    marked = pack_lines(mark_facts(store, fresh)[:MOST_FACTS], budget - sum(map(count_fenced_line, lines)))
    giving = to_giving("moment", marked)
    giving = replace(giving, lines=(*giving.lines, *lines), why=reason)
    for fact in giving.facts:
        for line in format_given_up(store, fact):
            if giving.tokens + count_fenced_line(line) <= budget:
                giving = replace(giving, lines=(*giving.lines, line))
    return giving


def list_lines(store: Store, moment: HookMoment) -> list[str]:
    """Return what is told beside facts: after a plan a reminder, after a failure what cleared it before."""
    event = moment.event
    if event.act == "plan":
        return [REMINDER]
    if event.act != "run" or not event.failed:
        return []
    place = moment.theme, event.subject, event.folder, moment.at
    clearing = find_clearing(store.db, store.names, *place, error=event.error[-MOST_ERROR:])
    return [] if clearing is None else [clearing.line]


def find_spent(store: Store, moment: HookMoment) -> tuple[int, dict[Uid, int], set[str]]:
    """Return the tokens that a session was given at moments, the facts that it has from them and from prompts in its present
    window, with when each was given, and the reasons."""
    host_session = store.host_sessions.find(moment.event.host, moment.name)
    lasts = moment.event.host in LASTING_PROMPTS
    notes = [] if host_session is None else store.host_sessions.list_givings(host_session, COUNTED)
    window_at = 0 if host_session is None else host_session.window_at
    recorded = [note[1:] for note in notes if note[0] >= window_at]
    pending = [
        (moment.at, *record)
        for giving in moment.pending
        if (record := (giving.kind, giving.why, giving.tokens, [fact.uid for fact in giving.facts])) not in recorded
    ]  # one may have been recorded meanwhile
    spent, reasons = 0, set()
    given: dict[Uid, int] = {}
    for at, kind, why, tokens, uids in [*notes, *pending]:
        if kind == "moment":
            spent += tokens
            reasons.add(why)
        if kind in ("start", "compaction"):
            given = given if lasts and kind == "start" else {}
        elif lasts or at >= window_at:
            given |= dict.fromkeys(uids, at)
    return spent, given, reasons


def format_given_up(store: Store, fact: Fact) -> list[str]:
    """Return lines on the decisions in whose place a fact stands."""
    return [
        f"tried, given up {format_day(former.updated_at, store.clock())}: {former.notation}"
        for former in store.facts.as_written(store.facts.chain(fact.uid))
        if former.standing.endswith(fact.uid) and former.type is FactType.DECISION and former.is_clean
    ]


def record_moment(store: Store, sessions: HookSessions, moment: HookMoment, givings: Sequence[Giving]) -> None:
    """Record what a session was given after a tool. Within a write."""
    event = moment.event
    origin = moment.find_origin(store)
    with store.attribute(origin):
        host_session = store.host_sessions.find(event.host, moment.name)
        session = sessions.take(store, moment, host_session, origin.project)
        if host_session is None or (host_session.theme, host_session.session) != (session.theme, session.name):
            columns = {"pid": moment.process} if moment.process is not None else {}
            heard = "tool" if host_session is None else host_session.heard_event
            store.host_sessions.note(
                event.host,
                moment.name,
                heard,
                theme=session.theme,
                session=session.name,
                folder=event.folder or None,
                **columns,
            )
        for giving in givings:
            store.reads.note(
                giving.kind, session.theme, giving.facts, session=session, why=giving.why, tokens=giving.tokens
            )
        store.reads.flush()
