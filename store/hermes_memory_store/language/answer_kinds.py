"""What kind of thing a question asks for, and texts that hold one, in English, French, German and Spanish.

An amount, a person or a place; `time_words.py` knows times.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hermes_memory_store.language.tokenizer import fold_accents

_ASKS = {
    "amount": r"\bhow (?:many|much|long|old|often|far)\b|\bcombien\b|\bwie ?(?:viele?|lange|alt|oft|weit)\b|\bcuant[oa]s?\b",
    "person": r"\bwho(?:se|m)?\b|\bqui\b|\bwe(?:r|m|n|ssen)\b|\bquien(?:es)?\b",
    "place": r"\bwhere\b|\b(?:what|which) (?:city|country|place|state|town|region)\b|\bou\b|\bwo(?:her|hin)?\b|\bdonde\b",
}

_AMOUNT = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|several|many|couple|dozen|few"
    r"|deux|trois|quatre|cinq|sept|huit|neuf|dix|plusieurs|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|mehrere"
    r"|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|varios)\b"
)
_KIN = re.compile(
    r"\b(?:friends?|mother|father|mom|dad|sister|brother|family|wife|husband|son|daughter|kids|grand\w+|colleagues?|team"
    r"|ami[es]?|mere|pere|soeur|frere|famille|equipe|freund\w*|mutter|vater|schwester|bruder|familie|kollege\w*"
    r"|amig[oa]s?|madre|padre|herman[oa]s?|familia|equipo)\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|from|to|near|on|by|a|au|dans|chez|depuis|pres de|nach|aus|bei|im|am|en|desde|cerca de)\s+"
    r"(?:the |her |his |their |my |le |la |les |un |une |dem |der |den |einem |el |los )?[^\W\d_]{2,}"
)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][a-z]+")


def find_answer_tests(question: str) -> list[tuple[str, Callable[[str], bool]]]:
    """Return for each kind that a question asks for whether a text holds one."""
    folded = fold_accents(question)
    asked = [kind for kind, asks in _ASKS.items() if re.search(asks, folded)]
    named = frozenset(_NAME.findall(question))
    tests: dict[str, Callable[[str], bool]] = {
        "amount": lambda text: _AMOUNT.search(fold_accents(text)) is not None,
        "person": lambda text: not named.issuperset(_NAME.findall(text)) or _KIN.search(fold_accents(text)) is not None,
        "place": lambda text: _PLACE.search(fold_accents(text)) is not None,
    }
    return [(kind, tests[kind]) for kind in asked]
