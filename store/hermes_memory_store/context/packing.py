"""The budget rule: what a line costs, and which lines fit. Whoever gives facts packs them here; standard library alone.

The provider is given a copy of this file and of `fence.py`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    class PricedCandidate(Protocol):
        """A fact with its value and what its line costs."""

        key: int
        cost: int
        value: float
        is_first: bool
        is_lowered: bool
        is_of_person: bool
        order: tuple[Any, ...]

    C = TypeVar("C", bound=PricedCandidate)

LINE_TOKENS = 1
"""What the end of a line costs."""

FENCE_TOKENS, LEFT_OUT_TOKENS = 10, 12
"""What the head of the fence and the line of the facts left out cost, for those who load no counter."""

PERSONAL_TOKENS = 40
"""Tokens of the person's own facts, at most: they are given in every project."""

MOST_GIVEN_BYTES = 9_000
"""What one text may take, whatever the policy says: Claude Code replaces a hook's context above 10,000 characters with a preview,
and Codex counts four bytes a token."""

LENGTH_POWER = 0.3
"""Facts are chosen by value over tokens to this power: a longer fact of the same kind says more."""

MOST_REPLACING = 30
"""Facts worth most of those left out that may take the place of shorter ones."""


class Budget:
    """Tokens that are left for lines."""

    __slots__ = ("left", "left_of_person")

    def __init__(self, tokens: int) -> None:
        self.left = tokens
        self.left_of_person = min(PERSONAL_TOKENS, tokens)

    def take(self, cost: int, *, is_of_person: bool = False) -> bool:
        """Take the tokens of a line if it fits. One that is too long leaves its place to shorter ones after it."""
        if cost > self.left or (is_of_person and cost > self.left_of_person):
            return False
        self.left -= cost
        if is_of_person:
            self.left_of_person -= cost
        return True


def pack_candidates(candidates: list[C], room: int, count_line: int = 0) -> tuple[list[C], list[C], int]:
    """Return the candidates that fit, as they stand in a text, the others, best per token first, and the tokens of the first.

    :param count_line: tokens that stay free where some are left out, for the line that counts them
    """
    ranked = sorted(candidates, key=to_packing_order)
    chosen, tokens = fill_budget(ranked, room)
    if count_line and len(chosen) < len(ranked):
        chosen, tokens = fill_budget(ranked, room - count_line)
    keys = {candidate.key for candidate in chosen}
    return sorted(chosen, key=to_given_order), [candidate for candidate in ranked if candidate.key not in keys], tokens


def to_packing_order(candidate: PricedCandidate) -> tuple[Any, ...]:
    """Return by what candidates are packed: what is pinned first, then most value per token; unmerged branches last."""
    value = -candidate.value / candidate.cost**LENGTH_POWER
    return candidate.is_lowered, not candidate.is_first, value, candidate.order


def to_given_order(candidate: PricedCandidate) -> tuple[Any, ...]:
    """Return by what candidates stand in a text: pinned, then worth most; unmerged branches and the person's own last."""
    return candidate.is_of_person, candidate.is_lowered, not candidate.is_first, -candidate.value, candidate.order


def fill_budget(ranked: list[C], room: int) -> tuple[list[C], int]:
    """Return the candidates that fit, and their tokens.

    At last those worth more replace chosen ones where they are only as much longer as is left.
    """
    budget = Budget(room)
    chosen = [candidate for candidate in ranked if budget.take(candidate.cost, is_of_person=candidate.is_of_person)]
    keys = {candidate.key for candidate in chosen}
    left_out = [
        candidate
        for candidate in ranked
        if candidate.key not in keys and not candidate.is_of_person and not candidate.is_lowered
    ]
    left_out.sort(key=lambda candidate: -candidate.value)
    for other in left_out[:MOST_REPLACING]:
        replaceable = [
            (candidate.value, place)
            for place, candidate in enumerate(chosen)
            if other.cost - candidate.cost <= budget.left
            and candidate.value < other.value
            and not (candidate.is_first or candidate.is_of_person)
        ]
        if replaceable:
            place = min(replaceable)[1]
            budget.take(other.cost - chosen[place].cost)
            chosen[place] = other
    return chosen, room - budget.left


def count_fitting(count: int, format_text: Callable[[int], str], most: int = MOST_GIVEN_BYTES) -> int:
    """Return how many of so many facts, from the first, make a text of at most `most` bytes of UTF-8."""
    while count and len(format_text(count).encode("utf-8", "replace")) > most:
        count -= 1
    return count


def format_left_out(count: int) -> str:
    return f"(+{count} more: memory_search)"
