"""The patterns that find secrets: our own of `secret_patterns.txt`, and gitleaks' rules for some two hundred services.

`python -m tests.tools.convert_rules` made `gitleaks/rules.json`. What of it cannot be read costs these rules alone, with an
error in the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.patterns import SparedPatterns, load_required_words
from hermes_memory_store.intake.secret_values import SECRET_PATTERNS

RULE_FILE = Path(__file__).parent / "gitleaks" / "rules.json"


class RuleFileError(ValueError):
    """The rule file, or one rule of it, cannot be read."""


@dataclass(frozen=True, slots=True)
class SecretPattern:
    judge: str
    """Names the function of `detectors/secrets.py` that tells which part of a match is a secret; `service` for gitleaks'."""
    pattern: str
    hints: tuple[str, ...] = ()
    """Without any of these there is no match; those of services are in lower case."""
    beside: str = ""
    """What stands elsewhere in the text; without it the form says too little."""
    service: str = ""
    entropy: float = 0.0
    """Bits per character that a service's token must exceed, as gitleaks measures it (Shannon)."""
    required: Collection[Collection[str]] = ()
    """Sets of words in lower case of which a match holds one each; services have hints alone."""
    named: bool = False
    """Whether a service's name announces the secret, whose own form says little."""


@cache
def load_gated_patterns() -> dict[str, list[SecretPattern]]:
    """Return the patterns of secrets that their context gives away, by what a text must have for them."""
    patterns: dict[str, list[SecretPattern]] = {}
    rows = zip(SECRET_PATTERNS.sections["patterns"], load_required_words()["secrets"], strict=True)
    for (gate, judge, pattern), required in rows:
        patterns.setdefault(gate, []).append(SecretPattern(judge, pattern, required=tuple(map(tuple, required))))
    return patterns


@cache
def load_formats() -> tuple[list[SecretPattern], SparedPatterns]:
    data = SECRET_PATTERNS.sections
    rows = [(hints, "", pattern) for hints, pattern in data["formats"]] + data["beside"]
    return spare_patterns(
        [SecretPattern("token", pattern, tuple(hints.split()), beside) for hints, beside, pattern in rows]
    )


@cache
def load_service_rules() -> tuple[list[SecretPattern], SparedPatterns]:
    """Return gitleaks' rules; none when their file cannot be read, which is logged."""
    try:
        return spare_patterns(read_service_rules(RULE_FILE))
    except RuleFileError as error:
        log_rule_error("%s; secrets are looked for without these rules, install the package again", error)
    return spare_patterns([])


def spare_patterns(rows: list[SecretPattern]) -> tuple[list[SecretPattern], SparedPatterns]:
    return rows, SparedPatterns([row.pattern for row in rows], [[row.hints] for row in rows])


def find_hinted_patterns(text: str) -> Iterator[SecretPattern]:
    for (rows, patterns), hinted in ((load_formats(), text), (load_service_rules(), text.lower())):
        yield from (rows[place] for place in patterns.find_likely(hinted))


def read_service_rules(file: Path) -> list[SecretPattern]:
    """Read gitleaks' rules. :raises RuleFileError: it is no such file; names the place"""
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8"))
        return [
            SecretPattern(
                "service",
                str(rule["pattern"]),
                tuple(map(str, rule["keywords"])),
                service=str(rule["name"]),
                entropy=float(rule["entropy"]),
                named=bool(rule["named"]),
            )
            for rule in document["rules"]
        ]
    except (OSError, ValueError) as error:
        raise RuleFileError(f"{file} cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        raise RuleFileError(f"{file} is no file of rules: {error!r}") from error


@cache
def compile_secret_pattern(row: SecretPattern) -> re.Pattern[str] | None:
    """Compile a pattern for the first likely text; None, with an error in the log, for a service's that does not parse."""
    try:
        return re.compile(row.pattern)
    except re.error as error:
        if not row.service:
            raise
        log_rule_error("the rule %s of %s does not parse: %s; the others go on", row.service, RULE_FILE, error)
        return None


def log_rule_error(message: str, *values: object) -> None:
    """Log an error of the rules. Here the logger is imported, which most texts need as little as the rules."""
    import logging

    logging.getLogger(__name__).error(message, *values)
