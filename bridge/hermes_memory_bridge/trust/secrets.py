"""Secrets in a text: tokens, keys and passwords that must not stand in a memory that is recalled into prompts.

They are found by where they stand, first and last character, and never looked for again by what they say: a password of one
letter stands in half the words of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_bridge.trust.secret_context import find_addressed, find_named, find_said
from hermes_memory_bridge.trust.secret_formats import formats_hinted
from hermes_memory_bridge.trust.secret_names import HINTS, kind_of_name
from hermes_memory_bridge.trust.secret_values import is_name
from hermes_memory_bridge.trust.spans import FILLER, Span, fill_marks, merge_spans

LONG = 16
"""Characters of the shortest word that holds a token of a known form."""

SHOWN = re.compile(r"(?i)x{6}|\*{4}|\.{3}|…|your[-_]|([a-z0-9])\1{9}")
"""Part of a token that only shows a form. Ten times the same is no chance, and in a private key no padding."""


def find_secrets(target: str, content: str) -> list[Span]:
    """Where the secrets stand in a fact's content, in order, none overlapping another; none in an ordinary fact.

    :param target: of the fact: `db.password` announces one as `DB_PASSWORD=` does
    """
    announced = announces_any(f"{target} {content}".lower())
    long = max(map(len, content.split()), default=0) >= LONG
    if not (announced or long or "@" in content or " -" in content):
        return []
    text = fill_marks(content)
    found = [*find_formats(text)] if long or "PRIVATE KEY" in text else []
    found += find_addressed(text)
    found += find_announced(text) if announced else []
    if announced and kind_of_name(target) is not None:
        lead = f"{target}: "
        found += [
            Span(start - len(lead), end - len(lead)) for start, end in find_announced(lead + text) if start >= len(lead)
        ]
    return merge_spans(span for span in found if text[span.start : span.end].strip(FILLER))


def secrets_in(target: str, content: str) -> list[str]:
    """The secrets in a fact's content, each once, longest first; none for an ordinary fact."""
    found = dict.fromkeys(content[span.start : span.end] for span in find_secrets(target, content))
    return sorted(found, key=len, reverse=True)


def find_formats(text: str) -> Iterator[Span]:
    """Tokens that say by their form what they are."""
    for form in formats_hinted(text):
        if form.beside is None or form.beside.search(text):
            for match in form.pattern.finditer(text):
                span = Span(*match.span("secret" if "secret" in form.pattern.groupindex else 0))
                if not is_shown_form(text[span.start : span.end]):
                    yield span


def find_announced(text: str) -> Iterator[Span]:
    """Secrets that a name or a sentence gives away."""
    yield from find_named(text)
    yield from find_said(text)


def announces_any(lower: str) -> bool:
    """Whether a text in lower case has any of `HINTS`."""
    for hint in HINTS:  # noqa: SIM110 - a generator takes twice as long, and every write comes here
        if hint in lower:
            return True
    return False


def is_shown_form(token: str) -> bool:
    """Whether a token only shows a form: `ghp_xxxxxxxx`, `sk-ant-your-key-here`."""
    return SHOWN.search(token) is not None or is_name(re.sub(r"^[A-Za-z]{2,8}[-_]", "", token))
