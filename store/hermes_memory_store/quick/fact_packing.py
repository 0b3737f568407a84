"""What all who choose or rank facts for a session agree on: the order of types, and what a line of a text costs."""

from __future__ import annotations

LINE_TOKENS = 1
"""What the end of a line costs."""

BINDING = {kind: rank for rank, kind in enumerate("CDV?✓~")}
"""Rank of a fact's type, most binding first, as `FactType` lists them."""
