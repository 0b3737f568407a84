"""Why a fact is given at a start and another is not, in words: for *Context*, the flight recorder and the command line."""

from __future__ import annotations

from collections.abc import Sequence

REASONS = {
    "type": "what its type is worth to any session",
    "scope": "of a scope near where the session works",
    "unknown": "an open question of a scope near where the session works",
    "words": "names the folder, the branch or what was said",
    "pinned": "pinned by a person",
    "critical": "marked ! as critical",
    "person": "about the person",
    "age": "written lately",
    "used": "used by sessions that were given it",
    "unused": "given before, and never used",
    "inherited": "of default, not of the project itself",
    "session": "written by the session itself",
}
"""What each part of a value stands for."""

Parts = Sequence[tuple[str, float]]


def format_reason_names(parts: Parts, most: int = 3) -> str:
    """Return the reasons that weigh most, in a few words: `pinned, scope, -unused`."""
    weighty = sorted((part for part in parts if part[0] != "type"), key=lambda part: -abs(part[1]))[:most]
    names = ", ".join(name if value >= 0 else f"-{name}" for name, value in weighty)
    return names or "type"


def format_reason_lines(parts: Parts, value: float, tokens: int) -> list[str]:
    lines = [f"{part:+.2f}  {name:<9}  {REASONS.get(name, '')}".rstrip() for name, part in parts]
    return [*lines, f"{value:5.2f}  for {tokens} tokens: {value / max(1, tokens):.3f} a token"]


def format_worth(value: float, tokens: int) -> str:
    return f"{value:.1f}/{tokens}"
