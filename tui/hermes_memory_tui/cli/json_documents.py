"""Output for scripts: one JSON document per command.

The keys are a contract (`docs/reference/commands.md`): keys may be added, never changed or removed.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.items.kinds import FACT, Form, to_file_value
from hermes_memory_store.items.origin_rows import to_origin_words
from hermes_memory_store.model import (
    Change,
    Fact,
    FactType,
    Gauge,
    Origin,
    QuarantinedFact,
    Scope,
    Session,
    SourceRule,
    Tier,
)

if TYPE_CHECKING:
    from hermes_memory_store.journal.change_folds import ChangeFold


def print_document(content: dict[str, Any]) -> None:
    # A terminal that is not UTF-8 gets escapes that every JSON reader understands.
    escaped = "utf" not in (sys.stdout.encoding or "").lower()
    click.echo(json.dumps(content, ensure_ascii=escaped, indent=2 if sys.stdout.isatty() else None))


def fold_json(fold: ChangeFold, verb: str, subject: str) -> dict[str, Any]:
    """Return a change with the keys of the JSON contract.

    :param verb: what it was, and what it was about, in the words that a person reads
    """
    lead = fold.lead
    return {
        "first": fold.first,
        "last": fold.last,
        "changes": list(fold.changes),
        "at": format_iso_time(lead.at),
        "theme": lead.theme,
        "actor": str(lead.actor),
        "op": lead.op,
        "undoes": lead.undoes,
        "said": f"{verb} {subject}",
        "parts": [{"entity": part.entity, "op": part.op, "rows": part.rows} for part in fold.parts],
    }


def origin_json(origin: Origin) -> dict[str, Any]:
    """Return an origin with the keys of the JSON contract: its way, and what is known besides."""
    return to_origin_words(origin)


STATED = tuple(
    attribute
    for attribute in FACT.attributes
    if attribute.name in Fact.__annotations__ and not attribute.is_optional and attribute.form is not Form.LINK
)
"""What a line of an export says of a fact, too."""


def fact_json(fact: Fact) -> dict[str, Any]:
    return {
        "uid": fact.uid,
        "theme": fact.theme,
        **{attribute.name: to_file_value(attribute.form, getattr(fact, attribute.name)) for attribute in STATED},
        "notation": fact.notation,
        "tokens": fact.tokens,
        "actor": str(fact.actor),
        **{name: getattr(fact, name) for name in FACT.links},
        "reads": fact.reads,
        "read_at": None if fact.read_at is None else format_iso_time(fact.read_at),
        "session_title": fact.actor.title or None,
        "origin": origin_json(fact.origin),
        **{name: getattr(fact, name) for name in FACT.shown},
    }


FACT_FIELDS = (
    "uid", "theme", *(attribute.name for attribute in STATED), "notation", "tokens", "actor", *FACT.links,
    "reads", "read_at", "session_title", "origin", *FACT.shown,
)  # fmt: skip
"""The keys of a fact."""


def gauge_json(gauge: Gauge) -> dict[str, Any]:
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
    return {
        **to_members(scope, "uid theme label"),
        "status": scope.status.value,
        "opened_at": format_iso_time(scope.opened_at),
        "closed_at": None if scope.closed_at is None else format_iso_time(scope.closed_at),
        "closed_by": scope.closed_by,
        "facts": {tier.value: scope.facts.get(tier, 0) for tier in Tier if tier is not Tier.WITHDRAWN},
        "silence": scope.silence,
    }


def session_json(session: Session) -> dict[str, Any]:
    return {
        **to_members(session, "uid theme name client pid"),
        "status": session.status.value,
        "started_at": format_iso_time(session.started_at),
        "heartbeat_at": format_iso_time(session.heartbeat_at),
        **to_members(session, "lease_ms turn scope"),
        "ended_at": None if session.ended_at is None else format_iso_time(session.ended_at),
        **to_members(session, "checkpoint title client_version project number"),
    }


def quarantined_json(quarantined: QuarantinedFact) -> dict[str, Any]:
    from hermes_memory_store.intake.detector import explain_rule

    return {
        "fact": fact_json(quarantined.fact),
        "why": quarantined.why,
        "what": explain_rule(quarantined.why),
        "said": quarantined.said,
        "source": quarantined.source,
        "at": format_iso_time(quarantined.at),
        "cleared": quarantined.is_cleared,
        "overdue": quarantined.is_overdue,
    }


def rule_json(rule: SourceRule) -> dict[str, Any]:
    return {"theme": rule.theme, "source": rule.source, "rule": rule.rule, "at": format_iso_time(rule.at)}


def change_json(change: Change) -> dict[str, Any]:
    """Return a journal row with the keys of the JSON contract."""
    return {
        "seq": change.seq,
        "at": format_iso_time(change.at),
        "actor": str(change.actor),
        "op": change.op,
        "before": journal_values_json(change.before),
        "after": journal_values_json(change.after),
        **to_members(change, "entity uid theme change undoes hash"),
        "session_title": change.actor.title or None,
        "origin": origin_json(change.origin),
    }


def journal_values_json(words: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the values recorded in a journal row with the keys of the JSON contract.

    None when there were none, or when they were erased.
    """
    if words is None:
        return None
    values = dict(words)
    for name, value in words.items():
        if name == "type":
            values[name] = FactType(value).word
        elif name.endswith("_at") and isinstance(value, int):
            values[name] = format_iso_time(value)
        elif name == "pinned":
            values[name] = bool(value)
    return values
