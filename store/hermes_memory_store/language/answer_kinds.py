"""What kind of thing a question asks for, and texts that hold one, in English, French, German and Spanish.

A time, an amount, a person or a place; of times also the months and years that a question names. The words are in
`answer_kinds.txt`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import Rows, read_sections
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import fold_accents, split_runs

FILE = Path(__file__).with_name("answer_kinds.txt")

NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][a-z]+")

Month = tuple[int | None, int | None]
"""Year and month, either of them None when it is not said."""


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """The words, by what they tell."""

    asks: dict[str, re.Pattern[str]]
    holds: dict[str, re.Pattern[str]]
    months: dict[str, int]
    times: frozenset[str]


@cache
def load_answer_words() -> AnswerWords:
    sections = read_sections(FILE, {"months": 1, "times": 1, "asks": 2, "holds": 2})
    months = {name: number for number, (names,) in enumerate(sections["months"], 1) for name in names.split()}
    times = {fold_accents(word) for (words,) in sections["times"] for word in words.split()}
    return AnswerWords(
        compile_by_kind(sections["asks"]),
        compile_by_kind(sections["holds"]),
        months,
        frozenset(times | (months.keys() - {"may"})),
    )


def compile_by_kind(rows: Rows) -> dict[str, re.Pattern[str]]:
    kinds = dict.fromkeys(kind for kind, _ in rows)
    return {kind: re.compile("|".join(pattern for other, pattern in rows if other == kind)) for kind in kinds}


def find_answer_tests(question: str) -> list[tuple[str, Callable[[str], bool]]]:
    """Return for each kind that a question asks for whether a text holds one: `time`, `amount`, `person`, `place`."""
    words, folded = load_answer_words(), fold_accents(question)
    names = frozenset(NAME.findall(question))

    def to_test(kind: str) -> Callable[[str], bool]:
        if kind == "time":
            return has_time_expression
        pattern = words.holds[kind]
        if kind == "person":
            return lambda text: not names.issuperset(NAME.findall(text)) or bool(pattern.search(fold_accents(text)))
        return lambda text: pattern.search(fold_accents(text)) is not None

    return [(kind, to_test(kind)) for kind, asks in words.asks.items() if asks.search(folded)]


def has_time_expression(text: str) -> bool:
    """Check whether a text says when something was, is or will be: `yesterday`, `last week`, `in June`, `2023`."""
    times = load_answer_words().times
    return any(
        word in times or (len(word) == 4 and word.isdecimal() and "1900" <= word <= "2100") for word in split_runs(text)
    )


def find_months(text: str) -> frozenset[Month]:
    """Find the months (and years) a text names: `in May 2023` is May of that year, `in May` that of any year."""
    words, numbers = split_runs(text), load_answer_words().months
    months = {numbers[word] for word in words if word in numbers and (word != "may" or "May" in text)}
    years = {int(word) for word in words if len(word) == 4 and word.isdecimal() and "1970" <= word <= "2100"}
    return frozenset((year, month) for year in years or [None] for month in months or [None] if year or month)


def is_within_months(at: int, months: frozenset[Month]) -> bool:
    """Check whether a moment, UTC milliseconds, is in one of these months."""
    moment = time.gmtime(at / 1000)
    return not months.isdisjoint(((moment.tm_year, moment.tm_mon), (None, moment.tm_mon), (moment.tm_year, None)))
