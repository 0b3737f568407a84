"""Fencing of recalled text as data: nothing in it can pass for an instruction or for the end of the fence.

Every line begins with a mark. A closing line could be forged by the content; the beginning of each line cannot. The marks,
the head and their removal stand in `store/quick/fenced_text.py`, which the launcher and the hook program can afford.
"""

from __future__ import annotations

from hermes_memory_store.quick.fenced_text import HEAD, HEADS, MARK, format_marked_lines, remove_fenced_text
from hermes_memory_store.safe_text import to_printable

__all__ = ["HEAD", "MARK", "format_fenced_text", "parse_fenced_text", "remove_fenced_text"]


def parse_fenced_text(text: str) -> str:
    """Return what `format_fenced_text` fenced; a text without a fence as it is."""
    head, _, rest = text.partition("\n")
    return "\n".join(line.removeprefix(MARK) for line in rest.split("\n")) if head in HEADS else text


def format_fenced_text(text: str) -> str:
    """Format the text as marked lines below a sentence that says what they are."""
    return format_marked_lines([to_printable(line) for line in text.split("\n")])
