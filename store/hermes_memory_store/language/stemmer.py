"""Porter's stemmer (An algorithm for suffix stripping, 1980): `deployments` and `deployed` become `deploy`.

Written here instead of SQLite's `porter` tokenizer, because search must know in Python which words of a fact a
query matched, and how an unfinished word may end. The suffixes and irregular forms are in `english_forms.txt`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections

_C = "(?:[^aeiou][^aeiouy]*)"
_V = "(?:[aeiouy][aeiou]*)"
_MEASURE_1 = re.compile(rf"^{_C}?{_V}{_C}")
_MEASURE_ONE = re.compile(rf"^{_C}?{_V}{_C}{_V}?$")
_MEASURE_2 = re.compile(rf"^{_C}?{_V}{_C}{_V}{_C}")
_VOWEL = re.compile(rf"^{_C}?[aeiouy]")
_SHORT = re.compile(rf"^{_C}[aeiouy][^aeiouwxy]$")
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")

_FORMS = read_sections(
    Path(__file__).with_name("english_forms.txt"),
    dict.fromkeys(("step_2", "step_3", "step_4", "irregular"), 2) | {"endings": 1},
)
_SUFFIXES = {
    step: {suffix: shorter.strip("-") for shorter, suffixes in _FORMS[step] for suffix in suffixes.split()}
    for step in ("step_2", "step_3", "step_4")
}
_ENDS = {
    step: re.compile("(" + "|".join(sorted(suffixes, key=len, reverse=True)) + ")$")
    for step, suffixes in _SUFFIXES.items()
}

ENDINGS = tuple(ending for (endings,) in _FORMS["endings"] for ending in endings.split())
"""Endings the stemmer strips: a word that stops inside one of them may be on its way to a longer word of that stem."""

IRREGULAR = {form: word for word, forms in _FORMS["irregular"] for form in forms.split()}
"""English forms that no rule leads back to their word."""


@lru_cache(maxsize=1 << 15)
def stem_word(word: str) -> str:
    """Return the stem of a lower-case word; words that are not plain a to z are returned unchanged."""
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return word
    word = IRREGULAR.get(word, word)
    if len(word) < 3:
        return word
    initial_y = word[0] == "y"
    w = _plural("Y" + word[1:] if initial_y else word)
    w = _strip_past(w)
    # Only after a consonant, as Porter's second version has it: `deployed` must meet `deployment`.
    if len(w) > 2 and w[-1] == "y" and w[-2] not in "aeiouy":
        w = w[:-1] + "i"
    for step in ("step_2", "step_3"):
        if (end := _ENDS[step].search(w)) and _MEASURE_1.match(w[: end.start()]):
            w = w[: end.start()] + _SUFFIXES[step][end[1]]
    if end := _ENDS["step_4"].search(w):
        rest = w[: end.start()]
        if _MEASURE_2.match(rest) and (end[1] != "ion" or rest[-1] in "st"):
            w = rest
    if w[-1] == "e":
        rest = w[:-1]
        if _MEASURE_2.match(rest) or (_MEASURE_1.match(rest) and not _SHORT.match(rest)):
            w = rest
    if w.endswith("ll") and _MEASURE_2.match(w[:-1]):
        w = w[:-1]
    return w.lower()


def stem_completions(word: str) -> list[str]:
    """Return longer words that this one may begin and that are indexed under another stem.

    `deploymen` stops inside an ending of `deployment` and is longer than its stem, `wen` begins `went`, which is
    indexed as `go`.
    """
    if len(word) < 3 or not (word.isascii() and word.isalpha()):
        return []
    completions = [form for form in IRREGULAR if form.startswith(word)]
    if len(word) < 5:
        return completions
    for ending in ENDINGS:
        for typed in range(1, len(ending)):
            if word.endswith(ending[:typed]) and len(word) - typed >= 3:
                completions.append(word[:-typed] + ending)
    return completions


def _plural(w: str) -> str:
    if w.endswith(("sses", "ies")):
        return w[:-2]
    return w[:-1] if w.endswith("s") and not w.endswith("ss") else w


def _strip_past(w: str) -> str:
    if w.endswith("eed"):
        return w[:-1] if _MEASURE_1.match(w[:-3]) else w
    for end in ("ed", "ing"):
        rest = w[: -len(end)]
        if w.endswith(end) and _VOWEL.match(rest):
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if _DOUBLE.search(rest):
                return rest[:-1]
            return rest + "e" if _MEASURE_ONE.match(rest) and _SHORT.match(rest) else rest
    return w
