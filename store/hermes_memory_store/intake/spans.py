"""Spans of a text, and the marks that stand for secrets in it. Replacing by position changes nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MARK = r"‹secret(?::([^\s‹›]*))?›"
"""What stands for a secret: in a fact or a turn with its name, in the log of calls without."""

FILLER = "‹"
"""Stands for each character of a mark while secrets are looked for: a mark is no secret, nor the beginning of one."""


NOT_KEPT = "not-kept"


class TextSpan(NamedTuple):
    """The start and end of a part of a text, in characters."""

    start: int
    end: int


def merge_text_spans(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Sort the spans, merging those that overlap. Spans that only touch stay apart."""
    merged: list[TextSpan] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = TextSpan(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def replace_text_spans(text: str, replacements: Iterable[tuple[TextSpan, str]]) -> str:
    """Replace each span once, back to front. :param replacements: spans that do not overlap"""
    for span, replacement in sorted(replacements, reverse=True):
        text = text[: span.start] + replacement + text[span.end :]
    return text


def blank_secret_marks(text: str) -> str:
    return re.sub(MARK, lambda mark: FILLER * len(mark[0]), text) if FILLER in text else text


def to_secret_placeholder(name: str = "") -> str:
    """Return the mark of a secret. :param name: its name in the vault; none where it must not be told"""
    return f"‹secret:{name}›" if name else "‹secret›"


def find_mark_names(text: str) -> set[str]:
    return {mark[1] for mark in re.finditer(MARK, text) if mark[1]}
