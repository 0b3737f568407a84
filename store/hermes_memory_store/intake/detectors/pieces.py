"""Attacks that a session writes in pieces, each of which is harmless alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.detectors.injection import DETECTOR as INJECTION
from hermes_memory_store.intake.detectors.orders import find_orders_and_claims, is_carried_by, to_order_finding
from hermes_memory_store.intake.spans import TextSpan

RECENT_FACTS = 6
"""Facts of a session that are read together with a new one: an attack in more pieces is seldom put together again."""

NUMBER = re.compile(r"[._-]?(?:\d+|[a-z])$")
"""What is left out where targets are compared: `part.1`, `k2`, `step.b`."""

SHORT_NAME = 2
"""Characters of a target that names nothing: `x`, `p1`."""


class PieceDetector(Detector):
    """Reads a write together with what its session wrote before."""

    rank = 40
    reads = frozenset({TextKind.WRITE, TextKind.RULED})

    def find(self, passage: Passage) -> Iterator[Finding]:
        pieces = [
            content
            for target, content in passage.words.recent_facts[-RECENT_FACTS:]
            if is_same_subject(target, passage.target, passage.excerpt)
        ]
        if pieces:
            yield from find_joined(passage, pieces)


DETECTOR = PieceDetector()


def is_same_subject(earlier: str, target: str, content: str) -> bool:
    """Check whether a fact may go on with an earlier one: numbered like it, named within it, or hardly named at all."""
    stems = {NUMBER.sub("", name.casefold()) for name in (earlier, target)}
    return len(stems) == 1 or max(map(len, (earlier, target))) <= SHORT_NAME or earlier.casefold() in content.casefold()


def find_joined(passage: Passage, pieces: Sequence[str]) -> Iterator[Finding]:
    """Yield what a write gives together with earlier pieces.

    Only what the new piece brings about counts: orders that the earlier ones give alone have been judged.
    """
    whole = TextSpan(0, len(passage.content))
    for gap in (" ", ""):
        text, before = gap.join([*pieces, passage.excerpt]), gap.join(pieces)
        for finding in INJECTION.find(Passage(TextKind.FACT, text, passage.target)):
            if not any(INJECTION.find(Passage(TextKind.FACT, before))):
                yield finding._replace(span=whole)
            break
        turns = passage.words.person_turns
        orders = [order for order in find_orders_and_claims(text) if not is_carried_by(turns, order)]
        if orders:
            earlier = {order.kind for order in find_orders_and_claims(before)}
            orders = [order for order in orders if order.kind not in earlier]
        if orders:
            yield to_order_finding(passage, orders)._replace(span=whole)
