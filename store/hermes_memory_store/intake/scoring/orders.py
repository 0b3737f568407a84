"""The closed list of orders: facts that wait for the person whatever their score, unless his own words carry them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from hermes_memory_store.intake.required_words import SparedPatterns
from hermes_memory_store.intake.scoring.claim_patterns import CLAIM_KINDS
from hermes_memory_store.intake.scoring.disguises import is_disguised
from hermes_memory_store.intake.scoring.order_patterns import ORDER_KINDS, OrderKind
from hermes_memory_store.intake.scoring.signals import HOST, MAIL, URL, replace_addresses
from hermes_memory_store.intake.text_folding import find_readings, fold_text
from hermes_memory_store.safe_text import load_pattern

CARRIED_SHARE = 0.6
"""Share of a fact's words that a person's turn must have, so that the fact is his: a summary changes some."""

QUOTED = re.compile(r"```.*?(?:```|\Z)|^\s*>.*$|<(\w+)[^>]*>.*?</\1>", re.DOTALL | re.MULTILINE)
"""What a person pastes is not what he says: fenced blocks, quoted lines, marked-up text."""

LONGEST_TURN = 2_000
"""Characters of a turn that are looked at, from each end: an order stands at the beginning or the end of a paste."""

EXACT = re.compile(
    rf"{URL.pattern}|{MAIL.pattern}|{HOST.pattern}|\b[a-z]{{2}}\d{{2}}(?: ?\w{{2,}}){{3,}}|\b(?:bc1|0x)\w{{6,}}"
    r"|\b[\w-]+\.(?:md|json|toml|ya?ml|sh|env)\b|\b\d[\d,.]{2,}\d\b"
)
"""What must be said exactly: addresses, accounts, files, amounts."""

SMALL_WORDS = frozenset(
    """
    a an the and or of to in on at by for with from is are was be been it its this that these those as all each every any
    so then when after before until user users he she his her i me my you your agent assistant
    """.split()  # noqa: SIM905 - a list of words reads better as words
)


@dataclass(frozen=True, slots=True)
class Order:
    """An order found in a fact."""

    kind: str
    what: str
    content: str
    """What the fact says, folded."""


@cache
def load_order_patterns() -> tuple[list[OrderKind], SparedPatterns]:
    """Return the patterns of orders and claims, and whose each is."""
    pairs = [(kind, pattern) for kind in (*ORDER_KINDS, *CLAIM_KINDS) for pattern in kind.patterns]
    return [kind for kind, _ in pairs], SparedPatterns([pattern for _, pattern in pairs], "orders")


def find_orders_and_claims(content: str) -> list[Order]:
    """Return the orders a fact gives and the claims it makes, one of each kind."""
    found: dict[str, Order] = {}
    readings = find_readings(content)
    kinds, patterns = load_order_patterns()
    for reading in readings:
        text = replace_addresses(reading)
        for number in patterns.find_matching(text):
            kind = kinds[number]
            if kind.name not in found and not load_pattern(kind.unless).search(text):
                found[kind.name] = Order(kind.name, kind.what, readings[0])
    if not found and is_disguised(content):
        found["disguise"] = Order("disguise", "", readings[0])
    return list(found.values())


def is_carried_by(turns: Iterable[str], order: Order) -> bool:
    """Check whether a person's own words carry an order: one turn has most of its words and all that must be exact.

    :param turns: what the person said in this session; never what a tool or a page said
    """
    exact = {match[0].rstrip(".,") for match in EXACT.finditer(order.content)}
    words = to_content_words(order.content)
    for turn in turns:
        said = fold_text(QUOTED.sub(" ", turn if len(turn) <= 2 * LONGEST_TURN else cut_turn(turn)))
        if all(one in said for one in exact):
            spoken = to_content_words(said)
            if words and sum(word in spoken for word in words) >= CARRIED_SHARE * len(words):
                return True
    return False


def cut_turn(turn: str) -> str:
    """Return the beginning and the end of a long turn."""
    return f"{turn[:LONGEST_TURN]}\n{turn[-LONGEST_TURN:]}"


def to_content_words(text: str) -> set[str]:
    """Return the words of a folded text that say something, by their first six letters."""
    return {word[:6] for word in re.findall(r"[^\W_]{2,}", text) if word not in SMALL_WORDS}
