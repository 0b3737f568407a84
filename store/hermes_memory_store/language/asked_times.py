"""Whether a question asks when, texts that say so, and the months and years that a question names, in four languages.

The words are in `asked_times.txt`.
"""

from __future__ import annotations

import re
import time
from functools import cache, lru_cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import fold_accents, split_runs

FILE = Path(__file__).with_name("asked_times.txt")

Month = tuple[int | None, int | None]
"""Year and month, either of them None when it is not said."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """The words, folded, by what they tell."""

    months: dict[str, int]
    times: frozenset[str]
    when: re.Pattern[str]


@cache
def load_time_words() -> TimeWords:
    sections = read_sections(FILE, {"months": 1, "times": 1, "when": 1})
    months = {name: number for number, (names,) in enumerate(sections["months"], 1) for name in names.split()}
    times = {fold_accents(word) for (words,) in sections["times"] for word in words.split()}
    when = re.compile("|".join(pattern for (pattern,) in sections["when"]))
    return TimeWords(months, frozenset(times | (months.keys() - {"may"})), when)


@lru_cache(maxsize=64)
def is_asking_when(question: str) -> bool:
    return load_time_words().when.search(fold_accents(question)) is not None


@lru_cache(maxsize=4096)
def has_time_expression(text: str) -> bool:
    """Check whether a text says when something was, is or will be: `yesterday`, `last week`, `in June`, `2023`."""
    times = load_time_words().times
    return any(
        word in times or (len(word) == 4 and word.isdecimal() and "1900" <= word <= "2100") for word in split_runs(text)
    )


@lru_cache(maxsize=64)
def find_months(text: str) -> frozenset[Month]:
    """Find the months (and years) a text names: `in May 2023` is May of that year, `in May` that of any year."""
    words, numbers = split_runs(text), load_time_words().months
    months = {numbers[word] for word in words if word in numbers and (word != "may" or "May" in text)}
    years = {int(word) for word in words if len(word) == 4 and word.isdecimal() and "1970" <= word <= "2100"}
    return frozenset((year, month) for year in years or [None] for month in months or [None] if year or month)


def is_within_months(at: int, months: frozenset[Month]) -> bool:
    """Check whether a moment, UTC milliseconds, is in one of these months."""
    moment = time.gmtime(at / 1000)
    return not months.isdisjoint(((moment.tm_year, moment.tm_mon), (None, moment.tm_mon), (moment.tm_year, None)))
