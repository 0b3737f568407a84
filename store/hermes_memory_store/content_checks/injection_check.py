"""The injection check of a write: does it read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from hermes_memory_store.content_checks.injection_rules import ELEVATED, OWN_TARGET, RULES, InjectionRule
from hermes_memory_store.content_checks.text_folding import find_readings
from hermes_memory_store.model import Suspicion


@cache
def load_compiled_rules() -> tuple[tuple[InjectionRule, re.Pattern[str]], ...]:
    """Return the rules, compiled at the first write."""
    return tuple((rule, re.compile("|".join(f"(?:{p})" for p in rule.patterns))) for rule in RULES)


@cache
def load_rule_hints() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, frozenset[int]]]:
    """Return the hints of all rules.

    Whether there is any, which one begins at each position, and whose rules' these are. Most texts have none, and one
    search finds that out; searching for some two hundred in turn took most of the check's time.
    """
    hints = {hint for rule in RULES for hint in rule.hints}
    longest = to_alternation_pattern(hints)
    whose = {
        met: frozenset(n for n, rule in enumerate(RULES) if any(met.startswith(hint) for hint in rule.hints))
        for met in hints
    }
    return re.compile(longest), re.compile(f"(?=({longest}))"), whose


def to_alternation_pattern(words: Collection[str]) -> str:
    """Return a pattern for the longest of these words that begins at a position, examining each letter once."""
    heads = sorted({word[0] for word in words if word})
    tails = [(head, [word[1:] for word in words if word.startswith(head)]) for head in heads]
    said = "|".join(re.escape(head) + to_alternation_pattern(rest) for head, rest in tails)
    return f"(?:{said}){'?' if '' in words else ''}" if said else ""


def find_hinted_rules(text: str) -> list[tuple[InjectionRule, re.Pattern[str]]]:
    """Return the rules whose hints occur in a text, in order."""
    any_of, each_of, whose = load_rule_hints()
    first = any_of.search(text)
    if first is None:
        return []
    met = {found[1] for found in each_of.finditer(text, first.start())}
    return [load_compiled_rules()[n] for n in sorted({n for hint in met for n in whose[hint]})]


@cache
def load_permission_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return two patterns: targets that say what an agent may do, and content that raises it to more."""
    return re.compile(OWN_TARGET), re.compile(ELEVATED)


def find_name_suspicion(name: str) -> Suspicion | None:
    """Check a target or scope as `find_suspicion` does, reading word separators as spaces."""
    return find_suspicion("", re.sub(r"[-_.]+", " ", name))


def find_suspicion(target: str, content: str) -> Suspicion | None:
    """Return the first rule a fact matches; None for an ordinary one."""
    for text in find_readings(content):
        for rule, pattern in find_hinted_rules(text):
            if pattern.search(text):
                return Suspicion(rule.name, rule.what)
    mine, elevated = load_permission_patterns()
    if mine.fullmatch(target.casefold()) and elevated.search(content.casefold()):
        return Suspicion("privilege", "gives the reader rights it does not have")
    if target.casefold() in ("system.prompt", "system_prompt") and re.match(
        r"you (are|must|will)\b", content.casefold()
    ):
        return Suspicion("persona", "tells the reader to be somebody else")
    return None
