"""What a tool says: the text hosts show to a model, and the same as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Fact, Found, Gauge, Tier


@dataclass(frozen=True, slots=True)
class Answer:
    """One tool's answer.

    A refusal is an answer too, never a protocol error: hosts switch a server off after a few of those.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)


class ConsentNeeded(Exception):
    """A person must agree before this is done. The message says exactly what would happen."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotThere(StoreError):
    """What was asked for does not exist, or not for who asks: both are said in the same words."""

    code = "resource.unknown"

    def __init__(self, address: str) -> None:
        super().__init__(f"there is no {address[:200]}", address[:200])


def refusal(error: StoreError, text: str | None = None) -> Answer:
    """The answer to what cannot be done: the sentence, and its code as data."""
    return Answer(text if text is not None else f"error: {error.message}", {"error": error.as_dict()})


def noted(answer: Answer, note: str | None) -> Answer:
    """An answer with what should be known of how it was found, as its last line and as data."""
    if note is None:
        return answer
    return Answer(f"{answer.text}\nnote: {note}", {**answer.data, "note": note})


def told(found: Found) -> Found:
    """What an agent may be told of a search: what waits for a person is told to nobody, whatever tier is asked for."""
    kept = [at for at, fact in enumerate(found.facts) if fact.tier is not Tier.QUARANTINED]
    if len(kept) == len(found.facts):
        return found
    scores = [found.scores[at] for at in kept] if found.scores else []
    exact = sum(at < found.exact for at in kept)
    return Found([found.facts[at] for at in kept], len(kept), found.more, scores, exact, found.note)


def fact_data(fact: Fact) -> dict[str, Any]:
    """A fact as structured content."""
    return {
        "uid": fact.uid,
        "notation": fact.notation,
        "scope": fact.scope,
        "type": fact.type.word,
        "target": fact.target,
        "content": fact.content,
        "tier": fact.tier.value,
        "pinned": fact.pinned,
        "updated_at": fact.updated_at,
    }


def gauge_data(gauge: Gauge) -> dict[str, Any]:
    """A gauge as structured content."""
    return {"used": gauge.used, "budget": gauge.budget, "pct": round(gauge.pct, 1), "level": gauge.level.value}
