"""Themes (agent identities), their kinds and their policies.

`from hermes_memory_themes import normalise_theme, Policies` gives the public names: the theme of a connection
(`resolve_theme`), the only maker of theme names (`normalise_theme`, `ThemeName`), the policies of `memory-themes.toml`,
and the errors `ThemeError` and `PolicyError`. Each is imported on first use.

Imports the standard library only; every other package may import it. Read `theme_identity.py` first.
"""

_MODULES = {
    "embedding_settings": "EmbeddingSettings",
    "policy": "Policies SyncCarrier ThemePolicy",
    "theme_errors": "PolicyError ThemeError",
    "theme_identity": "ThemeKind ThemeName classify_theme normalise_theme resolve_theme",
}
"""The public names by the module that defines them. `__init__.pyi` says the same to type checkers."""

_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name on first use (PEP 562)."""
    from hermes_memory_themes.lazy_import import import_public_name

    return import_public_name(__name__, _HOMES, name)
