"""Natural order of names: `q2` before `q10`, whatever the case."""

from __future__ import annotations

import re

from hermes_memory_store.language.tokenizer import fold_accents

NUMBERS = re.compile(r"[0-9]+")


def natural_order(text: str) -> str:
    """Return a key that orders `q2` before `q10`, whatever the case: each number with its length before it."""
    return NUMBERS.sub(lengthen_number, fold_accents(text))


def lengthen_number(found: re.Match[str]) -> str:
    """Return a number so that shorter ones come first."""
    digits = found[0].lstrip("0") or "0"
    return f"{len(digits):04}{digits}"
