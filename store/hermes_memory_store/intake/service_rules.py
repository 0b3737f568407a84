"""Rules of gitleaks for the tokens of some two hundred services, beside our own formats.

They stand as data in `gitleaks/rules.json`, converted from one release by `python -m
tests.tools.convert_rules`, under the licence beside them. A file or a rule that cannot be
read costs these rules alone: it is logged once as an error, and our own rules go on.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hermes_memory_store.intake.required_words import WordIndex
from hermes_memory_store.intake.secret_values import PLACEHOLDER, REFERENCE, is_chosen_name
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.safe_text import lazy_pattern

RULE_FILE = Path(__file__).parent / "gitleaks" / "rules.json"


REPEATED = lazy_pattern(r"(.)\1{5,}")
RANDOM_BITS = 3.5
"""Bits per character of a token in which one character is repeated; what only shows a form has fewer."""


class RuleFileError(ValueError):
    """The rule file, or one rule of it, cannot be read."""


@dataclass(frozen=True, slots=True)
class ServiceRule:
    """A rule of gitleaks."""

    name: str
    keywords: tuple[str, ...]
    """In lower case; without any of these there is no match."""
    pattern: str
    """Its only group is the secret, or the whole match where there is none."""
    entropy: float
    """Bits per character that the secret must exceed, as gitleaks measures it (Shannon)."""
    named: bool
    """Whether a service's name announces the secret, whose own form says little."""


def read_service_rules(file: Path) -> tuple[ServiceRule, ...]:
    """Read a rule file.

    :raises RuleFileError: it is no such file; names the place
    """
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
        return tuple(
            ServiceRule(
                str(rule["name"]),
                tuple(map(str, rule["keywords"])),
                str(rule["pattern"]),
                float(rule["entropy"]),
                bool(rule["named"]),
            )
            for rule in document["rules"]
        )
    except (OSError, ValueError) as error:
        raise RuleFileError(f"{file} cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        raise RuleFileError(f"{file} is no file of rules: {error!r}") from error


@cache
def load_service_rules() -> tuple[WordIndex, dict[str, list[ServiceRule]]]:
    """Return the keywords of the package's rules, and the rules of each; none when their file cannot be read, which is logged."""
    rules: dict[str, list[ServiceRule]] = {}
    try:
        for rule in read_service_rules(RULE_FILE):
            for keyword in rule.keywords:
                rules.setdefault(keyword, []).append(rule)
    except RuleFileError as error:
        log_rule_error("%s; secrets are looked for without these rules, install the package again", error)
    return WordIndex(rules), rules


@cache
def compile_service_rule(rule: ServiceRule) -> re.Pattern[str] | None:
    """Compile a rule for the first likely text; None, with an error in the log, for a pattern that is none."""
    try:
        return re.compile(rule.pattern)
    except re.error as error:
        log_rule_error("the rule %s of %s does not parse: %s; the others go on", rule.name, RULE_FILE, error)
        return None


def log_rule_error(message: str, *values: object) -> None:
    """Log an error of the rules. Here the logger is imported, which most texts need as little as the rules."""
    import logging

    logging.getLogger(__name__).error(message, *values)


def find_service_secrets(text: str) -> Iterator[TextSpan]:
    """Find the tokens of named services."""
    index, rules = load_service_rules()
    for rule in {rule for keyword in index.find(text.lower()) for rule in rules[keyword]}:
        yield from find_rule_secrets(rule, text)


def find_rule_secrets(rule: ServiceRule, text: str) -> Iterator[TextSpan]:
    """Find what one rule matches."""
    pattern = compile_service_rule(rule)
    for match in pattern.finditer(text) if pattern is not None else ():
        span = TextSpan(*match.span(min(match.re.groups, 1)))
        secret = text[span.start : span.end]
        if get_entropy(secret) <= max(rule.entropy, RANDOM_BITS if REPEATED.search(secret) else 0):
            continue
        if REFERENCE.fullmatch(secret) or PLACEHOLDER.fullmatch(secret):
            continue
        if not (rule.named and (is_chosen_name(secret) or not re.search(r"\d", secret))):
            yield span


def get_entropy(text: str) -> float:
    """Return the bits per character of a text, by how often each character is in it."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())
