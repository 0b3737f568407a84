"""The closed list of orders and claims: texts that wait for the person whatever their score, unless his own words carry them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind, explain_names
from hermes_memory_store.intake.origins import TextOrigin
from hermes_memory_store.intake.patterns import DataFile, SparedPatterns, load_required_words
from hermes_memory_store.intake.scorer import SENTENCE_END, is_general, load_weights, replace_addresses, score_text
from hermes_memory_store.intake.text_folding import find_decodings, find_readings, to_name_sentence
from hermes_memory_store.model import Suspicion
from hermes_memory_store.safe_text import lazy_pattern, load_pattern

ORDER_PATTERNS = DataFile(
    Path(__file__).with_name("order_patterns.txt"), kinds=2, unless=2, patterns=2, heard=2, words=0
)
DISGUISE = "disguise"
"""The kind of a text in a code that no fact needs. The way of writing is the reason to wait, whatever it says."""

WORK = frozenset({"disable", "grant", "install", "pay", "send", "tool"})
"""Kinds of orders that names and messages have, where they are what somebody works on."""

INSTRUCTED = WORK | {"agent-files", "trigger"}
"""Kinds of orders that instructions of repositories give their readers, too."""

LEAST_WORDS = 3
"""Words that a decoded text must have: fewer come about by chance, or are a name."""

PLAIN_TEXT = lazy_pattern(rf"[^\W\d_]+(?:[ ,.;:'/-]+[\w.:/@~-]+){{{LEAST_WORDS - 1},}}[.!]?")

SPELLED_OUT = lazy_pattern(r"(?<!\S)(?:[^\W\d_][ .\-_*]){9,}[^\W\d_](?!\S)")

MORSE = lazy_pattern(r"(?:[.-]{1,5} ){6,}[.-]{1,5}(?: |$)|(?:[.-]{1,5} (?:/ )?){12,}")

PIG_LATIN = lazy_pattern(r"(?:\b[^\W\d_]+ay\b\W*){4,}")


@dataclass(frozen=True, slots=True)
class Order:
    """An order or claim found in a text."""

    kind: str
    content: str
    reading: str = ""
    span: tuple[int, int] = (0, 0)
    """The part of the reading that gives it."""


class OrderDetector(Detector):
    rank = 20
    reads = frozenset({TextKind.WRITE, TextKind.RULED, TextKind.TURN, TextKind.GIVEN_NAME})

    def find(self, passage: Passage) -> Iterator[Finding]:
        """Yield one finding that names all orders of the text, or of the first sentence of a message that gives any."""
        if passage.kind is TextKind.GIVEN_NAME:
            orders = find_name_orders(passage.content)
        elif passage.kind is TextKind.TURN:
            orders = find_sentence_orders(passage.content)
        else:
            orders = drop_instructions(passage, find_supported_orders(passage.excerpt))
            orders += find_name_orders(passage.target)
            orders = orders or find_heard_orders(passage)
        if orders:
            yield to_order_finding(passage, orders)

    def explain(self, rule: str) -> str | None:
        return explain_names(rule, ORDER_PATTERNS.pairs("kinds")) if rule.startswith("order:") else None


DETECTOR = OrderDetector()


@cache
def load_order_patterns() -> tuple[list[str], SparedPatterns]:
    rows = ORDER_PATTERNS.sections["patterns"]
    return [kind for kind, _ in rows], SparedPatterns([pattern for _, pattern in rows], load_required_words()["orders"])


@lru_cache(maxsize=16)
def find_orders_and_claims(content: str) -> tuple[Order, ...]:
    orders: dict[str, Order] = {}
    readings = find_readings(content)
    kinds, patterns = load_order_patterns()
    for reading in readings:
        text = replace_addresses(reading)
        for number, match in patterns.find_matches(text):
            kind = kinds[number]
            exception = ORDER_PATTERNS.pairs("unless").get(kind)
            if kind not in orders and (exception is None or not load_pattern(exception).search(text)):
                orders[kind] = Order(kind, readings[0], text, match.span())
    if not orders and is_disguised(content):
        orders[DISGUISE] = Order(DISGUISE, readings[0])
    return tuple(orders.values())


def find_sentence_orders(text: str) -> tuple[Order, ...]:
    """Return the orders of the first sentence of a message that gives any: length is no evidence, so each is judged alone.

    A sentence ends with a line, and does not where lines are wrapped.
    """
    load_order_patterns()[1].prepare(replace_addresses(find_readings(text)[0]))
    for sentence in dict.fromkeys(part for block in (text, *text.splitlines()) for part in SENTENCE_END.split(block)):
        if orders := drop_work(find_supported_orders(sentence), sentence):
            return orders
    return ()


@lru_cache(maxsize=256)
def find_name_orders(name: str) -> tuple[Order, ...]:
    sentence = to_name_sentence(name)
    return drop_work(find_orders_and_claims(sentence), sentence)


def drop_work(orders: tuple[Order, ...], sentence: str) -> tuple[Order, ...]:
    """Drop the orders of a sentence that are often the work itself, unless it is general or has the score of a message."""
    if any(order.kind in WORK for order in orders):
        score, features = score_text(sentence)
        if score < load_weights().thresholds["turn"] and not is_general(features):
            return tuple(order for order in orders if order.kind not in WORK)
    return orders


def find_heard_orders(passage: Passage) -> tuple[Order, ...]:
    """Return what a text prefers for the person, where a page or a tool said so."""
    if passage.origin is not TextOrigin.HEARD:
        return ()
    reading = passage.excerpt.casefold()
    matches = ((kind, load_pattern(pattern).search(reading)) for kind, pattern in ORDER_PATTERNS.sections["heard"])
    return tuple(Order(kind, reading, reading, match.span()) for kind, match in matches if match)[:1]


def drop_instructions(passage: Passage, orders: tuple[Order, ...]) -> tuple[Order, ...]:
    """Drop what instructions of repositories order, too, where nobody knows whose words these are and the score is low."""
    if not orders or passage.origin is not TextOrigin.UNKNOWN:
        return orders
    if score_text(passage.excerpt)[0] >= load_weights().thresholds["unknown_order"]:
        return orders
    return tuple(order for order in orders if order.kind not in INSTRUCTED)


def find_supported_orders(content: str) -> tuple[Order, ...]:
    """Return the orders of a text that also reads like one: instructions of repositories have the words of orders, too."""
    orders = find_orders_and_claims(content)
    if orders and score_text(content)[0] >= load_weights().thresholds["order"]:
        return orders
    return tuple(order for order in orders if order.kind == DISGUISE)


def to_order_finding(passage: Passage, orders: Sequence[Order]) -> Finding:
    rule = f"order:{'+'.join(order.kind for order in orders)}"
    reason = Suspicion(rule, DETECTOR.explain(rule) or rule)
    return Finding(passage.locate(orders[0].reading, orders[0].span), reason)


def is_disguised(content: str) -> bool:
    """Check whether a content is a sentence in base64, hexadecimal, Morse, rot13, turned, spelled out or in pig Latin."""
    # A text without what each of these codes is made of is not searched for it: most have none of it.
    if SPELLED_OUT.search(content) or (content.count("ay") > 3 and PIG_LATIN.search(content)):
        return True
    if content.count(". ") + content.count("- ") > 5 and MORSE.search(content):
        return True
    words = [word.strip(".,:;!") for word in content.casefold().split()]
    for common in (ORDER_PATTERNS.words["words", "rotated"], ORDER_PATTERNS.words["words", "turned"]):
        if len(common.intersection(words)) >= 2:
            return True
    return any(PLAIN_TEXT.fullmatch(" ".join(text.split())) for text in find_decodings(content))
