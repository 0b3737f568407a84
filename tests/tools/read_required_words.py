"""Read the words that patterns require from the patterns: `python -m tests.tools.read_required_words`.

The `re` module parses a pattern; what it does not parse into something known here is simply not required.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from hermes_memory_store.intake.detectors.injection import INJECTION_RULES
from hermes_memory_store.intake.detectors.orders import ORDER_PATTERNS
from hermes_memory_store.intake.patterns import REQUIRED_WORDS
from hermes_memory_store.intake.scorer import SIGNALS
from hermes_memory_store.intake.secret_values import SECRET_PATTERNS

PATTERNS = {
    "orders": [pattern for _, pattern in ORDER_PATTERNS.sections["patterns"]],
    "signals": [pattern for _, pattern in SIGNALS.sections["patterns"]],
    "injections": [pattern for _, pattern in INJECTION_RULES.sections["patterns"]],
    "secrets": [pattern for _, _, pattern in SECRET_PATTERNS.sections["patterns"]],
    "cues": [SECRET_PATTERNS.pairs("context")["compound_cue"]],
}
"""The patterns of each group, in the order in which the checks have them."""

SHORTEST = 2
"""Characters of a word that is worth looking for."""

MOST_SETS = 3
"""Sets of words that are asked for: more seldom spare a text the pattern."""

Words = frozenset[str]
"""Alternatives: a match contains one of them."""


def find_required_words(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return sets of words in lower case, rarest first: a text that matches contains a word of each, in some case.

    :param pattern: with no flags of its own but to ignore case
    """
    parsed = re._parser.parse(pattern)  # type: ignore[attr-defined]  # typeshed leaves the parser out
    sets = [frozenset(map(str.lower, words)) for words in find_sequence_words(parsed)]
    found = sorted(sets, key=lambda words: (get_commonness(words), sorted(words)))
    return tuple(tuple(sorted(words, key=lambda word: (len(word), word))) for words in found[:MOST_SETS])


def find_sequence_words(tokens: Iterable[tuple[Any, Any]]) -> list[Words]:
    """Return the sets of words that a sequence of parsed tokens requires."""
    found: list[Words] = []
    run = ""
    for kind, value in tokens:
        if str(kind) == "LITERAL":
            run += chr(value)
            continue
        found += to_required_word(run)
        run = ""
        found += find_token_words(str(kind), value)
    return [*found, *to_required_word(run)]


def to_required_word(run: str) -> list[Words]:
    """Return what a run of characters requires: nothing for a single letter, which most texts have."""
    return [frozenset({run})] if len(run) >= SHORTEST or (run and not run.isalnum() and not run.isspace()) else []


def find_token_words(kind: str, value: Any) -> list[Words]:
    """Return the sets of words that one parsed token requires."""
    if kind == "SUBPATTERN":
        return find_sequence_words(value[3])
    if kind == "ATOMIC_GROUP":
        return find_sequence_words(value)
    if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return find_sequence_words(value[2]) if value[0] else []
    if kind == "BRANCH":
        each = [sorted(find_sequence_words(branch), key=get_commonness) for branch in value[1]]
        most = max(map(len, each)) if all(each) else 0
        return [frozenset().union(*(sets[min(place, len(sets) - 1)] for sets in each)) for place in range(most)]
    return []


def get_commonness(words: Words) -> float:
    """Return how often one of these words may be met in a text: short words are common."""
    return sum(8.0 ** -len(word) for word in words)


def format_required_words() -> str:
    """Return the text of the data file, a line for each pattern."""
    groups = [
        f'"{group}": [\n'
        + ",\n".join(json.dumps(find_required_words(one), ensure_ascii=False) for one in patterns)
        + "]"
        for group, patterns in PATTERNS.items()
    ]
    return "{" + ",\n".join(groups) + "}\n"


if __name__ == "__main__":
    REQUIRED_WORDS.write_text(format_required_words(), encoding="utf-8")
