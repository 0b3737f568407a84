"""Looking at a write before it is kept: does it read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from hermes_memory_bridge.trust.folding import readings
from hermes_memory_bridge.trust.rules import ELEVATED, OWN_TARGET, RULES, Rule


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a write waits for a person."""

    rule: str
    what: str


@cache
def compiled() -> tuple[tuple[Rule, re.Pattern[str]], ...]:
    """The rules, compiled when the first write comes."""
    return tuple((rule, re.compile("|".join(f"(?:{p})" for p in rule.patterns))) for rule in RULES)


@cache
def hinted() -> tuple[re.Pattern[str], re.Pattern[str], dict[str, frozenset[int]]]:
    """The hints of all rules at once: whether there is any, which one begins at each place, and whose rules' these are.

    Most texts have none, and one search tells that; asking for some two hundred in turn took most of what screening took.
    """
    hints = {hint for rule in RULES for hint in rule.hints}
    longest = branches(hints)
    whose = {
        met: frozenset(n for n, rule in enumerate(RULES) if any(met.startswith(hint) for hint in rule.hints))
        for met in hints
    }
    return re.compile(longest), re.compile(f"(?=({longest}))"), whose


def branches(words: Collection[str]) -> str:
    """A pattern for the longest of these words that begins at a place, which looks at each letter once."""
    heads = sorted({word[0] for word in words if word})
    tails = [(head, [word[1:] for word in words if word.startswith(head)]) for head in heads]
    said = "|".join(re.escape(head) + branches(rest) for head, rest in tails)
    return f"(?:{said}){'?' if '' in words else ''}" if said else ""


def rules_for(text: str) -> list[tuple[Rule, re.Pattern[str]]]:
    """The rules of which a text has a hint, in their order."""
    any_of, each_of, whose = hinted()
    first = any_of.search(text)
    if first is None:
        return []
    met = {found[1] for found in each_of.finditer(text, first.start())}
    return [compiled()[n] for n in sorted({n for hint in met for n in whose[hint]})]


@cache
def own() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The target by which an agent is told what it may do, and what it must not be raised to."""
    return re.compile(OWN_TARGET), re.compile(ELEVATED)


def suspicion_of_name(name: str) -> Suspicion | None:
    """As `suspicion`, of a target or scope: what separates its words is read as space."""
    return suspicion("", re.sub(r"[-_.]+", " ", name))


def suspicion(target: str, content: str) -> Suspicion | None:
    """The first rule a fact falls under; None for an ordinary one."""
    for text in readings(content):
        for rule, pattern in rules_for(text):
            if pattern.search(text):
                return Suspicion(rule.name, rule.what)
    mine, elevated = own()
    if mine.fullmatch(target.casefold()) and elevated.search(content.casefold()):
        return Suspicion("privilege", "gives the reader rights it does not have")
    if target.casefold() in ("system.prompt", "system_prompt") and re.match(
        r"you (are|must|will)\b", content.casefold()
    ):
        return Suspicion("persona", "tells the reader to be somebody else")
    return None
