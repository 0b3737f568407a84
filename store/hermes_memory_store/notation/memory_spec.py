"""MEMORY_SPEC notation: `TYPE[target]: content`, one fact a line."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from hermes_memory_store import errors, safe_text
from hermes_memory_store.fact_types import TYPE_SYMBOLS
from hermes_memory_store.model import FactType, Notation

LIMIT = 400
"""Characters of content, where the theme's policy does not say otherwise (hermes-memory 0.3.0)."""

MAX_TARGET = 128
"""Characters of a target."""

MAX_LINE = 100_000
"""Characters that are looked at at all: whatever is longer is refused before any other work."""

EXPECTED = "expected form: TYPE[target]: content  (e.g. C[db.id]: UUID mndtry)"


@cache
def line_pattern() -> re.Pattern[str]:
    """Return the pattern of a line of notation, compiled with the first that is read."""
    return re.compile(rf"\s*([{TYPE_SYMBOLS}])\s*\[([^\[\]]*)\]\s*:(.*)", re.DOTALL)


SYMBOLS = {kind.value: kind for kind in FactType}


def parse_notation(line: str, *, limit: int = LIMIT) -> Notation:
    """Parse one line of notation. Runs of white space become single spaces; nothing else is changed or cut.

    :param limit: characters of content allowed
    :raises NotationError: the line is not of the expected form
    :raises ContentTooLong: gives the length and the limit
    :raises UnsafeText: names the character
    """
    notation = _parse_line(line)
    refuse_long_content(notation.content, limit)
    return notation


def find_target(line: str) -> str | None:
    """Return the target of a notation as it will be stored, whatever else is wrong with it; None for what is no notation."""
    match = line_pattern().match(safe_text.remove_unsafe_characters(line))
    return None if match is None else match[2].strip()


def refuse_long_content(content: str, limit: int) -> None:
    """Check the length of a content. :raises ContentTooLong: gives the length and the limit"""
    if len(content) > limit:
        raise errors.ContentTooLong(
            f"the content has {len(content)} characters, the limit is {limit}; shorten it, or write it with split",
            content,
        )


def split_notation(line: str | Notation, limit: int = LIMIT) -> list[Notation]:
    """Split a notation into parts whose contents fit: `V[notes]` becomes `V[notes.1]`, `V[notes.2]` …

    Nothing is lost.

    :raises NotationError: as `parse_notation`, and when the target leaves no room for the numbers
    """
    return split_parsed_notation(_parse_line(str(line)), limit)


def split_parsed_notation(notation: Notation, limit: int = LIMIT) -> list[Notation]:
    """Split a parsed notation as `split_notation` does. :raises NotationError: the target leaves no room for the numbers"""
    if len(notation.content) <= limit:
        return [notation]
    parts = split_content(notation.content, limit)
    room = MAX_TARGET - len(f".{len(parts)}")
    if len(notation.target) > room:
        raise errors.NotationError(
            f"the target has {len(notation.target)} characters; in {len(parts)} numbered parts it may have {room}",
            notation.target,
        )
    return [Notation(notation.type, f"{notation.target}.{number}", part) for number, part in enumerate(parts, 1)]


def split_content(content: str, limit: int = LIMIT) -> list[str]:
    """Split a content into pieces that fit, between words where possible. Nothing is lost."""
    parts = [""]
    for word in content.split(" "):
        for piece in (word[start : start + limit] for start in range(0, len(word), limit)):
            if parts[-1] and len(parts[-1]) + 1 + len(piece) > limit:
                parts.append(piece)
            else:
                parts[-1] = f"{parts[-1]} {piece}" if parts[-1] else piece
    return parts


@lru_cache(maxsize=1)  # who looks at a line before it is written parses it first
def _parse_line(line: str) -> Notation:
    if len(line) > MAX_LINE:
        raise errors.ContentTooLong(f"the line has {len(line)} characters; a fact is one short sentence", line[:200])
    match = line_pattern().fullmatch(safe_text.validate_text(line, "the fact"))
    if match is None:
        raise errors.NotationError(f"not a fact: {errors.shorten_value(line)!r}; {EXPECTED}", line)
    symbol, target, content = match[1], " ".join(match[2].split()), " ".join(match[3].split())
    if not target:
        raise errors.NotationError(f"the target is empty in {errors.shorten_value(line)!r}; {EXPECTED}", line)
    if len(target) > MAX_TARGET:
        raise errors.NotationError(f"the target has {len(target)} characters, the limit is {MAX_TARGET}", target)
    if not content:
        raise errors.NotationError(f"the content is empty in {errors.shorten_value(line)!r}; {EXPECTED}", line)
    return Notation(SYMBOLS[symbol], target, content)
