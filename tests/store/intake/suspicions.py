"""Ask the detectors of what waits, as tests and measures do: by rules alone, or by orders and the score."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_store.intake.detector import Passage, TextKind, find_suspicion
from hermes_memory_store.intake.origins import SessionWords
from hermes_memory_store.model import Suspicion


def find_rule_suspicion(target: str, content: str) -> Suspicion | None:
    """Why a fact waits for a rule."""
    return find_suspicion(Passage(TextKind.FACT, content, target))


def find_name_suspicion(name: str) -> Suspicion | None:
    """Why a name is refused."""
    return find_suspicion(Passage(TextKind.NAME, name))


def find_scored_suspicion(
    target: str,
    content: str,
    *,
    person_turns: Sequence[str] = (),
    other_turns: Sequence[str] = (),
    recent_facts: Sequence[tuple[str, str]] = (),
) -> Suspicion | None:
    """Why a fact waits that no rule matches."""
    words = SessionWords(person_turns, other_turns, recent_facts)
    return find_suspicion(Passage(TextKind.RULED, content, target, lambda: words))
