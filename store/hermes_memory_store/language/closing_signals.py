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

SHORT = 60
"""Characters of a sentence that may consist of common words alone and yet close ("that's it")."""

CLAUSE = 240
"""Characters of a clause that are looked at: who says that something is done says it in few words."""

MENTIONS_LOOKED_AT = 20_000
"""Characters in which a scope is looked for. A scope is named anywhere, but a pasted log must not stall a turn."""

QUOTED = re.compile(r"```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|«[^»]*»|„[^“”\"]*[“”\"]|“[^”]*”", re.DOTALL)
UNSAID = re.compile(r"^\s*(?:>|[-*]?\s*\[ ?\]).*$", re.MULTILINE)
SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;\n…]*")
SEPARATOR = re.compile(r"\s*(?:,|\(|\)|:|–|—| - |\s(?=(?:but|mais|aber|pero|jedoch)\s))\s*")
DOTTED = re.compile(r"(?<=\w)\.(?=\w)")
WORDS = re.compile(r"[^\W_]+")
HYPHENED = re.compile(r"\b\w+(?:-\w+)+\b")


def is_closing_message(message: str) -> bool:
    """Check whether the message says that the current work is done.

    Examples: "merged", "ça marche", "ist fertig", "ya está listo".
    """
    # Here, not above: compiling the words takes 20 ms, which only a turn's message should cost.
    from hermes_memory_store.language import closing_signal_retractions as retractions

    text = unicodedata.normalize("NFC", message[:LOOKED_AT]).casefold().replace("’", "'")
    text = UNSAID.sub(" ", text).replace("peut-être", "peutêtre")
    text = HYPHENED.sub(" ", retractions.INVERTED.sub(retractions.ASKED, DOTTED.sub(" ", QUOTED.sub(" ", text))))
    closes = False
    for found in SENTENCE.finditer(text):
        closes = closes_by_sentence(found[0].strip(" \t\n¡*_"), closes)
    return closes


def has_scope_mention(message: str, label: str) -> bool:
    """Check whether a message mentions a scope: it has the words of the label, in order, however they are joined."""
    words = [re.escape(word) for word in WORDS.findall(label.casefold())]
    if not words:
        return False
    said = unicodedata.normalize("NFC", message[:MENTIONS_LOOKED_AT]).casefold()
    return re.search(r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])", said) is not None


def closes_by_sentence(sentence: str, before: bool) -> bool:
    """Say whether work is done once a sentence was said, its final mark included.

    :param before: whether it was before the sentence, which takes that back when it tells of trouble
    """
    from hermes_memory_store.language import closing_signal_patterns as words
    from hermes_memory_store.language import closing_signal_retractions as retractions

    if not sentence or "?" in sentence or sentence.startswith("¿"):
        return before
    said = sentence.rstrip(".!;… \n")
    stems = words.STEMS if len(said) <= SHORT else words.STEMS & words.find_stems(said)
    if not stems and not before:
        return False
    if stems & words.PERMIT_STEMS:
        said = words.PERMITS.sub(words.SETTLED, said)
    if not before and not is_claim(said):
        return False
    if retractions.TROUBLE.search(said) or retractions.IRONY.search(said):
        return False
    rules = (retractions.FRAMES, retractions.CONTRAST, retractions.PARTIAL, retractions.AGENDA, retractions.OTHER_SENSE)
    return before or not any(rule.search(said) for rule in rules)


def is_claim(sentence: str) -> bool:
    """Check whether a clause of a sentence claims that work is done, and neither it nor those beside it retract that."""
    from hermes_memory_store.language import closing_signal_retractions as retractions

    held_back = closes = False
    for clause in SEPARATOR.split(sentence):
        if not clause:
            continue
        said = " ".join(retractions.UNTROUBLED.sub(" ", clause[:CLAUSE]).split())
        blocked = retractions.BLOCKERS.search(said) is not None
        claimed = has_claim(retractions.ADJECTIVES.sub(" ", retractions.LEAD_INS.sub("", said)))
        conditional = retractions.CONDITION.match(said) is not None
        claimed = claimed and not conditional
        if closes and (conditional or ((blocked or not claimed) and retractions.AFTERTHOUGHT.search(said))):
            return False
        closes = closes or (claimed and not blocked and not held_back)
        held_back = conditional or (blocked and not claimed)
    return closes


def has_claim(clause: str) -> bool:
    """Check whether a clause has words that claim that work is done."""
    from hermes_memory_store.language import closing_signal_patterns as words

    stems = words.find_stems(clause)
    return any(not known.isdisjoint(stems) and pattern.search(clause) for known, pattern in words.CLAIMS)
