"""Questions in scripts without spaces: drop question words, split the rest into overlapping character pairs.

The index holds such text as pairs (see `tokenizer.py`). A question shares some pairs with the fact that answers it
and never all, so each pair is a word of its own. Korean has spaces, but its particles are attached to the nouns;
it is treated alike.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_store.frozen import dataclass
from hermes_memory_store.language.tokenizer import is_unspaced

MAX_PAIRS = 96
"""Pairs of one query that are looked up: people often come to the point at the end."""

FILE = Path(__file__).with_name("unspaced_scripts.txt")

_WORD_SIZE = r"[\u30a1-\u30ff]+|[\uac00-\ud7ff]{1,5}|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,6}|..?"
"""About one word: all of a name in Katakana, a Korean run, some signs of the scripts of South-East Asia, else two characters."""


@dataclass(frozen=True, slots=True)
class UnspacedWords:
    question_words: re.Pattern[str]
    """Words that ask, and endings of verbs that make a question."""
    particles: tuple[str, ...]
    """Particles of one character. After a noun, one stands for any other of its group."""
    korean_particles: tuple[str, ...]
    """The longest first."""
    stop_runs: frozenset[str]
    """Runs that say nothing by themselves, as they stand beside words of other scripts: `DB를`, `APIの`, `用 Redis 的`."""


@cache
def load_unspaced_words() -> UnspacedWords:
    sections = read_sections(FILE, dict.fromkeys(("question_words", "particles", "korean_particles", "stop_runs"), 1))
    rows = {name: [row for (row,) in rows] for name, rows in sections.items()}
    return UnspacedWords(
        re.compile("|".join(rows["question_words"])),
        tuple(rows["particles"]),
        tuple(sorted(" ".join(rows["korean_particles"]).split(), key=len, reverse=True)),
        frozenset(" ".join(rows["stop_runs"]).split()),
    )


def estimate_word_count(run: str) -> int:
    """Estimate the number of words in a run of `tokenizer.split_runs`."""
    return len(re.findall(_WORD_SIZE, run)) if is_unspaced(run) else 1


def without_particle(run: str) -> str:
    """Strip the particle from a Korean noun, where two characters are left; return other runs unchanged."""
    if "\uac00" <= run[:1] <= "\ud7ff":
        for ending in load_unspaced_words().korean_particles:
            if run.endswith(ending) and len(run) - len(ending) >= 2:
                return run[: -len(ending)]
    return run


def particle_variants(pair: str) -> list[str]:
    """Return the forms of a noun of one character with other particles: `키는` gives `키`, `키가` and `키를`."""
    group = next((group for group in load_unspaced_words().particles if len(pair) == 2 and pair[1] in group), "")
    return [pair[0], *(pair[0] + other for other in group if other != pair[1])] if group else []


def join_query_words(here: str, there: str) -> str:
    """Join two query words as they stand side by side in a text."""
    if not is_unspaced(here) or not is_unspaced(there):
        return f"{here} {there}"
    return here + there[1:] if here[-1] == there[0] else here + there
