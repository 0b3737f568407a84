"""The closed list of orders: facts that wait for the person whatever their score, unless his own words carry them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from hermes_memory_store.content_checks.scoring.claim_patterns import CLAIM_KINDS
from hermes_memory_store.content_checks.scoring.disguises import is_disguised
from hermes_memory_store.content_checks.scoring.order_patterns import ORDER_KINDS, OrderKind
from hermes_memory_store.content_checks.scoring.required_words import find_required_words
from hermes_memory_store.content_checks.scoring.signals import HOST, MAIL, URL, replace_addresses
from hermes_memory_store.content_checks.text_folding import find_readings, fold_text

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


class OrderPattern:
    """A pattern of one kind of order, compiled when a text first has the words without which it cannot match."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.required = find_required_words(pattern)

    def search(self, text: str, words: frozenset[str]) -> bool:
        """Check whether a folded text matches. :param words: those of `find_order_words`"""
        if any(words.isdisjoint(required) for required in self.required):
            return False
        return self.compiled.search(text) is not None

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)


@cache
def load_order_patterns() -> tuple[tuple[OrderKind, tuple[OrderPattern, ...], re.Pattern[str]], ...]:
    """Return the orders and claims with their patterns."""
    return tuple(
        (kind, tuple(map(OrderPattern, kind.patterns)), re.compile(kind.unless))
        for kind in (*ORDER_KINDS, *CLAIM_KINDS)
    )


@cache
def load_order_words() -> tuple[str, ...]:
    """Return every word that some order or claim requires."""
    patterns = [one for _, several, _ in load_order_patterns() for one in several]
    return tuple({word for one in patterns for words in one.required for word in words})


def find_order_words(text: str) -> frozenset[str]:
    """Return which words that orders and claims require are in a text: each is looked for once for all patterns."""
    return frozenset([word for word in load_order_words() if word in text])


ORDERS = frozenset(kind.name for kind in ORDER_KINDS)
"""Names of the closed list."""


def find_orders(target: str, content: str) -> list[Order]:  # noqa: ARG001 - asked as every check is
    """Return the orders of the closed list that a fact gives; none for a value that only names something."""
    return [order for order in find_orders_and_claims(content) if order.kind in ORDERS]


def find_orders_and_claims(content: str) -> list[Order]:
    """Return the orders a fact gives and the claims it makes, one of each kind."""
    found: dict[str, Order] = {}
    readings = find_readings(content)
    for reading in readings:
        text = replace_addresses(reading)
        words = find_order_words(text)
        for kind, patterns, unless in load_order_patterns():
            if kind.name in found or not any(pattern.search(text, words) for pattern in patterns):
                continue
            if not unless.search(text):
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
