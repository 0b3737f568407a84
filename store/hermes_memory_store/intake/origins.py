"""Whose words a text is: what the person said, as captured, what a page or a tool said, or neither."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import cache

from hermes_memory_store.frozen import dataclass
from hermes_memory_store.intake.text_folding import fold_text
from hermes_memory_store.safe_text import lazy_pattern

CARRIED_SHARE = 0.6
"""Share of a fact's words that a person's turn must have, so that the fact is his: a summary changes some."""

QUOTED = lazy_pattern(r"```.*?(?:```|\Z)|^\s*>.*$|<(\w+)[^>]*>.*?</\1>", re.DOTALL | re.MULTILINE)
"""What a person pastes is not what he says: fenced blocks, quoted lines, marked-up text."""

LONGEST_TURN = 2_000
"""Characters of a turn that are looked at, from each end: an order stands at the beginning or the end of a paste."""

EXACT = (
    r"\b[a-z]{2}\d{2}(?: ?\w{2,}){3,}|\b(?:bc1|0x)\w{6,}"
    r"|\b[\w-]+\.(?:md|json|toml|ya?ml|sh|env)\b|\b\d[\d,.]{2,}\d\b"
)
"""What must be said exactly beside addresses: accounts, files, amounts."""


class TextOrigin(Enum):
    """Whose words a text is, which decides how much it takes to make it wait."""

    SAID = "said"  # the person's own: it never waits
    UNKNOWN = "unknown"
    HEARD = "heard"  # of a page, a tool, an import or another person


@dataclass(frozen=True, slots=True)
class SessionWords:
    """What was said in a session and written in it before."""

    person_turns: Sequence[str] = ()
    """What the person himself said, as captured."""
    other_turns: Sequence[str] = ()
    """What tools and pages said: what only they said waits at a lower score."""
    recent_facts: Sequence[tuple[str, str]] = ()
    """Targets and contents that were written before, oldest first, for what is written in pieces."""


def find_origin(words: SessionWords, content: str) -> TextOrigin:
    """Return whose words a content is, by what was said in its session."""
    folded = fold_text(content)
    if is_carried_by(words.person_turns, folded):
        return TextOrigin.SAID
    return TextOrigin.HEARD if is_carried_by(words.other_turns, folded) else TextOrigin.UNKNOWN


@cache
def load_exact_pattern() -> re.Pattern[str]:
    from hermes_memory_store.intake.scorer import ADDRESSES  # who only reads a store needs no scorer

    addresses = (ADDRESSES.url, ADDRESSES.mail, ADDRESSES.host)
    return re.compile("|".join([*(pattern.pattern for pattern in addresses), EXACT]))


def is_carried_by(turns: Sequence[str], folded: str) -> bool:
    """Check whether what was said in a session carries a text: one turn has most of its words and all that must be exact."""
    if not turns:
        return False
    exact = {match[0].rstrip(".,") for match in load_exact_pattern().finditer(folded)}
    words = to_content_words(folded)
    for turn in turns:
        if len(turn) > 2 * LONGEST_TURN:
            turn = f"{turn[:LONGEST_TURN]}\n{turn[-LONGEST_TURN:]}"
        text = fold_text(QUOTED.sub(" ", turn))
        if all(part in text for part in exact):
            spoken = to_content_words(text)
            if words and sum(word in spoken for word in words) >= CARRIED_SHARE * len(words):
                return True
    return False


def to_content_words(text: str) -> set[str]:
    from hermes_memory_store.intake.scorer import SIGNALS

    small = SIGNALS.words["negations", "small"]
    return {word[:6] for word in re.findall(r"[^\W_]{2,}", text) if word not in small}
