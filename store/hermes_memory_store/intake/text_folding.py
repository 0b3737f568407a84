"""Folding of disguised text: one alphabet, no hidden characters, spelled-out and encoded words decoded."""

from __future__ import annotations

import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import filterfalse

from hermes_memory_store.safe_text import lazy_pattern

LOOKALIKES = str.maketrans(
    "аеорсухіјѕһԁɡԛԝвкмнтοαερντικυχ",
    "aeopcyxijshdgqwbkmhtoaepvtikyx",
)
"""Cyrillic and Greek letters that look Latin."""

SMALL = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz")
"""Small capitals, which no normal form turns into letters."""

LEET_IN_WORD = lazy_pattern(r"[a-z][013457@$]|[013457@$][a-z]")

LEET = str.maketrans("013457@$", "oieastas")

HIDDEN = lazy_pattern(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
)

SEPARATORS = lazy_pattern(r"[-_.]+")

WORD = lazy_pattern(r"[^\W\d_]{2,}")

CAMEL_CASE = lazy_pattern("(?<=[a-z])(?=[A-Z])")

PHRASE_SEPARATORS = lazy_pattern("[-_/]+")

NAME_SEPARATORS = lazy_pattern(
    r"[-_/]+|\.+(?!(?:com|net|org|io|cc|dev|ai|app|sh|xyz|info|biz|tk|eu|de|uk|ru|cn|co|example|md|json|sh|toml|ya?ml|env)\b)"
)

SPELLED = lazy_pattern(r"\b(?:\w[ .\-_*]){4,}\w\b")
"""`i g n o r e`: single letters with something between."""

APART = lazy_pattern(r"[ .\-_*]\w[ .\-_*]\w[ .\-_*]")
"""What is in every spelled word, and found faster."""

LEET_SIGNS = lazy_pattern("[013457@$]")

CYRILLIC = lazy_pattern("[\u0400-\u04ff]")

ROTATED = ("vafgehpgvba", "cerivbhf", "flfgrz", "cnffjbeq", "vtaber", "ehyrf", "perqragvny", "frperg")
REVERSED_ATTACK_WORDS = ("noitcurtsni", "suoiverp", "metsys", "drowssap", "erongi", "selur", "laitnederc")
"""Words of which every such attack has one, turned: only then is the whole text turned back."""

SHORTEST_ENCODED = 24
ENCODED = lazy_pattern(rf"[A-Za-z0-9+/_-]{{{SHORTEST_ENCODED},}}={{0,2}}")
HEXADECIMAL = lazy_pattern(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}")
OCTETS = lazy_pattern(r"[0-9a-fA-F]{2}[ :]?" * 5)
"""What is in every hexadecimal text, and found faster."""
ESCAPES = lazy_pattern(
    r"(?:%[0-9a-fA-F]{2}){4,}|(?:\\u[0-9a-fA-F]{4}){3,}|(?:\\x[0-9a-fA-F]{2}){4,}|(?:&#\d{2,4};){4,}"
)


def fold_text(text: str, *, lookalikes: bool = True) -> str:
    """Fold all ways to write the same letters into one. :param lookalikes: read letters that look Latin as Latin"""
    if text.isascii():
        return collapse_whitespace(text.lower())
    apart = unicodedata.normalize("NFKD", HIDDEN.sub("", unicodedata.normalize("NFKC", text)).casefold())
    bare = "".join(filterfalse(unicodedata.combining, apart))
    folded = unicodedata.normalize("NFKC", bare).translate(SMALL)
    if not lookalikes:
        return collapse_whitespace(folded)
    return collapse_whitespace(folded.translate(LOOKALIKES) if re.search("[a-z]", folded) else folded)


def to_spaced_words(name: str) -> str:
    return SEPARATORS.sub(" ", name)


@lru_cache(maxsize=256)
def to_name_sentence(name: str) -> str:
    """Return a name as the sentence that it may be, its separators as spaces; empty for two words, too few for an order."""
    separators = PHRASE_SEPARATORS if " " in name else NAME_SEPARATORS
    sentence = separators.sub(" ", CAMEL_CASE.sub(" ", name))
    return sentence if len(WORD.findall(sentence)) > 2 or not sentence.isascii() else ""


def collapse_whitespace(text: str) -> str:
    # No other white space than a space can be printed.
    return text if "  " not in text and text.isprintable() else re.sub(r"\s+", " ", text)


@lru_cache(maxsize=64)
def find_readings(text: str) -> list[str]:
    """Return every possible reading of the text, the plain one first."""
    first = fold_text(text)
    readings = [first]
    if not text.isascii() and CYRILLIC.search(text):
        readings.append(fold_text(text, lookalikes=False))  # Russian beside an address in Latin letters
    if APART.search(first) and SPELLED.search(first):
        readings.append(SPELLED.sub(lambda match: re.sub(r"[ .\-_*]", "", match[0]), first))
    if LEET_SIGNS.search(first) and LEET_IN_WORD.search(first):
        readings.append(first.translate(LEET))
    readings += [fold_text(decoded) for decoded in find_decodings(text)]
    if has_hint(first, ROTATED):
        readings.append(codecs.encode(first, "rot13"))
    if has_hint(first, REVERSED_ATTACK_WORDS):
        readings.append(first[::-1])
    return readings


@lru_cache(maxsize=64)
def find_decodings(text: str) -> list[str]:
    decoded: list[str] = []
    is_long = max(map(len, text.split()), default=0) >= SHORTEST_ENCODED
    for match in ENCODED.finditer(text) if is_long else ():
        run = match[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            decoded.append(binascii.a2b_base64(run + "=" * (-len(run) % 4), strict_mode=True).decode())
        except ValueError:
            continue
    for match in HEXADECIMAL.finditer(text) if OCTETS.search(text) else ():
        try:
            decoded.append(bytes.fromhex(match[0].replace(":", " ")).decode())
        except ValueError:
            continue
    if ("%" in text or "\\" in text or "&" in text) and ESCAPES.search(text):
        import html
        from urllib.parse import unquote

        spelled = re.sub(r"\\u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})", lambda m: chr(int(m[1] or m[2], 16)), text)
        decoded.append(html.unescape(unquote(spelled)))
    return [text for text in decoded if text.isprintable()]


def has_hint(text: str, hints: Iterable[str]) -> bool:
    for hint in hints:  # noqa: SIM110 - a generator takes twice as long, and every write comes here
        if hint in text:
            return True
    return False
