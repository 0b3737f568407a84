"""Tool results: the text that hosts show to a model, and the same as data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_store.context.given import GivenItem
from hermes_memory_store.errors import StoreError
from hermes_memory_store.intake.intake import to_given_name
from hermes_memory_store.items.kinds import FACT
from hermes_memory_store.items.origin_rows import to_portable_file
from hermes_memory_store.model import Fact, Gauge, Origin, is_opaque_name
from hermes_memory_store.places.branch_marks import BranchMark


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call.

    A refusal is a result too, never a protocol error: hosts disable a server after a few of those.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    fenced_from: int | None = None
    """Where the text of the store begins, which is fenced for every client but hermes-agent: it knows these texts as they are."""


class ConsentRequired(Exception):
    """A person must agree first. The message says exactly what would happen."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnknownResource(StoreError):
    """The resource does not exist, or is not visible to the caller: both give the same message."""

    code = "resource.unknown"

    def __init__(self, address: str) -> None:
        super().__init__(f"there is no {address[:200]}", address[:200])


def to_refusal_result(error: StoreError, text: str | None = None) -> ToolResult:
    """Return the result for an error: the message, and its code as data."""
    return ToolResult(text if text is not None else f"error: {error.message}", {"error": error.as_dict()})


def add_note(answer: ToolResult, note: str | None) -> ToolResult:
    """Add a note on how the result was found, as its last line and as data."""
    if note is None:
        return answer
    return ToolResult(f"{answer.text}\nnote: {note}", {**answer.data, "note": note})


def add_held_note(answer: ToolResult, note: str | None) -> ToolResult:
    """Add how many facts of unmerged branches are held back, as the last line and as data."""
    return answer if note is None else ToolResult(f"{answer.text}\n({note})", {**answer.data, "held": note})


def to_origin_data(origin: Origin) -> dict[str, Any]:
    """Return where something came from, as far as it helps to weigh it: no path of this machine, nobody's processes."""
    name = None if origin.session is None or is_opaque_name(origin.session) else origin.session
    words = {
        "way": origin.way.value,
        "session": to_given_name(origin.title or name or "") or None,
        "branch": origin.branch,
        "teammate": origin.teammate,
        "file": None if origin.file is None else to_portable_file(origin.file, origin.root),
        "line": origin.line,
        "turns": list(origin.turns) or None,
        "voice": origin.voice,
        "heard": origin.heard,
    }
    return {name: value for name, value in words.items() if value is not None}


def to_given_scope(record: dict[str, Any] | None) -> dict[str, Any] | None:
    return {**record, "scope": to_given_name(record["scope"])} if record and record.get("scope") else record


def to_fact_data(fact: Fact, mark: BranchMark | None = None) -> dict[str, Any]:
    """Return a fact as structured content. :param mark: of its branch, which is not known to be merged"""
    return {
        "uid": fact.uid,
        "notation": fact.notation,
        "scope": fact.scope and to_given_name(fact.scope),
        "type": fact.type.word,
        "target": fact.target,
        "content": fact.content,
        "tier": fact.tier.value,
        "pinned": fact.pinned,
        "updated_at": fact.updated_at,
        **FACT.optional_words({name: getattr(fact, name) for name in FACT.shown}, FACT.shown),
        **({"origin": to_origin_data(fact.origin)} if fact.origin.is_known else {}),
        **({} if mark is None else {"branch": to_mark_data(mark)}),
        **({"cites": places} if (places := list_cited_places(fact)) else {}),
    }


def list_cited_places(fact: Fact) -> list[str]:
    """Return the lines of files that a fact cites, `src/db.py:12-20`."""
    if fact.cites is None:
        return []
    from hermes_memory_store.places.citations import parse_citations  # here: few facts cite anything

    return [to_given_name(citation.label) for citation in parse_citations(fact.cites) if citation.kind == "lines"]


def format_cited_places(fact: Fact) -> str:
    places = list_cited_places(fact)
    return f" (cites {', '.join(places)})" if places else ""


def to_reason_data(items: Iterable[GivenItem]) -> dict[str, dict[str, float]]:
    return {
        item.uid: {reason.name: round(reason.value, 3) for reason in item.reasons} for item in items if item.reasons
    }


def to_mark_data(mark: BranchMark) -> dict[str, Any]:
    return {"name": mark.branch, "state": mark.state}


def to_gauge_data(gauge: Gauge) -> dict[str, Any]:
    return {"used": gauge.used, "budget": gauge.budget, "pct": round(gauge.pct, 1), "level": gauge.level.value}
