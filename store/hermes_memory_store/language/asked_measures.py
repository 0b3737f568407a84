"""Whether a text can answer a question for a measure: a number, a size, a price. The patterns are in `asked_measures.txt`."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import fold_accents

FILE = Path(__file__).with_name("asked_measures.txt")
KINDS = ("price", "size", "phone", "number")
LONGEST = 160
"""Characters of a question that asks for one thing; a longer message may speak of several."""


@dataclass(frozen=True, slots=True)
class AskedMeasure:
    """What a question asks for."""

    answer: re.Pattern[str]
    counted: str | None
    """The word for what it asks the number or the version of, folded."""

    def can_be_told_by(self, target: str, content: str) -> bool:
        return self.answer.search(fold_accents(f"{target}: {content}")) is not None


@cache
def load_measures() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Return the patterns of questions for each kind of measure, and of its answers."""
    rows = read_sections(FILE, {name: 1 for kind in KINDS for name in (f"asks_{kind}", kind)})
    patterns = {name: re.compile("|".join(pattern for (pattern,) in section)) for name, section in rows.items()}
    return [(patterns[f"asks_{kind}"], patterns[kind]) for kind in KINDS]


@lru_cache(maxsize=64)
def find_asked_measure(question: str) -> AskedMeasure | None:
    """Return what measure a question asks for; None for any other question, and for a longer message."""
    folded = fold_accents(question) if len(question) <= LONGEST else ""
    for asks, answer in load_measures():
        if match := asks.search(folded):
            return AskedMeasure(answer, next(filter(None, match.groups()), None))
    return None
