"""Answers for scripts: one JSON document a command.

The keys are a contract (`docs/cli.md`): they are only ever added to.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from hermes_memory_store.clock import iso
from hermes_memory_store.model import Change, Fact, FactType, Gauge, Scope, Session, SourceRule, Tier, Waiting


def document(content: dict[str, Any]) -> None:
    """Print one JSON document."""
    # A terminal that is not UTF-8 gets escapes that every JSON reader understands.
    escaped = "utf" not in (sys.stdout.encoding or "").lower()
    click.echo(json.dumps(content, ensure_ascii=escaped, indent=2 if sys.stdout.isatty() else None))


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


def waiting_json(waiting: Waiting) -> dict[str, Any]:
    """A fact that waits for a person in the words of the contract."""
    from hermes_memory_bridge.trust.rules import explained

    return {
        "fact": fact_json(waiting.fact),
        "why": waiting.why,
        "what": explained(waiting.why),
        "source": waiting.source,
        "at": iso(waiting.at),
    }


def rule_json(rule: SourceRule) -> dict[str, Any]:
    """A rule on a source in the words of the contract."""
    return {"theme": rule.theme, "source": rule.source, "rule": rule.rule, "at": iso(rule.at)}


def change_json(change: Change) -> dict[str, Any]:
    """A row of the journal in the words of the contract."""
    return {
        "seq": change.seq,
        "at": iso(change.at),
        "actor": str(change.actor),
        "op": change.op,
        "before": words_json(change.before),
        "after": words_json(change.after),
        "entity": change.entity,
        "uid": change.uid,
        "theme": change.theme,
        "change": change.change,
        "undoes": change.undoes,
        "hash": change.hash,
    }


def words_json(words: dict[str, Any] | None) -> dict[str, Any] | None:
    """What a row of the journal says changed, in the words of the contract; None when there was nothing, or it was erased."""
    if words is None:
        return None
    said = dict(words)
    for name, value in words.items():
        if name == "type":
            said[name] = FactType(value).word
        elif name.endswith("_at") and isinstance(value, int):
            said[name] = iso(value)
        elif name == "pinned":
            said[name] = bool(value)
    return said
