"""The order in which an agent is given facts, and how they are packed into a budget of tokens.

The context block and what is read without a bridge are made by these functions alone, so that they agree.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from hermes_memory_store.quick.branch_marks import HotPlace

LINE_TOKENS = 1
"""What the end of a line costs."""

BINDING = {kind: rank for rank, kind in enumerate("CDV?✓~")}
"""Rank of a fact's type, most binding first, as `FactType` lists them."""

HOT_FACTS = """
    SELECT f.id, f.type, f.pinned, f.updated_at, r.last_at, f.tokens, f.actor_id, f.origin_id
    FROM facts f LEFT JOIN reads r ON r.fact_id = f.id
    WHERE f.theme_id = ? AND f.tier = 'hot'
"""


def rank_facts(rows: Iterable[tuple[Any, ...]]) -> list[tuple[int, int]]:
    """Return (key, tokens) pairs of rows of `HOT_FACTS`: pinned, then most binding, then most recently used first."""
    ranked = sorted(rows, key=lambda row: (-row[2], BINDING[row[1]], -max(row[3], row[4] or 0), -row[0]))
    return [(row[0], row[5]) for row in ranked]


def pack_facts(ranked: list[tuple[int, int]], budget: int) -> tuple[list[int], int]:
    """Return the keys of the facts that fit into `budget` tokens, in order, and the tokens they take.

    A fact that is too long is skipped in favour of shorter ones after it.
    """
    chosen, spent = [], 0
    for key, cost in ranked:
        if spent + cost + LINE_TOKENS <= budget:
            chosen.append(key)
            spent += cost + LINE_TOKENS
    return chosen, spent


def lower_marked(ranked: list[tuple[int, int]], places: Mapping[int, HotPlace]) -> list[tuple[int, int]]:
    """Return (key, tokens) pairs with the costs of labels: lowered facts behind the others, without those held back."""
    if not places:
        return ranked
    first: list[tuple[int, int]] = []
    last: list[tuple[int, int]] = []
    for key, tokens in ranked:
        place = places.get(key)
        if place is None:
            first.append((key, tokens))
        elif not place.is_held:
            (last if place.is_lowered else first).append((key, tokens + place.tokens))
    return first + last
