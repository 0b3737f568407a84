"""What lines cost in tokens, counted: for those who have the store. Others take the tokens that it keeps of each fact."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from hermes_memory_store.context.fence import HEAD, MARK
from hermes_memory_store.context.packing import format_left_out
from hermes_memory_store.notation.token_count import count_tokens


@lru_cache(maxsize=1 << 14)
def count_text(text: str, count: Callable[[str], int] = count_tokens) -> int:
    """Return the tokens of a text that is counted again and again: lines, labels and parts of blocks stay the same for long."""
    return count(text)


def count_fenced_line(line: str) -> int:
    """Return what a line costs in its fence."""
    return count_text(f"\n{MARK}{line}")


def count_fenced_lines(lines: list[str], count: Callable[[str], int] = count_tokens) -> list[int]:
    """Return what each of several lines costs in its fence."""
    return [count_text(f"\n{MARK}{line}", count) for line in lines]


def count_fence() -> int:
    """Return what the head of a fence costs."""
    return count_text(HEAD)


def count_left_out_line() -> int:
    """Return what the line costs that counts the facts left out."""
    return count_fenced_line(format_left_out(9_999))
