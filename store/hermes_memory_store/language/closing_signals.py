"""Closing signals: does a user's message say that the work is finished?

A message is split into sentences and clauses; a clause closes when it claims completion
and nothing in it, or in the clause it depends on, retracts the claim: a negation, a question, a plan, a condition,
a request, a doubt. The vocabulary of each language is in `closing_signals.txt`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from hermes_memory_store.data_files import FRAGMENTS, Rows, read_sections
from hermes_memory_store.frozen import dataclass

FILE = Path(__file__).with_name("closing_signals.txt")

CLAIMS = ("english", "french", "german", "spanish")

DOUBTED_CLAIMS = ("portuguese", "italian", "russian", "chinese", "japanese", "korean")
"""Languages with doubts of their own, which keep a whole sentence from closing: their words mean other things in those above."""

SETTLING = ("leave_to_close", "free_of_trouble", "moves_on", "idioms")
"""Phrases that say that work is done and hold a word that would take a claim back."""

RETRACTIONS = (
    "inverted", "blockers", "condition", "frames", "contrast", "afterthought", "trouble", "partial", "irony", "agenda",
    "other_sense", "adjectives", "untroubled", "lead_ins", "awaited",
)  # fmt: skip
"""What takes a claim back, or shows that it is none."""

OUTRIGHT = ("frames", "contrast", "partial", "agenda", "other_sense", "awaited")
"""Those of them that keep a whole sentence from closing, but not what was closed before it."""

SETTLED, ASKED = "✓", " comment "
"""What a settling phrase is read as, and a French inversion: as one of the words that take a claim back."""

STEM = 4
"""First letters of a word that tell which patterns may match it."""

LOOKED_AT, MENTIONS_LOOKED_AT = 2_000, 20_000
"""Characters of a message that are looked at, for a closing word, which beyond them belongs to pasted text, and for a scope."""

SHORT = 60
"""Characters of a sentence that may consist of common words alone and yet close ("that's it")."""

CLAUSE = 240
"""Characters of a clause that are looked at: who says that something is done says it in few words."""

QUOTED = re.compile(
    r"```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|«[^»]*»|„[^“”\"]*[“”\"]|“[^”]*”|‘[^’']*['’]|「[^」]*」|『[^』]*』", re.DOTALL
)
UNSAID = re.compile(r"^\s*(?:>|[-*]?\s*\[ ?\]).*$", re.MULTILINE)
SENTENCE = re.compile(r"[^.!?;\n…。]+[.!?;\n…。]*")
SEPARATOR = re.compile(r"\s*(?:,|\(|\)|:|–|—| - |\s(?=(?:but|mais|aber|pero|jedoch|mas|но)\s)|、)\s*")
EDGES = re.compile(r"^[^\w([✓]+|[^\w)%✓]+$")
DOTTED = re.compile(r"(?<=\w)\.(?=\w)")
WORD = re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3✓]|[^\W\d_\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}")
"""A word, or one character of Chinese, Japanese and Korean."""

WORDS = re.compile(r"[^\W_]+")
HYPHENED = re.compile(r"\b\w+(?:-\w+)+\b")


@dataclass(frozen=True, slots=True)
class ClosingRules:
    claims: tuple[tuple[frozenset[str], re.Pattern[str]], ...]
    """By language: the stems of its words, without which nothing matches, and what says that something is done."""
    doubted: tuple[tuple[frozenset[str], str, str], ...]
    """The same of further languages, with what keeps a sentence from closing; compiled by the first message that needs it."""
    settling: re.Pattern[str]
    settling_stems: frozenset[str]
    stems: frozenset[str]
    """Words of which a long sentence holds one before it is looked at closely: a claim is made with more than common words."""
    retractions: dict[str, re.Pattern[str]]


@cache
def load_closing_rules() -> ClosingRules:
    """Load the vocabulary, which takes so long that only a turn's message should cost it."""
    doubts = [f"{name}_doubts" for name in DOUBTED_CLAIMS]
    names = [*CLAIMS, *DOUBTED_CLAIMS, *doubts, *SETTLING, *RETRACTIONS, "common"]
    sections = read_sections(FILE, dict.fromkeys(names, 1))

    def patterns(names: Iterable[str]) -> list[str]:
        return [pattern for name in names for (pattern,) in sections[name]]

    claims = tuple((find_pattern_stems(sections[name]), compile_alternatives(patterns([name]))) for name in CLAIMS)
    doubted = tuple(
        (find_pattern_stems(sections[name]), "|".join(patterns([name])), "|".join(patterns([doubt])))
        for name, doubt in zip(DOUBTED_CLAIMS, doubts, strict=True)
    )
    settling_stems = find_pattern_stems([(pattern,) for pattern in patterns(SETTLING)])
    begun_stems = find_pattern_stems([row[1:] for row in sections[FRAGMENTS] if row[0] == "BEGUN_EN"])
    ignored = find_stems(" ".join(patterns(["common"]))) | (begun_stems - {"been"})
    stems = settling_stems.union(*(rows[0] for rows in claims), *(rows[0] for rows in doubted)) - ignored
    return ClosingRules(
        claims,
        doubted,
        compile_alternatives(patterns(SETTLING)),
        settling_stems,
        frozenset(stem for stem in stems if len(stem) > 2 or not stem.isascii()),
        {name: re.compile("|".join(patterns([name]))) for name in [*RETRACTIONS, "free_of_trouble"]},
    )


