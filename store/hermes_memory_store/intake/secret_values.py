"""Classification of words and names: secret value, reference, placeholder, name, digest or technical term."""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import Enum
from pathlib import Path

from hermes_memory_store.intake.patterns import DataFile, NamedPatterns
from hermes_memory_store.intake.spans import TextSpan

SECRET_PATTERNS = DataFile(
    Path(__file__).with_name("secret_patterns.txt"),
    hints=0,
    words=0,
    values=2,
    context=2,
    patterns=3,
    formats=2,
    beside=3,
    translations=2,
)

VALUES = NamedPatterns(SECRET_PATTERNS, "values")

QUOTE_GROUPS = ("escaped", "double", "single", "tick", "french", "german", "curly")
OPENING, CLOSING = "([{<\"'`«„“‘「『", ".,;:?)]}>\"'`»”’」』"
BRACKETS = {")": "(", "]": "[", "}": "{"}

SHORTEST_PASSWORD = 6
SHORTEST_RANDOM = 8
SURELY_RANDOM = 16
"""Characters from which on two kinds of characters, one of them digits, are random."""

LONGEST_PASSPHRASE = 200


class SecretKind(Enum):
    """The kind of secret announced, which determines what the value must look like."""

    PASSWORD = "password"  # noqa: S105 - a person may have chosen it
    KEY = "key"  # drawn by lot
    LOGIN = "login"  # there is one somewhere near


