"""Who an agent is: its theme (identity), what kind of theme that is, and the policy that goes with it.

Imports the standard library only; every other room may import it. Read `identity.py` first.
"""

from __future__ import annotations

from hermes_memory_themes.embedding import Embedding
from hermes_memory_themes.errors import ThemeError
from hermes_memory_themes.identity import ThemeKind, classify, normalise_theme, resolve_theme
from hermes_memory_themes.policy import Policies, Policy

__all__ = ["Embedding", "Policies", "Policy", "ThemeError", "ThemeKind", "classify", "normalise_theme", "resolve_theme"]
