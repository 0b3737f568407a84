"""How answers look: one JSON document for scripts, aligned lines for people.

The keys are a contract (docs/cli.md): they are only ever added to.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from hermes_memory_store.clock import iso
from hermes_memory_store.model import Change, Fact, Gauge, Scope, Session, Tier
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short

TIER_MARKS = {Tier.HOT: "●", Tier.COLD: "○", Tier.ARCHIVED: "□", Tier.SUPERSEDED: "×", Tier.QUARANTINED: "!"}
"""A tier as a shape, so that it needs no colour."""


def document(content: dict[str, Any]) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(content, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact in the words of the contract."""
    return {
        "uid": fact.uid,
        "theme": fact.theme,
        "scope": fact.scope,
        "type": fact.type.word,
        "target": fact.target,
        "content": fact.content,
        "tier": fact.tier.value,
        "pinned": fact.pinned,
        "created_at": iso(fact.created_at),
        "updated_at": iso(fact.updated_at),
        "notation": fact.notation,
        "tokens": fact.tokens,
        "actor": str(fact.actor),
        "superseded_by": fact.superseded_by,
        "reads": fact.reads,
        "read_at": None if fact.read_at is None else iso(fact.read_at),
    }


def gauge_json(gauge: Gauge) -> dict[str, Any]:
    """A gauge in the words of the contract."""
    return {
        "used": gauge.used,
        "budget": gauge.budget,
        "pct": round(gauge.pct, 1),
        "tokens": gauge.tokens,
        "level": gauge.level.value,
        "facts": gauge.facts,
        "pinned": gauge.pinned,
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """A scope in the words of the contract."""
    return {
        "uid": scope.uid,
        "theme": scope.theme,
        "label": scope.label,
        "status": scope.status.value,
        "opened_at": iso(scope.opened_at),
        "closed_at": None if scope.closed_at is None else iso(scope.closed_at),
        "closed_by": scope.closed_by,
        "facts": {tier.value: scope.facts.get(tier, 0) for tier in Tier if tier is not Tier.WITHDRAWN},
        "silence": scope.silence,
    }


def session_json(session: Session) -> dict[str, Any]:
    """A session in the words of the contract."""
    return {
        "uid": session.uid,
        "theme": session.theme,
        "name": session.name,
        "client": session.client,
        "pid": session.pid,
        "status": session.status.value,
        "started_at": iso(session.started_at),
        "heartbeat_at": iso(session.heartbeat_at),
        "lease_ms": session.lease_ms,
        "turn": session.turn,
        "scope": session.scope,
        "ended_at": None if session.ended_at is None else iso(session.ended_at),
        "checkpoint": session.checkpoint,
    }


def change_json(change: Change) -> dict[str, Any]:
    """A row of the journal in the words of the contract."""
    return {
        "seq": change.seq,
        "at": iso(change.at),
        "actor": str(change.actor),
        "op": change.op,
        "before": change.before,
        "after": change.after,
        "entity": change.entity,
        "uid": change.uid,
        "theme": change.theme,
        "change": change.change,
        "undoes": change.undoes,
        "hash": change.hash,
    }


def fact_line(fact: Fact) -> str:
    """A fact as one line: short uid, tier, scope, notation."""
    mark = TIER_MARKS.get(fact.tier, " ") + ("^" if fact.pinned else " ")
    scope = f"  ({printable(fact.scope)})" if fact.scope else ""
    return f"{short(fact.uid)}  {mark} {printable(fact.notation)}{scope}"


def change_line(change: Change) -> str:
    """A change as one line: when, who, what, and to which entity."""
    said = change.after or change.before or {}
    if "content" in said and "target" in said:
        what = f"{said.get('type', '')}[{said['target']}]: {said['content']}"
    elif change.before is None and change.after is None:
        what = "(erased)"
    else:
        what = "  ".join(f"{name}: {said[name]}" for name in said if name not in ("updated_at", "opened_at"))
    return f"{change.seq:>6}  {iso(change.at)[:19]}  {printable(str(change.actor)):<14}  {change.op:<10}  {printable(what)}"


def gauge_line(gauge: Gauge) -> str:
    """The gauge as one line with its marks at 70, 85 and 95 %."""
    width = 40
    filled = round(min(gauge.pct, 100) / 100 * width)
    bar = ["█" if cell < filled else "·" for cell in range(width)]
    for mark in (70, 85, 95):
        cell = mark * width // 100
        if cell >= filled:
            bar[cell] = "|"
    return f"{gauge.theme}  {''.join(bar)}  {gauge.pct:.1f}%  {gauge.used}/{gauge.budget}  {gauge.level.value}"


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Aligned columns; the last one is cut at the width of the terminal."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(len(str(cell)) for cell in column) for column in zip(headings, *cells, strict=True)]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in [list(headings), *cells]:
        line = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
        click.echo(line[:width] if width else line)
