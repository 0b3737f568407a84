"""Instructions in disguise: does a text read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.patterns import DataFile, NamedPatterns, WordIndex, has_hint
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.intake.text_folding import find_readings, to_spaced_words
from hermes_memory_store.model import Suspicion

INJECTION_RULES = DataFile(
    Path(__file__).with_name("injection_rules.txt"), rules=2, patterns=2, hints=0, companions=0, permissions=2
)

PERMISSIONS = NamedPatterns(INJECTION_RULES, "permissions")
"""`target`: targets that say what an agent may do; `raised`: content that raises it to more."""

PROMPT_TARGETS = ("system.prompt", "system_prompt")

NEW_SELF = re.compile(r"you (are|must|will)\b")


@dataclass(frozen=True, slots=True)
class InjectionRule:
    reason: Suspicion
    pattern: str
    hints: frozenset[str]
    """Without any of these there is no match: what spares most facts the pattern."""
    companions: frozenset[str]
    """Words of which a match holds one, too, if there are any."""


class InjectionDetector(Detector):
    rank = 10
    reads = frozenset(TextKind) - {TextKind.RULED, TextKind.GIVEN_NAME}

    def find(self, passage: Passage) -> Iterator[Finding]:
        """Yield what the rules find; of a target that is about the reader, also what it makes of it."""
        if passage.kind is TextKind.NAME:
            yield from find_in_text(passage, to_spaced_words(passage.content))
            return
        yield from find_in_text(passage, passage.content)
        if passage.kind is TextKind.TURN:
            return
        yield from find_promotion(passage)
        if passage.kind is TextKind.UPGRADE:
            yield from find_in_text(passage, to_spaced_words(passage.target))

    def explain(self, rule: str) -> str | None:
        return INJECTION_RULES.pairs("rules").get(rule)


DETECTOR = InjectionDetector()


@cache
def load_injection_rules() -> tuple[InjectionRule, ...]:
    patterns = INJECTION_RULES.sections["patterns"]
    return tuple(
        InjectionRule(
            Suspicion(name, meaning),
            "|".join(f"(?:{pattern})" for rule, pattern in patterns if rule == name),
            INJECTION_RULES.words["hints", name],
            INJECTION_RULES.words["companions", name],
        )
        for name, meaning in INJECTION_RULES.pairs("rules").items()
    )


@cache
def load_rule_hints() -> tuple[WordIndex, dict[str, frozenset[int]]]:
    rules = load_injection_rules()
    hints = {hint for rule in rules for hint in rule.hints}
    return WordIndex(hints), {
        hint: frozenset(place for place, rule in enumerate(rules) if hint in rule.hints) for hint in hints
    }


@cache
def load_rule_pattern(place: int) -> re.Pattern[str]:
    return re.compile(load_injection_rules()[place].pattern)


def find_hinted_rules(text: str) -> list[int]:
    index, places = load_rule_hints()
    hints = index.find(text)
    if not hints:
        return []
    rules = load_injection_rules()
    return [
        place
        for place in sorted(frozenset().union(*(places[hint] for hint in hints)))
        if not rules[place].companions or has_hint(text, rules[place].companions)
    ]


def find_in_text(passage: Passage, text: str) -> Iterator[Finding]:
    """Yield what the rules find in a text of the passage, which is its content or another form of a name."""
    for reading in find_readings(text):
        for place in find_hinted_rules(reading):
            match = load_rule_pattern(place).search(reading)
            if match:
                yield Finding(passage.locate(reading, match.span()), load_injection_rules()[place].reason)


def find_promotion(passage: Passage) -> Iterator[Finding]:
    """Yield what a content makes of the reader, under a target by which an agent is told what it is and may do."""
    target, content, rule = passage.target.casefold(), passage.content.casefold(), None
    if target in PROMPT_TARGETS:
        rule = "persona" if NEW_SELF.match(content) else None
    elif PERMISSIONS.target.fullmatch(target):
        rule = "privilege" if PERMISSIONS.raised.search(content) else None
    if rule is not None:
        yield Finding(TextSpan(0, len(passage.content)), Suspicion(rule, INJECTION_RULES.pairs("rules")[rule]))


def is_plain_name(name: str) -> bool:
    """Check quickly that a name can match no rule."""
    readings = find_readings(to_spaced_words(name))
    return len(readings) == 1 and not find_hinted_rules(readings[0])
