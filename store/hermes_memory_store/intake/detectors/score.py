"""Texts that read like known attacks: a score over signals, explained by the strongest of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind, explain_names
from hermes_memory_store.intake.origins import TextOrigin
from hermes_memory_store.intake.scorer import (
    SIGNALS,
    find_strongest_signals,
    load_weights,
    score_sentences,
)
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.intake.text_folding import find_readings
from hermes_memory_store.model import Suspicion

QUESTION = re.compile(
    r"(?i)\s*(why|what|when|where|which|who|how|is|are|does|do|did|should|can|could)\b[^.!?\n]*\?\s*$"
)
"""One sentence that asks: it may name a switched-off check, and orders nothing."""

FEWEST_SIGNALS = 2
"""Signals that a score must name: one alone is what a text is about."""

MOST_SIGNALS = 3


class ScoreDetector(Detector):
    rank = 30
    reads = frozenset({TextKind.WRITE, TextKind.RULED, TextKind.TURN})

    def find(self, passage: Passage) -> Iterator[Finding]:
        """Yield one finding with the score."""
        content = passage.excerpt
        if QUESTION.match(content):
            return
        weights = load_weights()
        for reading in find_readings(content):
            score, features = score_sentences(reading)
            # Whose words it is, is asked last: hardly any text gets here.
            if score < weights.thresholds[TextOrigin.HEARD.value] or passage.origin is TextOrigin.SAID:
                continue
            origin = "turn" if passage.kind is TextKind.TURN else passage.origin.value
            if score >= weights.thresholds[origin]:
                meanings = SIGNALS.pairs("meanings")
                names = [name for name in find_strongest_signals(features, weights) if name in meanings]
                if len(names) >= FEWEST_SIGNALS:
                    rule = f"score:{'+'.join(names[:MOST_SIGNALS])}"
                    whole = TextSpan(0, len(passage.content))
                    yield Finding(whole, Suspicion(rule, explain_names(rule, meanings)), score)

    def explain(self, rule: str) -> str | None:
        return explain_names(rule, SIGNALS.pairs("meanings")) if rule.partition(":")[0] == "score" else None


DETECTOR = ScoreDetector()