def compile_alternatives(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def find_stems(text: str) -> frozenset[str]:
    return frozenset(word[:STEM] for word in WORD.findall(text))


def find_pattern_stems(rows: Rows) -> frozenset[str]:
    return find_stems(re.sub(r"\\[bwsd]", " ", " ".join(pattern for (pattern,) in rows)))


def is_closing_message(message: str) -> bool:
    """Check whether the message says that the current work is done.

    Examples: "merged", "ça marche", "ist fertig", "ya está listo".
    """
    text = unicodedata.normalize("NFKC", message[:LOOKED_AT]).casefold().replace("’", "'").replace("ё", "е")
    text = UNSAID.sub(" ", text).replace("peut-être", "peutêtre")
    retractions = load_closing_rules().retractions
    text = retractions["inverted"].sub(ASKED, DOTTED.sub(" ", QUOTED.sub(" ", text)))
    if retractions["awaited"].search(text):
        text = retractions["free_of_trouble"].sub(" ", text)
    closes = False
    for sentence in SENTENCE.findall(HYPHENED.sub(" ", text)):
        closes = closes_by_sentence(sentence.strip(), closes)
    return closes


def has_scope_mention(message: str, label: str) -> bool:
    """Check whether a message mentions a scope: it has the words of the label, in order, however they are joined."""
    words = [re.escape(word) for word in WORDS.findall(label.casefold())]
    if not words:
        return False
    text = unicodedata.normalize("NFC", message[:MENTIONS_LOOKED_AT]).casefold()
    return re.search(r"(?<![^\W_])" + r"[\W_]*".join(words) + r"(?![^\W_])", text) is not None


def closes_by_sentence(sentence: str, before: bool) -> bool:
    """Say whether work is done once a sentence was said, its final mark included.

    :param before: whether it was before the sentence, which takes that back when it tells of trouble
    """
    if not sentence or "?" in sentence or sentence.startswith("¿"):
        return before
    rules = load_closing_rules()
    retractions = rules.retractions
    text = EDGES.sub("", sentence)
    stems = rules.stems if len(text) <= SHORT else rules.stems & find_stems(text)
    if not stems and not before:
        return False
    if stems & rules.settling_stems:
        text = rules.settling.sub(SETTLED, text)
    text = retractions["untroubled"].sub(" ", text)
    if not before and not is_claim(text) and not is_undoubted_claim(text):
        return False
    if retractions["trouble"].search(text) or retractions["irony"].search(text):
        return False
    return before or not any(retractions[name].search(text) for name in OUTRIGHT)


def is_claim(sentence: str) -> bool:
    """Check whether a clause of a sentence claims that work is done, and neither it nor those beside it retract that."""
    retractions = load_closing_rules().retractions
    held_back = closes = False
    for part in filter(None, SEPARATOR.split(sentence)):
        clause = " ".join(part[:CLAUSE].split())
        blocked = retractions["blockers"].search(clause) is not None
        conditional = retractions["condition"].match(clause) is not None
        claimed = not conditional and has_claim(
            retractions["adjectives"].sub(" ", retractions["lead_ins"].sub("", clause))
        )
        if closes and (conditional or ((blocked or not claimed) and retractions["afterthought"].search(clause))):
            return False
        closes = closes or (claimed and not blocked and not held_back)
        held_back = conditional or (blocked and not claimed)
    return closes


def is_undoubted_claim(sentence: str) -> bool:
    """Check the same in the languages in which a doubt anywhere in the sentence retracts its claims, if no other claims."""
    rules, stems = load_closing_rules(), find_stems(sentence)
    clauses = [rules.retractions["lead_ins"].sub("", part.strip()) for part in SEPARATOR.split(sentence[:CLAUSE])]
    return not any(map(has_claim, clauses)) and any(
        not claim_stems.isdisjoint(stems)
        and any(re.search(claim, clause) for clause in clauses)
        and not re.search(doubts, sentence)
        for claim_stems, claim, doubts in rules.doubted
    )


def has_claim(clause: str) -> bool:
    stems, claims = find_stems(clause), load_closing_rules().claims
    return any(not claim_stems.isdisjoint(stems) and pattern.search(clause) for claim_stems, pattern in claims)
