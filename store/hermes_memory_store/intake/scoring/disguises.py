"""Disguises: texts written in a code that no fact needs. The way of writing is the reason to wait, whatever it says."""

from __future__ import annotations

import re

from hermes_memory_store.intake.text_folding import find_decodings

LEAST_WORDS = 3
"""Words that a decoded text must have: fewer come about by chance, or are a name."""

PLAIN_TEXT = re.compile(rf"[^\W\d_]+(?:[ ,.;:'/-]+[\w.:/@~-]+){{{LEAST_WORDS - 1},}}[.!]?")

SPELLED_OUT = re.compile(r"(?<!\S)(?:[^\W\d_][ .\-_*]){9,}[^\W\d_](?!\S)")
"""Ten single letters in a row."""

MORSE = re.compile(r"(?:[.-]{1,5} ){6,}[.-]{1,5}(?: |$)|(?:[.-]{1,5} (?:/ )?){12,}")

PIG_LATIN = re.compile(r"(?:\b[^\W\d_]+ay\b\W*){4,}")

ROTATED_WORDS = frozenset(
    "gur naq jvgu sebz guvf rirel nyy lbh orsber jvgubhg vagb gb bs bs grv abg".split()  # noqa: SIM905
) | frozenset("vavg vafgehpgvbaf fraq cnl ehyrf erirny frpergf cnffjbeqf hfre flfgrz nccebinyf".split())  # noqa: SIM905
REVERSED_WORDS = frozenset(
    "eht dna htiw morf siht yreve uoy erofeb tuohtiw otni dnes yap selur laever sterces drowssap resu metsys era".split()  # noqa: SIM905
)
"""Common words in rot13 and turned: two of them are no chance."""


def is_disguised(content: str) -> bool:
    """Check whether a content is a sentence in base64, hexadecimal, Morse, rot13, turned, spelled out or in pig Latin."""
    # A text without what each of these codes is made of is not searched for it: most have none of it.
    if SPELLED_OUT.search(content) or (content.count("ay") > 3 and PIG_LATIN.search(content)):
        return True
    if content.count(". ") + content.count("- ") > 5 and MORSE.search(content):
        return True
    words = [word.strip(".,:;!") for word in content.casefold().split()]
    for known in (ROTATED_WORDS, REVERSED_WORDS):
        if not known.isdisjoint(words) and sum(word in known for word in words) >= 2:
            return True
    return any(PLAIN_TEXT.fullmatch(" ".join(text.split())) for text in find_decodings(content))
