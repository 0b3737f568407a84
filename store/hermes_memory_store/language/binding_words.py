"""Binding words: does prose forbid or oblige? The words of each language are in `binding_words.txt`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections

FILE = Path(__file__).with_name("binding_words.txt")


@cache
def load_binding_words() -> dict[str, re.Pattern[str]]:
    rows = read_sections(FILE, {"negation": 1, "obligation": 1})
    return {name: re.compile("|".join(pattern for (pattern,) in rows[name])) for name in rows}


def is_binding(text: str) -> bool:
    """Check whether prose forbids or demands something, rather than saying what holds."""
    folded = fold_case(text)
    return any(pattern.search(folded) for pattern in load_binding_words().values())


def count_negations(text: str) -> int:
    return len(load_binding_words()["negation"].findall(fold_case(text)))


def fold_case(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
