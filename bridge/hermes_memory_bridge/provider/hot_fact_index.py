"""An index of hot-tier facts, matched by words in microseconds: recall for hooks without asking the bridge.

The bridge searches better and searches everything, but takes milliseconds that a hook does not have. The index is
fetched anew after each turn.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections import defaultdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

WORD = re.compile(r"[^\W_]+")
CJK_CHARACTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Chinese, Japanese and Korean, which are written without spaces between words."""

SHORTEST = 3
STEM = 6
"""Words count as the same when their beginnings are; crude, and enough to bring a fact to mind."""

COMMON_WORD_SHARE = 0.3
"""A word that more facts than this part of them have tells nothing, once there are a few."""
FEW_FACTS = 10

FACTS_PER_SLICE = 10
"""Facts that are taken in before other threads may run: a hook must not wait for the interpreter."""

MOST_WORDS = 200
"""Words of a message that are looked at."""


class HotFactIndex:
    """An index of some facts. Immutable, so threads may share it."""

    def __init__(self, facts: Iterable[str] = ()) -> None:
        self.facts = list(facts)
        self._with: dict[str, list[int]] = defaultdict(list)
        for number, fact in enumerate(self.facts):
            for stem in to_stems(fact):
                self._with[stem].append(number)
            if number % FACTS_PER_SLICE == FACTS_PER_SLICE - 1:
                time.sleep(0)

    def find_matches(self, message: str, limit: int, is_wanted: Callable[[str], bool] | None = None) -> list[str]:
        """Return the wanted facts that share significant words with a message, best first."""
        scores: dict[int, float] = defaultdict(float)
        count = len(self.facts)
        for stem in list(to_stems(message))[:MOST_WORDS]:
            numbers = self._with.get(stem, ())
            if not numbers or (count > FEW_FACTS and len(numbers) > count * COMMON_WORD_SHARE):
                continue
            for number in numbers:
                scores[number] += math.log(1 + count / len(numbers))
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return list(itertools.islice(filter(is_wanted, (self.facts[number] for number in best)), limit))


def to_stems(text: str) -> dict[str, None]:
    """Return the significant words of a text as stems, each once, in order."""
    stems: dict[str, None] = {}
    for word in WORD.findall(text[:20_000].casefold()):
        if CJK_CHARACTER.search(word):
            stems.update((word[n : n + 2], None) for n in range(max(1, len(word) - 1)))
        elif len(word) >= SHORTEST or word.isdigit():
            stems[word[:STEM]] = None
    return stems
