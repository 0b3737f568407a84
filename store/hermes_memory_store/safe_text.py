"""Validation of text to store, and escaping of text to show: no character that hides, reorders or controls."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Any

from hermes_memory_store import errors

BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that reorder what a person sees (Unicode TR9; the 'Trojan Source' characters)."""

TAGS = "".join(map(chr, range(0xE0000, 0xE0080)))

INVISIBLE = frozenset(
    "\u00ad\u115f\u1160\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u2065\u206a\u206b\u206c\u206d\u206e\u206f\u3164\ufeff\uffa0\ufff9\ufffa\ufffb"
).union(TAGS)
"""Characters without a shape, among them the tags that can hide whole sentences. Joiners stay: scripts and emoji need them."""

BREAKS = frozenset("\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
"""White space that ends lines or columns: folded into one space, never refused."""

SELECTORS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"
"""One variation selector chooses a shape; several in a row choose nothing and can spell a hidden message."""

UNSAFE_CATEGORIES = frozenset({"Cc", "Cs", "Co"})
"""Unassigned ones (Cn) are not among them: they are next year's emoji, and differ between versions of Python."""

JOINERS = "\u200c\u200d"
"""Joiners shape the letters of some scripts and join emoji into one; anywhere else they only hide."""

SHAPED = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u18af\u1900-\u1aaf\u1b00-\u1bff\ua840-\ua87f"
    "\ua8e0-\uaaff\uabc0-\uabff\ufb50-\ufdcf\ufe70-\ufefc\U00010a00-\U00010fff\U00011000-\U00011fff\U0001e900-\U0001e95f"
)
"""Scripts whose letters joiners shape: Arabic, Syriac, N'Ko, those of India, Tibetan, Burmese, Khmer, Mongolian and their kin."""

EMOJI = "\u00a9\u00ae\u203c\u2049\u2100-\u214f\u2190-\u2bff\u3030\u303d\u3297\u3299\ufe0f\U0001f000-\U0001faff"

STRAY_JOINER = f"(?<![{SHAPED}{EMOJI}])[{JOINERS}]|(?<=[{EMOJI}])(?:\u200c|\u200d(?![{EMOJI}]))"

SHAPELESS = f"{''.join(sorted((BIDI | INVISIBLE).difference(TAGS)))}{TAGS[0]}-{TAGS[-1]}"

HIDING = f"[{SHAPELESS}]|{STRAY_JOINER}|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{{2,}}"
"""What hides or reorders, wherever it stands."""

MAY_HIDE = f"[{SHAPELESS}{JOINERS}\ufe00-\ufe0f\U000e0100-\U000e01ef]"
"""What is in all that hides."""

HARMLESS = "\\A\ufeff|(?<=[^\\W\\d_])\u00ad(?=[^\\W\\d_])"
"""What copied text brings along: the mark at the beginning of a file, and hyphens within words that are shown at line ends."""

DIRECTION_MARKS = "[\u061c\u200e\u200f]"

RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"


@cache
def load_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern, compiled when it is first needed: ASCII needs none of these."""
    return re.compile(pattern, flags)


class LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(load_pattern(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a `LazyPattern`, to be used as a compiled one."""
    return LazyPattern(pattern, flags)  # type: ignore[return-value]  # it hands on whatever a compiled one has


def validate_text(text: str, what: str) -> str:
    """Return the text in composed form (NFC), if it holds no character that a person could not recognise.

    :param what: the subject of the error, such as "the content"
    :raises UnsafeText: names the first such character and its position
    """
    if text.isascii() and text.isprintable():
        return text
    problem = None
    unsafe = next((place for place, character in enumerate(text) if is_unsafe_character(character)), None)
    if unsafe is not None:
        problem = f"{format_character(text[unsafe])} at character {unsafe + 1}; remove it"
    elif joiner := load_pattern(STRAY_JOINER).search(text):
        where = f"at character {joiner.start() + 1}, where it joins nothing"
        problem = f"{format_character(joiner[0])} {where}; remove it"
    elif hidden := load_pattern(SELECTORS).search(text):
        problem = f"variation selectors in a row at character {hidden.start() + 1}; remove them"
    if problem is not None:
        raise errors.UnsafeText(f"{what} holds {problem} and write again", text)
    return unicodedata.normalize("NFC", text)


def has_hidden_characters(text: str) -> bool:
    """Check whether a captured message holds characters that a person cannot see and that no writing needs."""
    if not may_hide(text) or load_pattern(HIDING).search(text) is None:
        return False
    shown = load_pattern(HARMLESS).sub("", text)
    if load_pattern(RIGHT_TO_LEFT).search(shown) is not None:
        shown = load_pattern(DIRECTION_MARKS).sub("", shown)
    return load_pattern(HIDING).search(shown) is not None


def may_hide(text: str) -> bool:
    """Check quickly whether there may be characters that `HIDING` finds."""
    return not text.isascii() and load_pattern(MAY_HIDE).search(text) is not None


def has_unsafe_characters(text: str) -> bool:
    """Check whether `validate_text` would refuse a text."""
    return remove_unsafe_characters(text) != text


def find_hidden_places(text: str) -> set[int]:
    return {place for hidden in load_pattern(HIDING).finditer(text) for place in range(*hidden.span())}


def remove_unsafe_characters(text: str) -> str:
    """Return a text without the characters for which `validate_text` refuses it."""
    if text.isascii() and text.isprintable():
        return text
    text = "".join(character for character in text if not is_unsafe_character(character))
    return load_pattern(SELECTORS).sub("", load_pattern(STRAY_JOINER).sub("", text))


def is_unsafe_character(character: str) -> bool:
    """Check whether a character hides, reorders or controls, or will never be one, as Unicode guarantees."""
    if character in BREAKS:
        return False
    code = ord(character)
    return (
        character in BIDI
        or character in INVISIBLE
        or code & 0xFFFE == 0xFFFE
        or 0xFDD0 <= code <= 0xFDEF
        or 0xFFF0 <= code <= 0xFFF8
        or (not character.isprintable() and unicodedata.category(character) in UNSAFE_CATEGORIES)
    )


def format_character(character: str) -> str:
    """Format a character as its code and name: `U+202E RIGHT-TO-LEFT OVERRIDE`."""
    fallback = "a lone surrogate" if "\ud800" <= character <= "\udfff" else "a control character"
    return f"U+{ord(character):04X} {unicodedata.name(character, fallback)}"


def to_printable(text: str) -> str:
    """Make any text safe for a terminal: unsafe characters, joiners of nothing and line ends become visible escapes."""
    if text.isprintable() and text.isascii():
        return text
    hiding = [SELECTORS] if text.isprintable() else [SELECTORS, STRAY_JOINER]  # joiners are not printable
    for pattern in hiding:
        text = load_pattern(pattern).sub(lambda match: "".join(map(escape_character, match[0])), text)
    return "".join(
        escape_character(character) if is_unsafe_character(character) or character in BREAKS else character
        for character in text
    )


def escape_character(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def pluralise(number: int, noun: str, many: str | None = None) -> str:
    """Format a number with its noun: `1 fact`, `3 facts`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
