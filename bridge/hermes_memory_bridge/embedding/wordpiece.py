"""WordPiece tokenization for BERT's uncased models: text to token ids.

Implemented here because it is sixty lines, and the library that has it depends on a client of a model hub. A
benchmark compares it with that library's output.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

LONGEST_WORD = 100
"""Characters of a word that is taken apart; a longer one is unknown as a whole, as the models were trained."""

MOST_CHARS = 8_000
"""Characters of a text that are looked at: far more than fit into a model's `length` pieces."""

CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
"""Ideographs: each is a word of its own."""


class WordPieceTokenizer:
    """A tokenizer with a vocabulary file of one token a line."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self._number = {piece: number for number, piece in enumerate(lines)}
        self._first, self._last = self._number["[CLS]"], self._number["[SEP]"]
        self._unknown = self._number["[UNK]"]
        self._pieces = lru_cache(maxsize=20_000)(self._split_word)

    def token_ids(self, text: str, length: int) -> list[int]:
        """Return the token ids of a text, at most `length`, including the start and end tokens."""
        numbers: list[int] = []
        for word in split_wordpiece_words(text[:MOST_CHARS]):
            numbers += self._pieces(word)
            if len(numbers) >= length - 2:
                break
        return [self._first, *numbers[: length - 2], self._last]

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Split a word into the longest known prefix, then the longest known continuation, and so on."""
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        numbers: list[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            mark = "##" if start else ""
            while end > start and mark + word[start:end] not in self._number:
                end -= 1
            if end == start:
                return (self._unknown,)
            numbers.append(self._number[mark + word[start:end]])
            start = end
        return tuple(numbers)


def split_wordpiece_words(text: str) -> Iterator[str]:
    """Split into words in lower case and without accents; each punctuation mark and each ideograph by itself."""
    word: list[str] = []
    for char in unicodedata.normalize("NFD", normalize_wordpiece_text(text).lower()):
        kind = unicodedata.category(char)
        if kind == "Mn":
            continue
        if char.isspace():
            if word:
                yield "".join(word)
                word = []
        elif is_wordpiece_punctuation(char, kind):
            if word:
                yield "".join(word)
                word = []
            yield char
        else:
            word.append(char)
    if word:
        yield "".join(word)


def normalize_wordpiece_text(text: str) -> str:
    """Remove control characters, turn every blank into a space, and put spaces around ideographs."""
    characters: list[str] = []
    for char in text:
        if char in "\t\n\r":
            characters.append(" ")
        elif char < "\x7f":
            characters.append(char if char >= " " else "")
        elif any(low <= ord(char) <= high for low, high in CJK):
            characters += (" ", char, " ")
        elif char == "\ufffd" or unicodedata.category(char).startswith("C"):
            continue
        else:
            characters.append(" " if unicodedata.category(char) == "Zs" else char)
    return "".join(characters)


def is_wordpiece_punctuation(char: str, kind: str) -> bool:
    """Check for punctuation: all ASCII that is neither letter nor digit, and what Unicode calls punctuation."""
    return kind.startswith("P") or (char < "\x7f" and not char.isalnum())