def find_secret_kind(name: str) -> SecretKind | None:
    """Return the kind of secret announced by a variable, field or target; None for no secret."""
    words = [word.lower() for word in VALUES.name_word.findall(name)]
    while len(words) > 1 and (words[-1] in SECRET_PATTERNS.words["words", "tail"] or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if (
        last in SECRET_PATTERNS.words["words", "password"]
        or (before and last in SECRET_PATTERNS.words["words", "short-password"])
        or words[-3:] == ["mot", "de", "passe"]
    ):
        return SecretKind.PASSWORD
    if last in SECRET_PATTERNS.words["words", "key"] or (
        last == "key" and before and before not in SECRET_PATTERNS.words["words", "no-secret-key"]
    ):
        return SecretKind.KEY
    return None


def is_secret_reference(value: str) -> bool:
    """Check whether a value is a reference to a secret or a placeholder, or repeats one character."""
    return bool(
        not value.strip("-_.*…‹›•·xX")
        or VALUES.reference.fullmatch(value)
        or VALUES.placeholder.fullmatch(value)
        or VALUES.repeated.search(value)
    )


def is_ordinary_value(value: str) -> bool:
    """Check whether a value is a technical term, a measure, a path, an address, a file or a date."""
    return bool(VALUES.trade.fullmatch(value) or VALUES.place.fullmatch(value))


def is_chosen_name(value: str) -> bool:
    """Check whether a value reads like a name that a person chose: words, numbers and versions separated by signs."""
    return all(VALUES.part.fullmatch(part) for part in re.split(r"[-_./:@#?&=,+|]", value))


def is_random_value(value: str) -> bool:
    """Check whether a value looks random: three of lower case, upper case, digits and signs; or two, and long."""
    if (
        len(value) < SHORTEST_RANDOM
        or " " in value
        or is_secret_reference(value)
        or is_ordinary_value(value)
        or VALUES.uuid.fullmatch(value)
        or is_chosen_name(value)
    ):
        return False
    kinds = count_character_kinds(value)
    return kinds >= 3 or (len(value) >= SURELY_RANDOM and kinds >= 2 and bool(re.search(r"\d", value)))


def is_random_or_uuid(value: str) -> bool:
    """Check whether a value looks random, or is a UUID, where a key may be one."""
    return is_random_value(value) or VALUES.uuid.fullmatch(value) is not None


def is_strong_secret(value: str) -> bool:
    """Check whether a value can hardly be anything but a key: it has all kinds of characters, or three and is long."""
    value = value.strip("*~")
    if not is_random_value(value) or VALUES.unlike_word.search(value):
        return False
    kinds = count_character_kinds(value)
    return kinds == 4 or (kinds == 3 and len(value) >= 20)


def is_strong_password(value: str) -> bool:
    """Check whether a value can hardly be anything but a password where one is mentioned: three kinds, one a sign."""
    bare = value.strip("*~")
    return is_strong_secret(value) or (
        is_random_value(bare) and VALUES.signs.search(bare) is not None and not VALUES.unlike_word.search(bare)
    )


def is_password(value: str) -> bool:
    """Check whether a value looks like a chosen password: a letter with a digit or a sign, six characters or more."""
    if is_random_value(value):
        return True
    if (
        len(value) < SHORTEST_PASSWORD
        or is_secret_reference(value)
        or is_ordinary_value(value)
        or VALUES.uuid.fullmatch(value)
    ):
        return False
    return bool(re.search(r"[^\W\d_]", value)) and bool(
        re.search(r"\d", value) or VALUES.signs.search(value.rstrip("!?"))
    )


def is_likely_password(value: str) -> bool:
    """Check whether a value looks like a password that a person chose: `Falcon42`, `harbor-2931!`.

    Letters with digits, and among them a capital, a sign or three digits; no ticket, host, version or term of the trade.
    """
    return bool(
        VALUES.chosen.search(value)
        and not VALUES.code_word.search(value)
        and not VALUES.ticket.fullmatch(value)
        and re.search(r"\d", value)
        and is_password(value)
    )


def is_stated_secret(value: str) -> bool:
    return bool(value.strip()) and not is_secret_reference(value) and not is_ordinary_value(value)


def is_passphrase(value: str) -> bool:
    """Check whether a value is a phrase of four to ten lower-case words, none of them a function word of a sentence."""
    if len(value) > LONGEST_PASSPHRASE:
        return False
    words = re.split(r"[\s._-]+", value)
    return (
        4 <= len(words) <= 10
        and all(re.fullmatch(r"[a-zäöüßàâçéèêëîïôûùñáíóú]{3,12}", word) for word in words)
        and SECRET_PATTERNS.words["words", "sentence"].isdisjoint(words)
    )


def is_word_password(value: str) -> bool:
    """Check whether a value is a row of words, none of them of a sentence or of what announces a secret."""
    return (
        VALUES.word_row.fullmatch(value) is not None
        and is_stated_secret(value)
        and SECRET_PATTERNS.words["words", "sentence"].isdisjoint(value.lower().split())
    )


def is_phrase_candidate(word: str) -> bool:
    return not VALUES.unlike_word.search(word) and (is_likely_password(word) or is_random_value(word))


def is_example_token(token: str) -> bool:
    """Check whether a token is only an example of a format: `ghp_xxxxxxxx`, `sk-ant-your-key-here`."""
    return VALUES.shown.search(token) is not None or is_chosen_name(re.sub(r"^[A-Za-z]{2,8}[-_]", "", token))


def count_character_kinds(value: str) -> int:
    return sum(bool(kind.search(value)) for kind in (VALUES.lower, VALUES.upper, VALUES.digit, VALUES.other))


def get_entropy(text: str) -> float:
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def find_value_span(match: re.Match[str]) -> TextSpan | None:
    """Return the span of the value, without its quotes and final punctuation."""
    for group in QUOTE_GROUPS:
        if match[group] is not None:
            start, end = match.span(group)
            while match.string[start:end].endswith(("\\n", "\\")):
                end -= 2 if match.string[start:end].endswith("\\n") else 1
            return TextSpan(start, end) if end > start else None
    return trim_value_span(match.string, *match.span("bare"))


def trim_value_span(text: str, start: int, end: int) -> TextSpan | None:
    """Trim the quotes, brackets and final punctuation around a bare word; None for a reference."""
    if text[start:end].endswith("...") or is_secret_reference(text[start:end].rstrip(".,;:!?")):
        return None
    while start < end and text[start] in OPENING:
        start += 1
    while start < end and text[end - 1] in CLOSING:
        if text[end - 1] in BRACKETS and text.count(BRACKETS[text[end - 1]], start, end):
            break
        end -= 1
    return TextSpan(start, end) if end > start else None


def trim_phrase_value(text: str, start: int, end: int) -> TextSpan:
    """Leave out the punctuation after a word, but for a `!` after a digit: that ends a password as often as a sentence."""
    end = start + len(text[start:end].rstrip(".,;:!?") or text[start:end])
    return TextSpan(start, end + 1 if text[end : end + 1] == "!" and text[end - 1].isdigit() else end)
