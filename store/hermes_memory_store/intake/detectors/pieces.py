"""Attacks that a session writes in pieces, each of which is harmless alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.detectors.injection import DETECTOR as INJECTION
from hermes_memory_store.intake.detectors.orders import find_orders_and_claims, to_order_finding
from hermes_memory_store.intake.origins import is_carried_by
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
        """Yield what a write gives together with facts it may go on with: numbered like it, named within it, or hardly named.

        Only what the pieces give together counts: orders that either part gives alone have been judged.
        """
        subject, excerpt = NUMBER.sub("", passage.target.casefold()), passage.excerpt.casefold()
        pieces = [
            content
            for target, content in passage.words.recent_facts[-RECENT_FACTS:]
            if NUMBER.sub("", target.casefold()) == subject
            or max(len(target), len(passage.target)) <= SHORT_NAME
            or target.casefold() in excerpt
        ]
        if not pieces:
            return
        whole, turns = TextSpan(0, len(passage.content)), passage.words.person_turns
        for gap in (" ", ""):
            text, before = gap.join([*pieces, passage.excerpt]), gap.join(pieces)
            for finding in INJECTION.find(Passage(TextKind.FACT, text, passage.target)):
                if not any(INJECTION.find(Passage(TextKind.FACT, before))):
                    yield finding._replace(span=whole)
                break
            orders = [order for order in find_orders_and_claims(text) if not is_carried_by(turns, order.content)]
            if orders:
                alone = {order.kind for part in (before, passage.excerpt) for order in find_orders_and_claims(part)}
                orders = [order for order in orders if order.kind not in alone]
            if orders:
                yield to_order_finding(passage, orders)._replace(span=whole)


DETECTOR = PieceDetector()
