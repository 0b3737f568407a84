"""Draw a text that a regular expression matches."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable
from typing import Any

PRINTED = [character for character in string.printable if character.isprintable()]
"""What a class of characters is drawn from."""

LEAST_MORE = 3
"""Repetitions above the least number."""


def draw_match(pattern: str, source: random.Random) -> str:
    """Draw a text that matches, but for what stands around it: assertions are left out."""
    return "".join(draw_part(part, source) for part in re._parser.parse(pattern))  # type: ignore[attr-defined]


def draw_parts(parts: Iterable[Any], source: random.Random) -> str:
    """Draw the parts of a sequence."""
    return "".join(draw_part(part, source) for part in parts)


def draw_part(part: Any, source: random.Random) -> str:
    """Draw one part, as the standard library's parser gives it."""
    operation, value = str(part[0]), part[1]
    if operation == "LITERAL":
        return chr(value)
    if operation in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        count = source.randint(least, min(int(most), least + LEAST_MORE))
        return "".join(draw_parts(inner, source) for _ in range(count))
    if operation == "IN":
        return source.choice([one for one in PRINTED if is_in(value, one)])
    if operation == "SUBPATTERN":
        return draw_parts(value[-1], source)
    if operation == "BRANCH":
        return draw_parts(source.choice(value[1]), source)
    if operation == "ANY":
        return "."  # most often it stands for itself
    if operation in ("AT", "ASSERT", "ASSERT_NOT"):
        return ""
    raise NotImplementedError(operation)


def is_in(choices: Any, character: str) -> bool:
    """Check whether a class has a character."""
    negated, found = False, False
    for operation, value in choices:
        kind = str(operation)
        negated = negated or kind == "NEGATE"
        if kind == "LITERAL":
            found = found or chr(value) == character
        elif kind == "RANGE":
            found = found or value[0] <= ord(character) <= value[1]
        elif kind == "CATEGORY":
            escape = {"WORD": r"\w", "DIGIT": r"\d", "SPACE": r"\s", "NOT_SPACE": r"\S"}[
                str(value).removeprefix("CATEGORY_")
            ]
            found = found or re.fullmatch(escape, character) is not None
    return found is not negated
