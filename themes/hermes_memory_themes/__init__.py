"""Themes (agent identities), their kinds and their policies.

Imports the standard library only; every other package may import it. Read `theme_identity.py` first.
"""

from __future__ import annotations

from hermes_memory_themes.embedding_settings import EmbeddingSettings
from hermes_memory_themes.policy import Policies, ThemePolicy
from hermes_memory_themes.theme_errors import ThemeError
from hermes_memory_themes.theme_identity import ThemeKind, classify_theme, normalise_theme, resolve_theme

__all__ = [
    "EmbeddingSettings",
    "Policies",
    "ThemeError",
    "ThemeKind",
    "ThemePolicy",
    "classify_theme",
    "normalise_theme",
    "resolve_theme",
]
