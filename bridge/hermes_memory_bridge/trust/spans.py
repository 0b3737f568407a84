"""Parts of a text by position, and the marks that stand for secrets in it. Replacing by position changes nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

MARK = re.compile(r"‹secret(?::([^\s‹›]*))?›")
"""What stands for a secret: in a fact or a turn with its name, in the log of calls without."""

FILLER = "‹"
"""Stands for each character of a mark while secrets are looked for: a mark is no secret, nor the beginning of one."""


class Span(NamedTuple):
    """Where a part of a text begins and ends, in characters."""

    start: int
    end: int


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap as one. Spans that only touch stay apart."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def replace_spans(text: str, replacements: Iterable[tuple[Span, str]]) -> str:
    """The text with each span replaced once, back to front. :param replacements: spans that do not overlap"""
    for span, replacement in sorted(replacements, reverse=True):
        text = text[: span.start] + replacement + text[span.end :]
    return text


def fill_marks(text: str) -> str:
    """The text, as long as before, with nothing to read in its marks."""
    return MARK.sub(lambda mark: FILLER * len(mark[0]), text) if FILLER in text else text


def mark_names(text: str) -> set[str]:
    """The names in the marks of a text."""
    return {mark[1] for mark in MARK.finditer(text) if mark[1]}
