"""Instructions in disguise: does a text read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.patterns import DataFile, NamedPatterns, SparedPatterns, load_required_words
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.intake.text_folding import find_readings, to_spaced_words
from hermes_memory_store.model import Suspicion
from hermes_memory_store.safe_text import load_pattern

INJECTION_RULES = DataFile(Path(__file__).with_name("injection_rules.txt"), rules=2, patterns=2, permissions=2)

PERMISSIONS = NamedPatterns(INJECTION_RULES, "permissions")
"""`target`: targets that say what an agent may do; `raised`: content that raises it to more."""

PROMPT_TARGETS = ("system.prompt", "system_prompt")

NEW_SELF = re.compile(r"you (are|must|will)\b")


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
def load_injection_rules() -> tuple[list[str], SparedPatterns, dict[str, str]]:
    """Return the rule of each pattern, the patterns, and all those of each rule in one."""
    rows = INJECTION_RULES.sections["patterns"]
    names, patterns = [name for name, _ in rows], [pattern for _, pattern in rows]
    wholes = {rule: "|".join(f"(?:{pattern})" for name, pattern in rows if name == rule) for rule in names}
    return names, SparedPatterns(patterns, load_required_words()["injections"]), wholes


def find_in_text(passage: Passage, text: str) -> Iterator[Finding]:
    """Yield what the rules find in a text of the passage, which is its content or another form of a name."""
    names, patterns, wholes = load_injection_rules()
    for reading in find_readings(text):
        for rule in dict.fromkeys(names[place] for place in patterns.find_likely(reading)):
            match = load_pattern(wholes[rule]).search(reading)
            if match is not None:
                reason = Suspicion(rule, INJECTION_RULES.pairs("rules")[rule])
                yield Finding(passage.locate(reading, match.span()), reason)


def find_promotion(passage: Passage) -> Iterator[Finding]:
    """Yield what a content makes of the reader, under a target by which an agent is told what it is and may do."""
    target, content, rule = passage.target.casefold(), passage.content.casefold(), None
    if target in PROMPT_TARGETS:
        rule = "persona" if NEW_SELF.match(content) else None
    elif PERMISSIONS.target.fullmatch(target):
        rule = "privilege" if PERMISSIONS.raised.search(content) else None
    if rule is not None:
        yield Finding(TextSpan(0, len(passage.content)), Suspicion(rule, INJECTION_RULES.pairs("rules")[rule]))
