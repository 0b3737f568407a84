"""Estimate tokens from the most frequent of cl100k's: a word that is none of them takes the pieces they leave of it.

With fewer tokens to merge, a word falls into more pieces, never into fewer: their number is a bound. Long words cost less
than that, since the whole vocabulary knows larger pieces of them (see `COST`).
`token_pieces.bin` is made by `python -m tests.tools.make_token_pieces`: the tokens by rank, of those in other scripts all.
"""

from __future__ import annotations

import re
import zlib
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

FILE = Path(__file__).with_name("token_pieces.bin")

SEPARATOR = b"\xff"
"""Stands between the tokens of the file; no token of the vocabulary that is kept there holds it."""

PIECE = re.compile(
    r"'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\w]?[^\W\d_]+|_[^\W\d_]+|\d{1,3}| ?(?:[^\s\w]|_)+[\r\n]*"
    r"|\s+$|\s*[\r\n]|\s+(?!\S)|\s"
)
"""How cl100k splits a text before it looks for tokens."""

COST = {2: 1.6, 3: 2.4, 4: 3.2, 5: 4.1, 6: 5.0}
"""Tokens of a long word of so many pieces. Chosen on every second text of the corpora beside the tests, judged on the
others and on the documents: see `tests/store/test_token_count.py`."""

LONG_WORD = 5
"""Letters from which the whole vocabulary may know larger pieces of a word than are known here."""

UNSPOKEN = re.compile(r"[b-df-hj-np-tv-xz]{4,}|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""What no word holds: an abbreviation, a key, a joined name. Of these no larger pieces are known to anybody."""

LONGEST = 200
"""Bytes that are merged at once: the time grows with their square."""

NEVER = 1 << 30
"""The rank of a pair that is no token."""


@lru_cache(maxsize=1 << 16)
def estimate_piece_tokens(piece: str) -> float:
    """Estimate the tokens of one piece of a text; cached, since texts share most of theirs."""
    encoded = piece.encode(errors="replace")
    count = sum(count_merged_parts(encoded[at : at + LONGEST]) for at in range(0, len(encoded), LONGEST))
    word = piece.strip()
    if len(word) < LONG_WORD or not (word.isascii() and word.isalpha()) or UNSPOKEN.search(word):
        return count
    return COST.get(count, count)


def count_merged_parts(text: bytes) -> int:
    """Count the parts that a text falls into: neighbours are merged, the most frequent pair first."""
    ranks = load_ranks()
    if text in ranks:
        return 1
    parts = [text[at : at + 1] for at in range(len(text))]
    pairs = [ranks.get(left + other, NEVER) for left, other in pairwise(parts)]
    while pairs and (best := min(pairs)) < NEVER:
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del pairs[at]
        for near in range(max(at - 1, 0), min(at + 1, len(pairs))):
            pairs[near] = ranks.get(parts[near] + parts[near + 1], NEVER)
    return len(parts)


@cache
def load_ranks() -> dict[bytes, int]:
    return {token: rank for rank, token in enumerate(zlib.decompress(FILE.read_bytes()).split(SEPARATOR))}
