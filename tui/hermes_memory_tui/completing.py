"""Completion of a search line: which name or value the cursor is in, and what may stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hermes_memory_store.model import FactType
from hermes_memory_store.query import TIERS
from hermes_memory_store.words import fold

FILTERS = ("type", "tier", "scope", "target", "by", "after", "before")
"""Names of filters, in the order they are offered."""

AGES = ("1h", "24h", "7d", "30d")
"""What is offered after `after:` and `before:`; a date may stand there as well."""

MOST_OFFERED = 50
"""Values that are offered at once; typing on narrows them."""

_FILTER = re.compile(rf"({'|'.join(FILTERS)}):(.*)", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(r'[^\s",]+')

Known = Callable[[str, str], Sequence[str]]
"""The values a filter may have: called with its name and how the value begins."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What may stand at the cursor."""

    start: int
    """Where in the line it begins; it ends at the cursor."""
    texts: tuple[str, ...]
    """What may stand there, written as the line needs it."""

    @property
    def shared(self) -> str:
        """How all of them begin."""
        first, last = min(self.texts), max(self.texts)
        same = (place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other)
        return first[: next(same, min(len(first), len(last)))]


def offered(line: str, cursor: int, known: Known) -> Offer:
    """What may stand where the cursor is; nothing for words that are searched for."""
    start, value = piece_before(line[:cursor])
    said = line[start:cursor]
    found = _FILTER.fullmatch(said)
    if found is None:
        if said.startswith(("-", '"')):
            return Offer(start, ())
        return Offer(start, tuple(f"{name}:" for name in FILTERS if name.startswith(said.lower())))
    name = found[1].lower()
    value = start + found.start(2) if name not in ("type", "tier", "scope") else max(value, start + found.start(2))
    begun = line[value:cursor].replace('"', "")
    texts = tuple(dict.fromkeys(quoted(text) for text in fitting(begun, known(name, begun))))
    return Offer(value, texts[:MOST_OFFERED])


def piece_before(text: str) -> tuple[int, int]:
    """Where the last word of a text begins, and where the last of its comma-separated values does; quotes are minded."""
    start = value = 0
    inside = False
    for place, character in enumerate(text):
        if character == '"':
            inside = not inside
        elif not inside and character.isspace():
            start = value = place + 1
        elif not inside and character == ",":
            value = place + 1
    return start, value


def fitting(begun: str, values: Iterable[str]) -> list[str]:
    """The values that begin like this, then those that hold it."""
    wanted = fold(begun)
    folded = [(fold(value), value) for value in values]
    first = [value for text, value in folded if text.startswith(wanted)]
    return first + [value for text, value in folded if wanted in text and not text.startswith(wanted)]


def quoted(value: str) -> str:
    """A value as a line says it."""
    return value if _PLAIN.fullmatch(value) else '"' + value.replace('"', "") + '"'


def fixed(name: str) -> Sequence[str]:
    """The values of filters that are the same in every memory."""
    match name:
        case "type":
            return [kind.word for kind in FactType]
        case "tier":
            return list(TIERS)
        case "before" | "after":
            return AGES
    return ()
