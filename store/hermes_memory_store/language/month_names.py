"""Month names: the months and years a question names, in English, French, German and Spanish."""

from __future__ import annotations

import time
from typing import Protocol

from hermes_memory_store.language.tokenizer import fold_accents, split_runs

_NAMES = """
    january janvier januar jaenner enero jan
    february fevrier februar febrero feb
    march mars maerz marz marzo
    april avril abril apr
    may mai mayo
    june juin juni junio jun
    july juillet juli julio jul
    august aout agosto aug
    september septembre septiembre sept sep
    october octobre oktober octubre oct okt
    november novembre noviembre nov
    december decembre dezember diciembre dec dez
"""

MONTHS = {
    name: number for number, line in enumerate(fold_accents(_NAMES).strip().splitlines(), 1) for name in line.split()
}

Month = tuple[int | None, int | None]
"""Year and month, either of them None when it is not said."""


class HasCreationTime(Protocol):
    """Something with a time of writing."""

    created_at: int


def find_months(text: str) -> frozenset[Month]:
    """Find the months (and years) a text names: `in May 2023` is May of that year, `in May` that of any year."""
    words = split_runs(text)
    months = {MONTHS[word] for word in words if word in MONTHS and (word != "may" or "May" in text)}
    years = {int(word) for word in words if len(word) == 4 and word.isdecimal() and "1970" <= word <= "2100"}
    said_years: list[int | None] = [*years] or [None]
    said_months: list[int | None] = [*months] or [None]
    return frozenset((year, month) for year in said_years for month in said_months if year or month)


def is_written_in(one: HasCreationTime, named: frozenset[Month]) -> bool:
    """Check whether it was written in one of these months."""
    moment = time.gmtime(one.created_at / 1000)
    return (moment.tm_year, moment.tm_mon) in named or (None, moment.tm_mon) in named or (moment.tm_year, None) in named
