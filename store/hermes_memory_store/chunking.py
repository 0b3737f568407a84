"""Slices of long sequences, one statement or transaction each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

VALUES_AT_ONCE = 500
"""Values bound in one statement. SQLite's oldest builds allow 999 variables in one, and a statement binds a few others beside
the list; above some hundred values, a longer list is no faster."""


def in_chunks(items: Sequence[T], size: int = VALUES_AT_ONCE) -> list[Sequence[T]]:
    """Return slices of at most `size` items, in order (`itertools.batched` comes with Python 3.12, and yields tuples)."""
    return [items[start : start + size] for start in range(0, len(items), size)]
