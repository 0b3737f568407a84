"""Porter's stemmer (An algorithm for suffix stripping, 1980): `deployments` and `deployed` become `deploy`.

Written here instead of SQLite's `porter` tokenizer, because search must know in Python which words of a fact a
query matched, and how an unfinished word may end. Only plain a to z words are stemmed; words with digits or other
letters stay as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

_C = "(?:[^aeiou][^aeiouy]*)"
_V = "(?:[aeiouy][aeiou]*)"
_MEASURE_1 = re.compile(rf"^{_C}?{_V}{_C}")
_MEASURE_ONE = re.compile(rf"^{_C}?{_V}{_C}{_V}?$")
_MEASURE_2 = re.compile(rf"^{_C}?{_V}{_C}{_V}{_C}")
_VOWEL = re.compile(rf"^{_C}?[aeiouy]")
_SHORT = re.compile(rf"^{_C}[aeiouy][^aeiouwxy]$")
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip
_ENDS_2 = re.compile("(" + "|".join(sorted(_STEP_2, key=len, reverse=True)) + ")$")
_ENDS_3 = re.compile("(" + "|".join(sorted(_STEP_3, key=len, reverse=True)) + ")$")
_ENDS_4 = re.compile("(" + "|".join(sorted(_STEP_4, key=len, reverse=True)) + ")$")

ENDINGS = (
    "s", "es", "ed", "ing", "ings", "er", "ers", "ly", "ment", "ments", "ement", "ness", "ation", "ations",
    "ication", "ization", "ational", "ion", "ions", "ional", "ity", "ities", "ility", "able", "ible", "ably",
    "ance", "ence", "ant", "ent", "ful", "ous", "ive", "ize", "izer", "ized", "izing", "ism", "ist", "ate", "ated",
    "ating", "ator", "al", "ally", "ical", "ically",
)  # fmt: skip
"""Endings the stemmer strips: a word that stops inside one of them may be on its way to a longer word of that stem."""


IRREGULAR = {
    form: word
    for word, forms in {
        "be": "been", "become": "became", "begin": "began begun", "bite": "bit bitten", "blow": "blew blown",
        "break": "broke broken", "bring": "brought", "build": "built", "buy": "bought", "catch": "caught",
        "child": "children", "choose": "chose chosen", "come": "came", "deal": "dealt", "dig": "dug",
        "draw": "drew drawn", "drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten",
        "fall": "fell fallen", "feed": "fed", "feel": "felt", "fight": "fought", "find": "found",
        "fly": "flew flown", "foot": "feet", "forget": "forgot forgotten", "forgive": "forgave forgiven",
        "freeze": "froze frozen", "get": "got gotten", "give": "gave given", "go": "went gone",
        "grow": "grew grown", "hang": "hung", "hear": "heard", "hide": "hid hidden", "hold": "held",
        "keep": "kept", "know": "knew known", "lead": "led", "leave": "left", "lend": "lent", "lose": "lost",
        "make": "made", "man": "men", "mean": "meant", "meet": "met", "mouse": "mice", "overcome": "overcame",
        "pay": "paid", "person": "people", "ride": "rode ridden", "ring": "rang rung", "rise": "rose risen",
        "run": "ran", "say": "said", "see": "saw seen", "seek": "sought", "sell": "sold", "send": "sent",
        "shake": "shook shaken", "shoot": "shot", "show": "shown", "sing": "sang sung", "sink": "sank sunk",
        "sit": "sat", "sleep": "slept", "speak": "spoke spoken", "spend": "spent", "stand": "stood",
        "steal": "stole stolen", "stick": "stuck", "strike": "struck", "swim": "swam swum", "take": "took taken",
        "teach": "taught", "tell": "told", "think": "thought", "throw": "threw thrown", "tooth": "teeth",
        "understand": "understood", "wake": "woke woken", "wear": "wore worn", "win": "won", "woman": "women",
        "write": "wrote written",
    }.items()
    for form in forms.split()
}  # fmt: skip
"""English forms that no rule leads back to their word: who asks for `buy` also means `bought`."""


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
    if (end := _ENDS_2.search(w)) and _MEASURE_1.match(w[: end.start()]):
        w = w[: end.start()] + _STEP_2[end[1]]
    if (end := _ENDS_3.search(w)) and _MEASURE_1.match(w[: end.start()]):
        w = w[: end.start()] + _STEP_3[end[1]]
    if end := _ENDS_4.search(w):
        rest = w[: end.start()]
        if _MEASURE_2.match(rest) and (end[1] != "ion" or rest[-1] in "st"):
            w = rest
    if w[-1] == "e":
        rest = w[:-1]
        if _MEASURE_2.match(rest) or (_MEASURE_1.match(rest) and not _ends_short(rest)):
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
    found = [form for form in IRREGULAR if form.startswith(word)]
    if len(word) < 5:
        return found
    for ending in ENDINGS:
        for typed in range(1, len(ending)):
            if word.endswith(ending[:typed]) and len(word) - typed >= 3:
                found.append(word[:-typed] + ending)
    return found


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
            return rest + "e" if _MEASURE_ONE.match(rest) and _ends_short(rest) else rest
    return w


def _ends_short(w: str) -> bool:
    return bool(_SHORT.match(w))
