"""Texts that read like known attacks: a score over signals, explained by the strongest of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind, explain_names
from hermes_memory_store.intake.origins import TextOrigin
from hermes_memory_store.intake.scorer import (
    SIGNALS,
    TextFeatures,
    find_strongest_signals,
    is_general,
    load_weights,
    score_text,
)
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.intake.text_folding import to_name_sentence
from hermes_memory_store.model import Suspicion

QUESTION = re.compile(
    r"(?i)\s*(?:[^.!?\n]*, )?(why|what|when|where|which|who|how|is|are|does|do|did|should|can|could)\b[^.!?\n]*\?\s*$"
)
"""One sentence that asks: it may name a switched-off check, and orders nothing."""

FEWEST_SIGNALS = 2
"""Signals that a score must name: one alone is what a text is about."""

MOST_SIGNALS = 3

FEWEST_SPACES = 5
"""Spaces of a name that is scored: fewer words have a high score by one of them, and say little."""

MOMENTS = frozenset({"when", "you"})
"""Signals that make an order of a name that is none of a message."""


class ScoreDetector(Detector):
    rank = 30
    reads = frozenset({TextKind.WRITE, TextKind.RULED, TextKind.TURN, TextKind.GIVEN_NAME})

    def find(self, passage: Passage) -> Iterator[Finding]:
        """Yield a finding with the score, and one with that of the target, which is a name."""
        content, target, thresholds = passage.excerpt, passage.target, load_weights().thresholds
        if passage.kind is TextKind.GIVEN_NAME:
            content, target = "", content
        score, features = score_text(content, FEWEST_SIGNALS, is_message=passage.kind is TextKind.TURN)
        # Whose words it is, is asked last: hardly any text gets here.
        if score >= thresholds["heard"] and passage.origin is not TextOrigin.SAID and not QUESTION.match(content):
            origin = "turn" if passage.kind is TextKind.TURN else passage.origin.value
            if score >= thresholds[origin] and (origin != "turn" or is_general(features)):
                yield from to_score_findings(passage, score, features, FEWEST_SIGNALS)
        sentence = to_name_sentence(target)
        score, features = score_text(sentence)
        # Names in other alphabets are seldom a term of programming that reads like an order.
        is_long, least = (sentence.count(" ") >= FEWEST_SPACES, "name") if sentence.isascii() else (True, "order")
        if is_long and score >= thresholds[least] and (is_general(features) or not features.names.isdisjoint(MOMENTS)):
            yield from to_score_findings(passage, score, features)

    def explain(self, rule: str) -> str | None:
        return explain_names(rule, SIGNALS.pairs("meanings")) if rule.partition(":")[0] == "score" else None


DETECTOR = ScoreDetector()


def to_score_findings(passage: Passage, score: float, features: TextFeatures, fewest: int = 0) -> Iterator[Finding]:
    meanings = SIGNALS.pairs("meanings")
    names = [name for name in find_strongest_signals(features, load_weights()) if name in meanings]
    if len(names) >= fewest:
        rule = f"score:{'+'.join(names[:MOST_SIGNALS])}"
        yield Finding(TextSpan(0, len(passage.content)), Suspicion(rule, explain_names(rule, meanings)), score)
