"""Secrets that a sentence states: `the password of the router is …`, `das Passwort lautet …`, "changed the key to …"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from hermes_memory_store.intake.patterns import NamedPatterns, has_hint
from hermes_memory_store.intake.secret_values import (
    SECRET_PATTERNS,
    SHORTEST_PASSWORD,
    SHORTEST_RANDOM,
    VALUES,
    SecretKind,
    find_value_span,
    is_passphrase,
    is_password,
    is_random_value,
    is_stated_secret,
    is_strong_password,
    is_strong_secret,
    trim_value_span,
)
from hermes_memory_store.intake.spans import TextSpan

CONTEXT = NamedPatterns(SECRET_PATTERNS, "context")

SENTENCE_REACH = 160
"""Characters after a word of prose in which its secret stands."""

MOST_OPERATORS = 8
"""Assignments after a word of prose that are looked at; a sentence has one or two."""

MANY_CUES = 300
"""Words of prose for secrets in one text from which on each reaches no further than `SHORT_REACH`: it is no prose."""

SHORT_REACH = 20
"""Characters within which `is` or `:` stands in most sentences."""

QUOTES = ('"', "'", "`")


def find_sentence_secrets(text: str) -> Iterator[TextSpan]:
    searched_until = dict.fromkeys(SecretKind, 0)
    long_until = 0
    compound = has_hint(text.lower(), SECRET_PATTERNS.words["hints", "compound"])
    for number, cue in enumerate((CONTEXT.compound_cue if compound else CONTEXT.cue).finditer(text)):
        kind = SecretKind[str(cue.lastgroup)]
        around = SENTENCE_REACH if number < MANY_CUES else SHORT_REACH
        reach = cue.end() + SENTENCE_REACH
        # With the blank and the capital that follow a full stop.
        stop = CONTEXT.sentence_end.search(text, cue.end(), reach + 2)
        end = min(stop.start() + 1 if stop else len(text), reach)
        if kind is not SecretKind.LOGIN and cue.start() >= long_until:
            yield from find_after_cue(text, cue, kind, min(end, cue.end() + around))
            value = CONTEXT.long_value.match(text, cue.end())
            long_until = long_until if value is None else value.end()
        yield from find_near_cue(text, cue, kind, max(cue.end(), searched_until[kind]), end, around)
        searched_until[kind] = end


def find_after_cue(text: str, cue: re.Match[str], kind: SecretKind, end: int) -> Iterator[TextSpan]:
    for operator in islice(CONTEXT.operator.finditer(text, cue.end(), end), MOST_OPERATORS):
        word = CONTEXT.value.match(text, operator.end())
        if word is None or (span := find_value_span(word)) is None:
            continue
        value, direct = (
            text[span.start : span.end],
            CONTEXT.link.fullmatch(text, cue.end(), operator.start()) is not None,
        )
        if CONTEXT.url.match(value) or not (direct or operator[0][-1].isspace()):
            continue
        if direct and kind is SecretKind.PASSWORD:
            phrase = CONTEXT.phrase.match(text, span.start)
            if CONTEXT.phrase_cue.match(cue[0].lower()) and phrase is not None and is_passphrase(phrase[0].strip()):
                yield TextSpan(phrase.start(), phrase.start() + len(phrase[0].rstrip()))
                return
            if is_password(value) or (word["bare"] is None and is_quoted_word(value, operator[0])):
                yield span
                return
        elif direct and len(cue[0]) > len("secrets") and VALUES.uuid.fullmatch(value):
            yield span
            return
        if is_random_value(value):
            yield span
            return


def is_quoted_word(value: str, operator: str) -> bool:
    return (
        not operator.strip(" \t").startswith(("=", ":")) and len(value) >= SHORTEST_PASSWORD and is_stated_secret(value)
    )


def find_near_cue(
    text: str, cue: re.Match[str], kind: SecretKind, begin: int, end: int, before: int
) -> Iterator[TextSpan]:
    """Find words near the cue that can hardly be anything but a secret, and one before `is the password`.

    :param begin: where to begin; earlier text was searched for another cue
    :param before: characters before the cue in which a secret may be named first
    """
    if text[begin : begin + 1] in QUOTES and begin == cue.end():
        begin += 1  # it closes what the cue ends: `type="password" name="…"`
    for word in CONTEXT.value.finditer(text, begin, end):
        span = find_value_span(word) if word.end() - word.start() >= SHORTEST_RANDOM else None
        if span is None:
            continue
        value = text[span.start : span.end]
        quoted = kind is SecretKind.PASSWORD and word["bare"] is None
        if quoted and CONTEXT.link.fullmatch(text, cue.end(), word.start()) and is_password(value):
            yield span
        if (is_strong_secret if kind is SecretKind.KEY else is_strong_password)(value):
            yield span
        elif (
            kind is not SecretKind.KEY
            and (pair := CONTEXT.user_password_pair.match(text, span.start, span.end))
            and is_random_value(pair["secret"])
        ):
            yield TextSpan(*pair.span("secret"))
    if kind is SecretKind.LOGIN:
        return
    since = max(0, cue.start() - before)
    if CONTEXT.copula.search(text, since, cue.start()):
        first = CONTEXT.secret_before_cue.search(text, since, cue.start())
        span = None if first is None else trim_value_span(text, *first.span("bare"))
        if span is not None and is_random_value(text[span.start : span.end]):
            yield span
    adjacent = CONTEXT.adjacent.match(text, cue.end())
    span = None if adjacent is None else trim_value_span(text, *adjacent.span("bare"))
    if span is not None and is_adjacent_key(text[span.start : span.end]):
        yield span


def is_adjacent_key(value: str) -> bool:
    """Check whether a long word right after `token` or `key` is it: letters and digits mixed."""
    return VALUES.uuid.fullmatch(value) is not None or (
        is_random_value(value) and re.fullmatch(r"[\w+/=.-]+", value) is not None
    )
