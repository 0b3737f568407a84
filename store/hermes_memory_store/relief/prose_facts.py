"""Prose as facts: an entry of MEMORY.md that nobody wrote in notation leaves the file whole, under a readable target.

Its words stay as they are; only a type and a target are added. What is more than one sentence of text on one line
(code, lists, sections) is no fact and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store import errors
from hermes_memory_store.language.stop_words import stop_forms
from hermes_memory_store.model import FactType, Notation, format_notation
from hermes_memory_store.notation import memory_spec

NEGATION = re.compile(
    r"(?i)\b(?:nvr|never|jamais|not|no|cannot|without|nie|niemals|nicht|kein\w*|ohne|nunca|sin|sans)\b|n['’]t\b"
)
"""A text with fewer of these says something else."""

OBLIGATION = re.compile(
    r"(?i)\b(?:must|always|only|shall|required?|mandatory|forbidden|immer|nur|muss|müssen|toujours|seulement|doit|siempre"
    r"|solo|debe)\b"
)
"""Words that bind: with one of these, or a negation, prose is a constraint."""

LABEL = re.compile(r"([^\W\d_][\w '-]{1,30}):\s")
"""A label at the beginning, `Checkout form: …`, which names what the entry is about."""

WORD = re.compile(r"[^\W_][\w-]*[^\W_]")

TARGET_WORDS = 2
"""Words of the text in a target that no label names."""

FEWEST_WORDS = 4
"""With fewer words, a text says nothing that could be found again."""


def find_prose_facts(entry: str, limit: int) -> Iterator[Notation]:
    """Yield the entry as a fact, under one target after another, until the caller finds a free one.

    :param limit: characters that a fact may have in its theme
    """
    text = entry.strip()
    if "\n" in text or "```" in text or len(WORD.findall(text)) < FEWEST_WORDS:
        return
    kind = FactType.CONSTRAINT if is_binding(text) else FactType.VALUE
    name = choose_prose_target(text)
    for number in range(1, 10):
        target = name if number == 1 else f"{name}.{number}"
        try:
            yield memory_spec.parse_notation(format_notation(kind, target, text), limit=limit)
        except errors.InputError:
            return


def is_binding(text: str) -> bool:
    """Check whether prose forbids or demands something, rather than saying what holds."""
    return bool(NEGATION.search(text) or OBLIGATION.search(text))


def choose_prose_target(text: str) -> str:
    """Return a target that says what a text is about: its label, else its first words of substance."""
    label = LABEL.match(text)
    words = [word.casefold() for word in WORD.findall(label[1] if label else text)]
    telling = [word for word in words if word not in stop_forms() and (len(word) > 2 or word.isdigit())] or words
    return ".".join(telling[:TARGET_WORDS] if label is None else telling[: TARGET_WORDS + 1])
