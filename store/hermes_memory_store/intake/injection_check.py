"""The injection check of a write: does it read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from hermes_memory_store.intake.required_words import WordIndex
from hermes_memory_store.model import Suspicion

if TYPE_CHECKING:
    from hermes_memory_store.intake.injection_rules import InjectionRule

PROMPT_TARGETS = ("system.prompt", "system_prompt")

SEPARATORS = re.compile(r"[-_.]+")

WORD = re.compile(r"[^\W\d_]{2,}")

CAMEL_CASE = re.compile("(?<=[a-z])(?=[A-Z])")

NAME_SEPARATORS = re.compile(
    r"[-_/]+|\.+(?!(?:com|net|org|io|cc|dev|ai|app|sh|xyz|info|biz|tk|eu|de|uk|ru|cn|co|example|md|json|sh|toml|ya?ml|env)\b)"
)


@cache
def load_rule_hints() -> tuple[WordIndex, dict[str, frozenset[int]]]:
    """Return the hints of all rules, imported at the first write, and the places of the rules that have them."""
    from hermes_memory_store.intake.injection_rules import RULES

    hints = {hint for rule in RULES for hint in rule.hints}
    return WordIndex(hints), {
        hint: frozenset(place for place, rule in enumerate(RULES) if hint in rule.hints) for hint in hints
    }


@cache
def load_hinted_rule(place: int) -> tuple[InjectionRule, re.Pattern[str]]:
    """Return a rule, compiled for the first text that has a hint of it."""
    from hermes_memory_store.intake.injection_rules import RULES

    return RULES[place], re.compile("|".join(f"(?:{pattern})" for pattern in RULES[place].patterns))


def find_hinted_rules(text: str) -> list[tuple[InjectionRule, re.Pattern[str]]]:
    """Return the rules whose hints occur in a text, in order."""
    index, places = load_rule_hints()
    hints = index.find(text)
    if not hints:
        return []
    from hermes_memory_store.intake.injection_rules import RULES
    from hermes_memory_store.intake.secret_names import has_hint

    return [
        load_hinted_rule(place)
        for place in sorted(frozenset().union(*(places[hint] for hint in hints)))
        if not RULES[place].besides or has_hint(text, RULES[place].besides)
    ]


@cache
def load_permission_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: targets that say what an agent may do, and content that raises it to more."""
    from hermes_memory_store.intake.injection_rules import ELEVATED, OWN_TARGET

    return re.compile(OWN_TARGET), re.compile(ELEVATED)


def find_name_suspicion(name: str) -> Suspicion | None:
    """Check a target or scope as `find_suspicion` does, reading word separators as spaces."""
    return find_suspicion("", to_spaced_words(name))


def to_spaced_words(name: str) -> str:
    """Return a name with its word separators as spaces."""
    return SEPARATORS.sub(" ", name)


def to_name_sentence(name: str) -> str:
    """Return a name as the sentence that it may be, its separators as spaces; empty for two words, too few for an order."""
    sentence = re.sub(r"[-_/]+" if " " in name else NAME_SEPARATORS, " ", CAMEL_CASE.sub(" ", name))
    return sentence if len(WORD.findall(sentence)) > 2 or not sentence.isascii() else ""


def load_readings(text: str) -> list[str]:
    """Return the ways to read a text. Their rules are loaded with the first text: who only reads a store needs none."""
    from hermes_memory_store.intake.text_folding import find_readings

    return find_readings(text)


def is_plain_fact(target: str, content: str) -> bool:
    """Check at one go that neither target nor content can match any rule: most facts are let through here."""
    # No run of encoded characters goes on across a semicolon between spaces, and no hint holds one.
    readings = load_readings(f"{to_spaced_words(target)} ; {content}")
    return len(readings) == 1 and not find_hinted_rules(readings[0]) and not is_about_reader(target)


def is_about_reader(target: str) -> bool:
    """Check whether a target is one by which an agent is told what it is and may do."""
    about = target.casefold()
    return about in PROMPT_TARGETS or load_permission_patterns()[0].fullmatch(about) is not None


def find_suspicion(target: str, content: str) -> Suspicion | None:
    """Return the first rule a fact matches; None for an ordinary one."""
    for text in load_readings(content):
        for rule, pattern in find_hinted_rules(text):
            if pattern.search(text):
                return Suspicion(rule.name, rule.what)
    if not is_about_reader(target):
        return None
    said = content.casefold()
    if target.casefold() in PROMPT_TARGETS:
        told = re.match(r"you (are|must|will)\b", said)
        return Suspicion("persona", "tells the reader to be somebody else") if told else None
    raised = load_permission_patterns()[1].search(said)
    return Suspicion("privilege", "gives the reader rights it does not have") if raised else None
