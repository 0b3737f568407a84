"""Forms of a word in other languages than English: `серверов` and `серверы`, `Einstellungen` and `Einstellung`.

The index holds English stems, under which words of other languages stand nearly as they were written. Their forms are
therefore looked for in the vocabulary when a question is asked: the terms that share a root and differ by endings. So a
theme's languages can change at any time, without indexing anything anew, and a question in another language is understood
in any theme. Stemming each text on writing was measured: snowballstemmer takes 20 to 48 µs a word, more than the write.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

from hermes_memory_store.language.stop_words import STOP_WORDS
from hermes_memory_store.language.tokenizer import fold_accents

MAX_FORMS = 24
"""Forms of one word that are looked for."""

_ENDINGS = {
    "fr": """s e es x ee ees er ez ent ons ions ation ations ateur ateurs atrice ement ements ment ments eur eurs euse euses
        if ive ives al ale ales aux ant ante ants ir it is ique iques able ables ite ites ion ions ais ait aient era eront""",
    "de": """e en er ern em es s n st t et te ten ung ungen ungs heit heiten keit keiten lich liche lichen bar isch ische ischen
        end ende enden in innen nis nisse ieren iert ierte ierten ierung ierungen""",
    "es": """s es a o as os e ar er ir ado ada ados adas ido ida idos idas ando iendo amos emos an en on aron ieron acion aciones
        cion ciones ador adores adora amiento amientos imiento imientos mente able ables ible ibles ivo iva ivos ivas""",
    "ru": """а я о е и ы у ю ь ам ям ом ем еи ои ою ею ами ями ах ях ов ев ии ию иям иями иях ия ие ыи ая ое ые ого его ому ему
        ым им ыми ими ых их ую юю ть ти л ла ло ли ет ит ут ют ат ят ся сь ться тся лся лась лись ение ения ению ением ении
        ка ки ке ку кои ок н на но ны ныи ная ное ные ного ному ным ных нои ован ована ованы овать ание ания анием""",
    "ar": "ة ه ات ان ين ون ها هم نا ي ية يه ته تها تهم تنا تي تك ك كم",
}
"""What words of a language end in beside their root, folded as the index folds them."""

_PREFIXES = {"ar": ("", "ال", "وال", "بال", "لل", "و", "ب", "ل")}

SHORTEST_ROOT = {"ru": 3, "ar": 2}
"""Letters of a root at least; 4 in other languages."""

SHORTEST_PART = 4
"""Letters of each part of a compound at least."""

LANGUAGES = ("en", *_ENDINGS)
"""Languages whose word forms are known; those of English always."""

_SCRIPTS = {"ru": ("\u0400", "\u04ff"), "ar": ("\u0600", "\u06ff")}
"""Languages that a script stands for."""


@cache
def endings_of(language: str) -> frozenset[str]:
    """Return the endings of a language, and their beginnings, which are left where the index stripped an English ending."""
    endings = _ENDINGS[language].split()
    return frozenset(ending[:size] for ending in endings for size in range(len(ending) + 1))


@cache
def stop_forms_of() -> dict[str, frozenset[str]]:
    """Return the words of questions by language."""
    parts = zip(("en", "fr", "de", "es"), STOP_WORDS.split("\n\n"), strict=True)
    return {language: frozenset(fold_accents(words).split()) for language, words in parts}


def detect_languages(words: Sequence[str]) -> frozenset[str]:
    """Return the languages other than English in which a question seems to be asked. :param words: folded"""
    found = {
        language
        for language, (first, last) in _SCRIPTS.items()
        if any(first <= letter <= last for word in words for letter in word[:1])
    }
    shares = {language: sum(word in stops for word in words) for language, stops in stop_forms_of().items()}
    most = max(shares.values())
    if most > shares["en"]:
        found |= {language for language, share in shares.items() if share == most}
    return frozenset(found)


def find_forms(word: str, languages: Collection[str], walk: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the terms of an index that are other forms of a folded word.

    :param walk: returns the terms that begin with some characters
    """
    found: dict[str, None] = {}
    for language in languages:
        if language not in _ENDINGS or not word.isalpha() or not is_written_so(word, language):
            continue
        endings, root = endings_of(language), find_root(word, language)
        if root is None:
            continue
        for prefix in _PREFIXES.get(language, ("",)):
            beginning = prefix + root
            found |= dict.fromkeys(term for term in walk(beginning) if term[len(beginning) :] in endings)
    return list(found)[:MAX_FORMS]


def is_written_so(word: str, language: str) -> bool:
    """Check whether a word is in the script of a language."""
    first, last = _SCRIPTS.get(language, ("a", "\u024f"))
    return first <= word[0] <= last


def find_root(word: str, language: str) -> str | None:
    """Return a word without the longest ending, and without what is written before it; None for one too short to say."""
    least = SHORTEST_ROOT.get(language, 4)
    for prefix in sorted(_PREFIXES.get(language, ()), key=len, reverse=True):
        if prefix and word.startswith(prefix) and len(word) - len(prefix) >= least:
            word = word[len(prefix) :]
            break
    if len(word) < least:
        return None
    whole = frozenset(_ENDINGS[language].split())
    return next((word[:at] for at in range(least, len(word)) if word[at:] in whole), word)


def split_compound(word: str) -> list[tuple[str, str]]:
    """Return the ways to split a folded German compound, without what joins the parts: `schema` and `anderung`."""
    if not word.isalpha() or not is_written_so(word, "de"):
        return []
    found = []
    for at in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        found.append((word[:at], word[at:]))
        if word[at - 1] in "sn" and at > SHORTEST_PART:
            found.append((word[: at - 1], word[at:]))
    return found
