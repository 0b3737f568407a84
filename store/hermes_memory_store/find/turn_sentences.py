"""A turn in one line: the sentence with most of the question's words, those around it, and who said it, when."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection

from hermes_memory_store.find.ranking import text_terms
from hermes_memory_store.items.kinds import TurnRow
from hermes_memory_store.language.tokenizer import is_unspaced
from hermes_memory_store.model import Millis, Turn

MOST_TOKENS = 60
"""What the sentences of one turn may take: what repeats the question is often answered by the next."""

FEW_TOKENS = 12
"""The same where turns stand in a list of sessions."""

MOST_CHARS, MOST_GIVEN_CHARS = 4_000, 400
"""Of a turn that are looked at, and that are given; a log or a table has no sentences."""

SENTENCE_ENDS = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n+")

SPEAKER = re.compile(r"([^\W\d_][\w'’.-]*(?: [^\W\d_][\w'’.-]*)?): ")
"""Who speaks, as hosts write it before what several people say: one or two words and a colon."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""In full: each is one token, as an abbreviation is."""


def format_turn_line(
    turn: Turn | TurnRow, question_terms: Collection[str], now: Millis | None, count: Callable[[str], int]
) -> str:
    """Return a turn as it is given: `Ann, 8 May: I keep bees.` :param question_terms: index terms of the question"""
    speaker, text = split_speaker(turn)
    return f"{speaker}, {format_day(turn.at, now)}: {find_best_sentences(text, question_terms, count)}"


def split_speaker(turn: Turn | TurnRow) -> tuple[str, str]:
    """Return who speaks in a turn, else its role, and what is said on one line for each paragraph."""
    text = turn.content[:MOST_CHARS].strip()
    match = SPEAKER.match(text)
    return (match[1], text[match.end() :]) if match else (turn.role, text)


def format_day(at: Millis, now: Millis | None = None) -> str:
    """Return the day of a moment in UTC, with the year unless it is that of `now`."""
    then = time.gmtime(at / 1000)
    day = f"{then.tm_mday} {MONTHS[then.tm_mon - 1]}"
    return day if now is not None and then.tm_year == time.gmtime(now / 1000).tm_year else f"{day} {then.tm_year}"


def find_best_sentences(
    text: str, question_terms: Collection[str], count: Callable[[str], int], most: int = MOST_TOKENS
) -> str:
    """Return the sentence with most of the question's words, the first of several, and those around it.

    :param most: tokens, for what stands around it
    """
    whole = " ".join(text.split())
    if len(whole) <= MOST_GIVEN_CHARS and count(whole) <= most:
        return whole
    sentences = [" ".join(sentence.split()) for sentence in SENTENCE_ENDS.split(text) if sentence.strip()]
    terms = frozenset(question_terms)
    first = last = max(range(len(sentences)), key=lambda at: len(terms.intersection(text_terms(sentences[at]))))
    line = sentences[first]
    while True:
        if last + 1 < len(sentences):
            wider = (first, last + 1)
        elif first > 0:
            wider = (first - 1, last)
        else:
            break
        longer = join_sentences(sentences[wider[0] : wider[1] + 1])
        if len(longer) > MOST_GIVEN_CHARS or count(longer) > most:
            break
        (first, last), line = wider, longer
    return line if len(line) <= MOST_GIVEN_CHARS else cut_around(line, terms)


def join_sentences(sentences: list[str]) -> str:
    """Return sentences as one line; those of scripts without spaces need none between them."""
    line = sentences[0]
    for sentence in sentences[1:]:
        line += sentence if is_unspaced(line[-2:-1] or "a") else f" {sentence}"
    return line


def cut_around(text: str, terms: Collection[str]) -> str:
    """Return `MOST_GIVEN_CHARS` of a text, around the first word with one of these terms."""
    words = text.split()
    at = next((place for place, word in enumerate(words) if not frozenset(text_terms(word)).isdisjoint(terms)), 0)
    before = len(" ".join(words[:at]))
    start = max(0, min(before - MOST_GIVEN_CHARS // 4, len(text) - MOST_GIVEN_CHARS))
    part = text[start : start + MOST_GIVEN_CHARS].strip()
    return f"{'… ' if start else ''}{part}{' …' if start + MOST_GIVEN_CHARS < len(text) else ''}"
