"""Closing signals: does a user's message say that the work is finished?

By rules, without a model. A message is split into sentences and clauses; a clause closes when it claims completion
and nothing in it, or in the clause it depends on, retracts the claim: a negation, a question, a plan, a condition,
a request, a doubt. The vocabulary of each language is in `closing_signal_patterns.py`.
"""

from __future__ import annotations

import re
import unicodedata

LOOKED_AT = 2_000
"""Characters of a message that are looked at; a closing word beyond them belongs to pasted text."""

CLAUSE = 240
"""Characters of a clause that are looked at: who says that something is done says it in few words."""

MENTIONS_LOOKED_AT = 20_000
"""Characters in which a scope is looked for. A scope is named anywhere, but a pasted log must not stall a turn."""

QUOTED = re.compile(r"```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|«[^»]*»|„[^“”\"]*[“”\"]|“[^”]*”", re.DOTALL)
SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;\n…]*")
SEPARATOR = re.compile(r"\s*(?:,|\(|\)|:|–|—| - )\s*")
DOTTED = re.compile(r"(?<=\w)\.(?=\w)")
WORDS = re.compile(r"[^\W_]+")
HYPHENED = re.compile(r"\b\w+(?:-\w+)+\b")


def is_closing_message(message: str) -> bool:
    """Check whether the message says that the current work is done.

    Examples: "merged", "ça marche", "ist fertig", "ya está listo".
    """
    # Here, not above: compiling the words takes 20 ms, which only a turn's message should cost.
    from hermes_memory_store.language import closing_signal_patterns as words

    text = (
        unicodedata.normalize("NFC", message[:LOOKED_AT]).casefold().replace("’", "'").replace("peut-être", "peutêtre")
    )
    text = HYPHENED.sub(" ", words.INVERTED.sub(words.ASKED, DOTTED.sub(" ", QUOTED.sub(" ", text))))
    return any(is_closing_sentence(found[0].strip()) for found in SENTENCE.finditer(text))


def has_scope_mention(message: str, label: str) -> bool:
    """Check whether a message mentions a scope: it has the words of the label, in order, however they are joined."""
    words = [re.escape(word) for word in WORDS.findall(label.casefold())]
    if not words:
        return False
    said = unicodedata.normalize("NFC", message[:MENTIONS_LOOKED_AT]).casefold()
    return re.search(r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])", said) is not None


def is_closing_sentence(sentence: str) -> bool:
    """Check one sentence, its final mark included."""
    from hermes_memory_store.language import closing_signal_patterns as words

    if (
        not sentence
        or "?" in sentence
        or sentence.startswith("¿")
        or words.FRAMES.search(sentence)
        or words.CONTRAST.search(sentence)
    ):
        return False
    held_back = False
    for clause in SEPARATOR.split(sentence.rstrip(".!;… \n")):
        if not clause:
            continue
        short = words.UNTROUBLED.sub(" ", clause[:CLAUSE]).strip()
        said = words.PERMITS.sub(" ", short)
        blocked = words.BLOCKERS.search(said) is not None
        claimed = (
            said != short or words.CLAIMS.search(words.ADJECTIVES.sub(" ", words.LEAD_INS.sub("", said))) is not None
        )
        if claimed and not blocked and not held_back:
            return True
        held_back = blocked and not claimed
    return False
