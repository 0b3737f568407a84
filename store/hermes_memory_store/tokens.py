"""Tokens: what a text costs an agent, estimated without a tokenizer."""

from __future__ import annotations

import re

PIECES = re.compile(r"[A-Za-z]+|[0-9]+|[^\x00-\x7f]|[^\sA-Za-z0-9]")

LETTERS_A_TOKEN = 5
"""Letters of one token inside a word, on the safe side of cl100k's mean for English prose and abbreviations."""

DIGITS_A_TOKEN = 3
"""cl100k splits numbers into groups of at most three digits."""


def estimate(text: str) -> int:
    """Estimated tokens of a text: words by their length, numbers by groups of three, every other sign one."""
    total = 0
    for piece in PIECES.findall(text):
        size = len(piece)
        if size == 1:
            total += 1
        elif piece[0] <= "9":
            total += -(-size // DIGITS_A_TOKEN)
        else:
            total += 1 if size <= 6 else 1 + (size - 2) // LETTERS_A_TOKEN
    return total
