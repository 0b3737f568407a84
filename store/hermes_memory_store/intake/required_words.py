"""Words without which a pattern cannot match: most facts lack one that each pattern needs, and a word is found fast.

They stand as data in `required_words.json`, which `python -m tests.tools.read_required_words`
reads from the patterns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hermes_memory_store.safe_text import load_pattern

REQUIRED_WORDS = Path(__file__).with_name("required_words.json")

HEAD = 3
"""Letters by which a word is looked up."""


class WordIndex:
    """Find which of many words are in a text: only those are looked for whose first letters are."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_head: dict[tuple[str, ...], list[str]] = {}
        for word in words:
            self._by_head.setdefault(tuple(word[:HEAD]), []).append(word)
        self._heads = frozenset(self._by_head)
        self._sizes = {len(head) for head in self._heads}

    def find(self, text: str) -> set[str]:
        """Return the words that occur in a text."""
        rests = [text[at:] for at in range(HEAD)]
        return {
            word
            for size in self._sizes
            for head in self._heads.intersection(zip(*rests[:size], strict=False))
            for word in self._by_head[head]
            if word in text
        }


class SparedPatterns:
    """Patterns of which a text is matched against those alone whose required words it has; these are compiled then."""

    def __init__(self, patterns: Sequence[str], group: str) -> None:
        """:param group: their name in `required_words.json`"""
        self._patterns = patterns
        self._required: list[list[list[str]]] = load_required_words()[group]
        self._always = frozenset(place for place, required in enumerate(self._required) if not required)
        self._by_word: dict[str, set[int]] = {}
        for place, required in enumerate(self._required):
            for word in required[0] if required else ():
                self._by_word.setdefault(word, set()).add(place)
        self._index = WordIndex(self._by_word)

    def find_matching(self, text: str) -> Iterator[int]:
        """Yield the places of the patterns that match a text, in their order."""
        likely = self._always.union(*(self._by_word[word] for word in self._index.find(text)))
        for place in sorted(likely):
            has_all = all(any(word in text for word in words) for words in self._required[place][1:])
            if has_all and load_pattern(self._patterns[place]).search(text):
                yield place


@cache
def load_required_words() -> dict[str, Any]:
    """Return by group, for each pattern, sets of words, rarest first: a match holds one of each."""
    document: dict[str, Any] = json.loads(REQUIRED_WORDS.read_text(encoding="utf-8"))
    return document
