"""What `watch` prints: the state of the memory and its events, as lines or as JSON documents."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.context.context_records import ContextRecord
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.terminal_output import cell_width, print_gauge, print_hanging
from hermes_memory_tui.model.now_state import NowEvent, NowState
from hermes_memory_tui.text.display_formats import format_age, pluralise
from hermes_memory_tui.text.reason_lines import format_reason_names

GIVING_REASONS = {
    "start": "as a session began",
    "instructions": "as a server was connected",
    "resume": "what changed while it was away",
    "compaction": "as its window was compacted",
    "prompt": "touched by the message",
    "status": "as it asked for its memory",
}
"""Why something was given, where its record says no more."""

NEWEST = 10
"""Events that are shown before those that follow."""


def print_state(state: NowState, now: int, as_json: bool, *, plain: bool, theme: str | None) -> None:
    events = [event for event in state.events[:NEWEST] if theme in (None, event.theme)]
    if as_json:
        click.echo(json.dumps(state_json(state), ensure_ascii=False))
        sys.stdout.flush()
        return
    print_hanging("", state.sentence())
    if plain:
        sys.stdout.flush()
        return
    for agent in state.agents:
        session = agent.session
        place = f" on {agent.branch}" if agent.branch else ""
        word = f": {agent.word}" if agent.word else ""
        print_hanging(
            f"{session.status.value:<9} ",
            f"{to_printable(session.title)}{place}, {pluralise(agent.calls, 'call')}{word}",
        )
    names_wide = max((cell_width(day.theme.name) for day in state.days), default=0)
    for day in state.days:
        if theme in (None, day.theme.name):
            print_gauge(day.theme.gauge, names_wide=names_wide, end=f"; {pluralise(sum(day.written), 'change')} today")
    for note in state.notes:
        print_hanging(f"{'wrong' if note.is_wrong else 'waits'}: ", note.text)
    for event in reversed(events):
        print_event(event, as_json=False, now=now)
    sys.stdout.flush()


def print_event(event: NowEvent, as_json: bool, now: int | None = None) -> None:
    """Print one event. :param now: say how long before it was; the time when None"""
    if as_json:
        click.echo(json.dumps(event_json(event), ensure_ascii=False))
        return
    when = format_iso_time(event.at) if now is None else f"{format_age(event.at, now):>4}"
    print_hanging(f"{when}  ", f"{event.who} {event.verb} {event.text}")


def print_giving(store: Store, record: ContextRecord, as_json: bool) -> None:
    """Print what a session was given at once, each fact with the reason."""
    facts = store.facts.by_uids(list(record.facts))
    reasons = {} if record.reasons is None else {reason.uid: reason.parts for reason in record.reasons.given}
    if as_json:
        lines = [
            {
                "uid": uid,
                "target": facts[uid].target if uid in facts else None,
                "reasons": {name: round(value, 3) for name, value in reasons.get(uid, ())},
            }
            for uid in record.facts
        ]
        members = to_members(record, "kind theme session why tokens")
        document = {"at": format_iso_time(record.at), "number": record.id, "who": record.title, **members}
        click.echo(json.dumps({**document, "facts": lines}, ensure_ascii=False))
        return
    purpose = f"“{record.why}”" if record.why else GIVING_REASONS.get(record.kind, "")
    sizes = f"{pluralise(len(record.facts), 'fact')}, {pluralise(record.tokens, 'token')}"
    head = f"{time.strftime('%H:%M:%S', time.localtime(record.at / 1000))}  {to_printable(record.kind):<10}  "
    agent = to_printable(record.title or record.session or "no session")
    print_hanging(head, f"{agent}: {sizes}{f', {to_printable(purpose)}' if purpose else ''}")
    for uid in record.facts:
        target = to_printable(facts[uid].target) if uid in facts else "(purged)"
        print_hanging(" " * 10, f"{target}  {format_reason_names(reasons[uid]) if uid in reasons else ''}".rstrip())


def state_json(state: NowState) -> dict[str, Any]:
    """Return the state as a JSON document, without the events that follow it."""
    return {
        "sentence": state.sentence(),
        "agents": [
            {
                "session": agent.session.name,
                **to_members(agent.session, "title theme client project"),
                "branch": agent.branch or None,
                "status": agent.session.status.value,
                "calls": agent.calls,
                "last": agent.word or None,
            }
            for agent in state.agents
        ],
        "more_agents": state.more_agents,
        "at_work": state.counts.at_work,
        "stale": state.counts.stale,
        "themes": [
            {
                "theme": day.theme.name,
                "full": round(day.theme.gauge.pct, 1),
                "written": list(day.written),
                "given_tokens": list(day.given),
            }
            for day in state.days
        ],
        "waits": [note.text for note in state.notes if not note.is_wrong],
        "wrong": [note.text for note in state.notes if note.is_wrong],
    }


def event_json(event: NowEvent) -> dict[str, Any]:
    return {
        "at": format_iso_time(event.at),
        "kind": event.key[0],
        "number": event.key[1],
        **to_members(event, "who session theme verb text uid"),
    }
