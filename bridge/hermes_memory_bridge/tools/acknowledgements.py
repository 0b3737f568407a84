"""Messages not worth capturing: those that only acknowledge, in any language, and those below a minimum length.

hermes-memory-pgvector 0.3.0 drops what is shorter than 40 characters and fifteen English words said alone. So it
loses "Use port 5433, never 5432" and keeps "ok thanks, that is great". Here a message is an acknowledgement when
every word of it is one, or only accompanies one; a number, a path or any other word makes it worth capturing. The
theme's policy sets the minimum length.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import read_sections
from hermes_memory_themes import ThemePolicy

FILE = Path(__file__).with_name("acknowledgements.txt")

LONGEST = 80
"""Characters above which a message is never only an acknowledgement."""

PHRASES = re.compile(
    r"\b(?:got it|will do|(?:sounds?|looks?|all) good|go (?:ahead|on)|makes sense|no (?:problem|worries)|i see|alles klar|"
    r"geht klar|mach weiter|d'accord|ça marche|pas de souci|de acuerdo|está bien|de nada|tudo bem|va bene|d'accordo)\b"
)
"""Words that acknowledge only together."""

WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u097f\u0e00-\u0e7f]+(?:['’][\w]+)*")

CONTENT_SIGNS = re.compile(r"[\d/\\@#=<>{}\[\]_`$%*+|]")
"""Signs of something said: numbers, paths, names of things, code."""


def explain_skipped_message(content: str, policy: ThemePolicy) -> str | None:
    """Explain to an agent why the theme's policy does not keep a message; None when it does."""
    if policy.turns == "none":
        return "this theme keeps no conversations"
    if policy.turns == "all":
        return None
    if is_acknowledgement(content):
        return "an acknowledgement"
    length = len(content.strip())
    if length < policy.turn_min_chars:
        return f"{length} characters, and this theme keeps messages from {policy.turn_min_chars}"
    return None


def is_acknowledgement(content: str) -> bool:
    """Check whether a message only acknowledges, agrees or approves."""
    message = content.strip()
    if not message or len(message) > LONGEST or CONTENT_SIGNS.search(message):
        return False
    words = WORD.findall(PHRASES.sub("ok", casefold_text(message).replace("’", "'")))
    if not words:
        # Nothing but signs: a thumb, a smile, dots. A script whose letters are none to us is left alone.
        return not any(character.isalpha() for character in message)
    return all(word in load_acknowledgement_words() for word in words) and any(
        word in load_acknowledgements() for word in words
    )


def casefold_text(text: str) -> str:
    """Normalise a text for comparison: composed, and without regard to case."""
    return unicodedata.normalize("NFKC", text).casefold()


@cache
def load_acknowledgements() -> frozenset[str]:
    """Return the words that only acknowledge, normalised for comparison."""
    return load_words("acknowledgements")


@cache
def load_acknowledgement_words() -> frozenset[str]:
    """Return every word that may occur in an acknowledgement."""
    return load_acknowledgements() | load_words("fillers")


def load_words(section: str) -> frozenset[str]:
    """Return the words of a section of the data file, normalised for comparison."""
    rows = read_sections(FILE, {"acknowledgements": 1, "fillers": 1})[section]
    return frozenset(casefold_text(word) for (line,) in rows for word in line.split())
