"""Completion in a search line: find the filter name or value at the cursor and what may replace it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from hermes_memory_store.find.query_syntax import COOLERS, LISTS, READS, TIERS
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.language.tokenizer import fold_accents
from hermes_memory_store.model import FactType, Way

FILTERS = ("type", "tier", "scope", "target", "by", "from", "in", "branch", "host", "after", "before", "read", "cooled")
"""Names of filters, in the order they are offered."""

AGES = ("1h", "24h", "7d", "30d")
"""What is offered after `after:` and `before:`; a date may stand there as well."""

MAX_COMPLETIONS = 50
"""Values that are offered at once; typing on narrows them."""

_FILTER = re.compile(rf"({'|'.join(FILTERS)}):(.*)", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(r'[^\s",]+')

ValueSource = Callable[[str, str], Sequence[str]]
"""The values a filter may have: called with its name and how the value begins."""


@dataclass(frozen=True, slots=True)
class Completion:
    start: int
    """Where in the line it begins; it ends at the cursor."""
    texts: tuple[str, ...]
    """What may stand there, written as the line needs it."""

    @property
    def common_prefix(self) -> str:
        first, last = min(self.texts), max(self.texts)
        same = (place for place, (char, other) in enumerate(zip(first, last, strict=False)) if char != other)
        return first[: next(same, min(len(first), len(last)))]


def complete_query(line: str, cursor: int, source: ValueSource) -> Completion:
    """Return the completions at the cursor; none for search words."""
    start, value = last_word_and_value(line[:cursor])
    word = line[start:cursor]
    match = _FILTER.fullmatch(word)
    if match is None:
        if word.startswith(("-", '"')):
            return Completion(start, ())
        return Completion(start, tuple(f"{name}:" for name in FILTERS if name.startswith(word.lower())))
    name = match[1].lower()
    value = start + match.start(2) if name not in LISTS else max(value, start + match.start(2))
    prefix = line[value:cursor].replace('"', "")
    texts = tuple(dict.fromkeys(quote_value(text) for text in matching_values(prefix, source(name, prefix))))
    return Completion(value, texts[:MAX_COMPLETIONS])


def last_word_and_value(text: str) -> tuple[int, int]:
    """Return where the last word of a text starts, and where the last of its comma-separated values starts.

    Quotes are respected.
    """
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


def matching_values(prefix: str, values: Iterable[str]) -> list[str]:
    """Return the values that start with this text, then those that contain it."""
    start = fold_accents(prefix)
    folded = [(fold_accents(value), value) for value in values]
    first = [value for text, value in folded if text.startswith(start)]
    return first + [value for text, value in folded if start in text and not text.startswith(start)]


def quote_value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else '"' + value.replace('"', "") + '"'


def fixed_filter_values(name: str) -> Sequence[str]:
    match name:
        case "type":
            return [kind.word for kind in FactType]
        case "tier":
            return list(TIERS)
        case "from":
            return [way.value for way in Way]
        case "host":
            return list(find_hosts_with("client_names"))
        case "before" | "after":
            return AGES
        case "read":
            return list(READS)
        case "cooled":
            return list(COOLERS)
    return ()
