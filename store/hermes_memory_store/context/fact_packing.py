"""What all who choose or rank facts for a session agree on: the order of types, and what a line of a text costs."""

from __future__ import annotations

from hermes_memory_store.fact_types import TYPE_SYMBOLS

LINE_TOKENS = 1
"""What the end of a line costs."""

MOST_GIVEN_BYTES = 9_000
"""What one text may take, whatever the policy says: Claude Code replaces a hook's context above 10,000 characters with a preview,
and Codex counts four bytes a token."""

BINDING = {kind: rank for rank, kind in enumerate(TYPE_SYMBOLS)}
"""Rank of a fact's type, most binding first, as `FactType` lists them."""
