"""Characters that a person cannot see."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_memory_store import safe_text
from hermes_memory_store.intake.detector import Detector, Finding, Passage, TextKind
from hermes_memory_store.intake.spans import TextSpan
from hermes_memory_store.model import Suspicion

HIDDEN_RULE = "hidden"

HIDDEN = Suspicion(HIDDEN_RULE, "holds characters that a person cannot see")


class HiddenCharacterDetector(Detector):
    rank = 50
    reads = frozenset({TextKind.TURN, TextKind.UPGRADE})

    def find(self, passage: Passage) -> Iterator[Finding]:
        is_hiding = (
            safe_text.has_hidden_characters if passage.kind is TextKind.TURN else safe_text.has_unsafe_characters
        )
        if is_hiding(passage.content):
            yield Finding(TextSpan(0, len(passage.content)), HIDDEN)


DETECTOR = HiddenCharacterDetector()
