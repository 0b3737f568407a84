"""Looking at a write before it is kept: does it read like an instruction to the agent that will recall it?"""

from __future__ import annotations

import re
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
def own() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The target by which an agent is told what it may do, and what it must not be raised to."""
    return re.compile(OWN_TARGET), re.compile(ELEVATED)


def suspicion_of_name(name: str) -> Suspicion | None:
    """As `suspicion`, of a target or scope: what separates its words is read as space."""
    return suspicion("", re.sub(r"[-_.]+", " ", name))


def suspicion(target: str, content: str) -> Suspicion | None:
    """The first rule a fact falls under; None for an ordinary one."""
    for text in readings(content):
        for rule, pattern in compiled():
            if not any(map(text.__contains__, rule.hints)):
                continue
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
