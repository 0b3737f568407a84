"""Secrets in a text: tokens, keys and passwords that must not be in a memory that is recalled into prompts.

They are located by first and last character, and never searched for again by content: a password of one letter
occurs in half the words of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_memory_store.intake.secret_commands import find_command_secrets, find_parameter_secrets
from hermes_memory_store.intake.secret_context import (
    find_address_passwords,
    find_header_secrets,
    find_named_secrets,
    find_sentence_secrets,
)
from hermes_memory_store.intake.secret_formats import find_hinted_formats
from hermes_memory_store.intake.secret_names import HINTS, find_secret_kind, has_hint
from hermes_memory_store.intake.secret_phrases import (
    CODE_HINTS,
    PHRASE_HINTS,
    find_phrase_secrets,
    find_spelled_secrets,
)
from hermes_memory_store.intake.secret_values import is_chosen_name
from hermes_memory_store.intake.service_rules import find_service_secrets
from hermes_memory_store.intake.spans import FILLER, TextSpan, blank_secret_marks, merge_text_spans
from hermes_memory_store.safe_text import lazy_pattern, load_pattern

LONG = 15
"""Characters of the shortest word that holds a token of a known form."""

DIGIT = lazy_pattern(r"\d")

SEALED = lazy_pattern(r"ENC\[[^\]\n]*\]|\b(?:SHA256:|sha\d{3}[:/-])[A-Za-z0-9+/]{40,}={0,2}")
"""What sops or eyaml has encrypted, and a named digest, is no secret."""

SEAL_HINTS = ("ENC[", "SHA256:", "sha256", "sha384", "sha512")

TOKEN = lazy_pattern(r"[\w+/=.~|:-]{14,}")
"""What may hold a token: no other sign is in one."""

LETTERS = lazy_pattern(r"_[A-Za-z]{34}(?!\w)")
"""The end of a token of Hugging Face: letters alone, which may look like words."""

SHOWN = lazy_pattern(r"(?i)x{6}|\*{4}|\.{3}|…|your[-_]|([a-z0-9])\1{9}")
"""Part of a token that only shows a form. Ten times the same is no chance, and in a private key no padding."""


def find_secrets(target: str, content: str) -> list[TextSpan]:
    """Return the spans of secrets in a fact's content, in order and without overlaps; none in an ordinary fact.

    :param target: of the fact: `db.password` announces one as `DB_PASSWORD=` does
    """
    announced = has_hint(f"{target} {content}".lower(), HINTS)
    long = max(map(len, content.split()), default=0) >= LONG
    coded = announced or long or "@" in content or " -" in content
    text = (
        SEALED.sub(lambda match: FILLER * len(match[0]), content) if long and has_hint(content, SEAL_HINTS) else content
    )
    text = blank_secret_marks(text)
    found = [*find_phrase_secrets(text)] if DIGIT.search(content) else []
    if coded:
        if (long and has_long_token(text)) or "PRIVATE KEY" in text:
            found += [*find_secret_formats(text), *find_service_secrets(text)]
        found += find_address_passwords(text)
        found += find_command_secrets(text)
        found += find_parameter_secrets(text) if "=" in text else []
        found += [*find_header_secrets(text), *find_announced_secrets(text)] if announced else []
    if not found and not announced:
        return []
    if announced and find_secret_kind(target) is not None:
        lead = f"{target}: "
        found += [
            TextSpan(start - len(lead), end - len(lead))
            for start, end in find_announced_secrets(lead + text)
            if start >= len(lead)
        ]
    return merge_text_spans(span for span in found if text[span.start : span.end].strip(FILLER))


def may_hold_secret(text: str) -> bool:
    """Check quickly whether there may be a secret in a target, in its content, or in one announced by the other.

    :param text: both, with a space between
    """
    if not text.isascii():
        return True
    lower = text.lower()
    return (
        has_hint(lower, HINTS)
        or "@" in text
        or " -" in text
        or max(map(len, text.split()), default=0) >= LONG
        or (DIGIT.search(text) is not None and (has_hint(lower, PHRASE_HINTS) or has_hint(lower, CODE_HINTS)))
    )


def find_secret_texts(target: str, content: str) -> list[str]:
    """Return the secrets in a fact's content, each once, longest first; none for an ordinary fact."""
    found = dict.fromkeys(content[span.start : span.end] for span in find_secrets(target, content))
    return sorted(found, key=len, reverse=True)


def find_secret_formats(text: str) -> Iterator[TextSpan]:
    """Find tokens recognised by their format."""
    for form in find_hinted_formats(text):
        if not form.beside or load_pattern(form.beside).search(text):
            for match in load_pattern(form.pattern).finditer(text):
                span = TextSpan(*match.span("secret" if "secret" in match.re.groupindex else 0))
                if not is_example_token(text[span.start : span.end]):
                    yield span


def find_announced_secrets(text: str) -> Iterator[TextSpan]:
    """Find secrets that a name or a sentence announces."""
    yield from find_named_secrets(text)
    yield from find_sentence_secrets(text)
    yield from find_spelled_secrets(text)


def has_long_token(text: str) -> bool:
    """Check whether any word may be a token: long, and not made of words and numbers."""
    return any(not is_chosen_name(word) or LETTERS.search(word) for word in TOKEN.findall(text))


def is_example_token(token: str) -> bool:
    """Check whether a token is only an example of a format: `ghp_xxxxxxxx`, `sk-ant-your-key-here`."""
    return SHOWN.search(token) is not None or is_chosen_name(re.sub(r"^[A-Za-z]{2,8}[-_]", "", token))
