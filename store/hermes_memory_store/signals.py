"""Closing signals: does a user's message say that the work is finished?

By rules, without a model. A message is cut into sentences and clauses; a clause closes when it claims completion and nothing
in it, or in the clause it hangs on, takes the claim back: a negation, a question, a plan, a condition, a request, a doubt.
The vocabulary of each language stands in `signal_words.py`.
"""

from __future__ import annotations

import re

from hermes_memory_store.signal_words import ADJECTIVES, BLOCKERS, CLAIMS, CONTRAST, FRAMES, LEAD_INS

LOOKED_AT = 2_000
"""Characters of a message that are looked at; a closing word beyond them belongs to pasted text."""

QUOTED = re.compile(r"```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|«[^»]*»|„[^“”\"]*[“”\"]|“[^”]*”", re.DOTALL)
SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;\n…]*")
SEPARATOR = re.compile(r"\s*(?:,|\(|\)|:|–|—| - )\s*")
DOTTED = re.compile(r"(?<=\w)\.(?=\w)")
WORDS = re.compile(r"[^\W_]+")
HYPHENED = re.compile(r"\b\w+(?:-\w+)+\b")


def closes(message: str) -> bool:
    """Whether the message says that the present work is done: "merged", "ça marche", "ist fertig", "ya está listo"."""
    text = message[:LOOKED_AT].casefold().replace("’", "'").replace("peut-être", "peutêtre")
    text = HYPHENED.sub(" ", DOTTED.sub(" ", QUOTED.sub(" ", text)))
    return any(sentence_closes(found[0].strip()) for found in SENTENCE.finditer(text))


def mentions(message: str, label: str) -> bool:
    """Whether a message refers to a scope: its label's words stand in it, in order, however they are joined."""
    words = [re.escape(word) for word in WORDS.findall(label.casefold())]
    if not words:
        return False
    return re.search(r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])", message.casefold()) is not None


def sentence_closes(sentence: str) -> bool:
    """One sentence, its final mark included."""
    if (
        not sentence
        or "?" in sentence
        or sentence.startswith("¿")
        or FRAMES.search(sentence)
        or CONTRAST.search(sentence)
    ):
        return False
    held_back = False
    for clause in SEPARATOR.split(sentence.rstrip(".!;… \n")):
        if not clause:
            continue
        blocked = BLOCKERS.search(clause) is not None
        claimed = CLAIMS.search(ADJECTIVES.sub(" ", LEAD_INS.sub("", clause))) is not None
        if claimed and not blocked and not held_back:
            return True
        held_back = blocked and not claimed
    return False
