"""Binding words: does prose forbid or oblige, or give something its one value? The words are in `binding_words.txt`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

from hermes_memory_store.data_files import FRAGMENTS, read_sections

FILE = Path(__file__).with_name("binding_words.txt")


@cache
def load_binding_words() -> dict[str, re.Pattern[str]]:
    rows = read_sections(FILE, {"negation": 1, "obligation": 1, "rejection": 1, "one_value": 1})
    return {name: re.compile("|".join(pattern for (pattern,) in rows[name])) for name in rows if name != FRAGMENTS}


def is_binding(text: str) -> bool:
    """Check whether prose forbids or demands something, rather than saying what holds."""
    words, folded = load_binding_words(), fold_case(text)
    return any(words[name].search(folded) for name in ("negation", "obligation"))


def is_rejecting(text: str) -> bool:
    """Check whether prose forbids something, or says that it was given up."""
    words, folded = load_binding_words(), fold_case(text)
    return any(words[name].search(folded) for name in ("negation", "rejection"))


@lru_cache(maxsize=1 << 12)
def count_negations(text: str) -> int:
    return len(load_binding_words()["negation"].findall(fold_case(text)))


def find_single_name(text: str) -> str | None:
    """Return the name that an entry gives its only value: `timezone` of "Time zone: Europe/Paris"."""
    match = load_binding_words()["one_value"].match(fold_case(text))
    return match and match[1].replace(" ", "")


def fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
