"""The types of facts, each declared once: what it is called, how it binds, what it settles, and how it looks.

The standard library alone: programs that live for milliseconds read it.
"""

from __future__ import annotations

from enum import StrEnum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal

    Settling = Literal["answer", "question", "done", "obsolete"]
    """What a fact of a type does to others about its target: an answer takes the place of a question and of what is obsolete,
    `obsolete` of everything open, and `done` closes the scope it is written to."""


class FactType(StrEnum):
    """What kind of statement a fact makes, most binding first. The value is its MEMORY_SPEC symbol."""

    word: str
    """The name used on the command line and in JSON: `constraint`, `decision` …"""
    heading: str
    """Of a group of such facts, as hermes-memory 0.3.0 has it."""
    settling: Settling
    weights: tuple[float, float, float]
    """What such a fact is worth to a session: in its scope, of no scope, and of another one. Chosen on the `choosing` sessions
    of `tests/recall_sets/shop_starts.txt`."""
    ink: str | None
    """One of the terminal's own colours, which a person has chosen; None: dim. A letter stands beside each."""
    aliases: tuple[str, ...]
    """Other words for it in a query, in lower case."""

    def __new__(
        cls,
        symbol: str,
        heading: str,
        settling: Settling,
        weights: tuple[float, float, float],
        ink: str | None,
        *aliases: str,
    ) -> FactType:
        member = str.__new__(cls, symbol)
        member._value_ = symbol
        member.heading, member.settling, member.weights, member.ink = heading, settling, weights, ink
        member.aliases = aliases
        return member

    def __init__(self, *_: object) -> None:
        self.word = self._name_.lower()

    CONSTRAINT = "C", "Constraints", "answer", (2.4, 1.9, 0.2), "magenta"
    DECISION = "D", "Decisions", "answer", (2.0, 1.0, 0.1), "cyan"
    VALUE = "V", "Values", "answer", (1.4, 0.5, 0.06), "blue"
    UNKNOWN = "?", "Open questions", "question", (2.0, 0.3, 0.05), "yellow", "u", "question"
    DONE = "✓", "Resolved", "done", (0.3, 0.1, 0.02), "green", "✔"
    OBSOLETE = "~", "Obsolete", "obsolete", (0.2, 0.05, 0.01), None, "o"


def sql_types(kinds: Iterable[str]) -> str:
    return ", ".join(f"'{kind}'" for kind in kinds)


TYPE_SYMBOLS: Final = "".join(FactType)

ANSWERS: Final = tuple(kind for kind in FactType if kind.settling == "answer")
"""Types that answer an open question on the same target."""

OPEN_TYPES: Final = tuple(kind for kind in FactType if kind.settling in ("answer", "question"))
"""Types that `~` makes obsolete."""

SETTLED: Final[dict[str, dict[str, str]]] = {
    **{kind: {FactType.UNKNOWN.value: "resolve", FactType.OBSOLETE.value: "supersede"} for kind in ANSWERS},
    FactType.OBSOLETE: {kind.value: "obsolete" for kind in OPEN_TYPES},
}
"""By type: which other types a notation settles about its target, with the name of the operation, in their order. What was
obsolete has something to say again when it is answered: both beside each other would contradict."""
