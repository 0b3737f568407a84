"""Embedding settings: which model makes vectors of facts and questions.

They come from `[embedding]` of `memory-themes.toml` and the environment.

    [embedding]
    provider = "ollama"
    url = "http://127.0.0.1:11434"
    model = "nomic-embed-text"

The environment takes precedence, since a host sets it: `$HERMES_MEMORY_EMBED_URL`, `$HERMES_MEMORY_EMBED_MODEL`. A
key is never in the file: `$HERMES_MEMORY_EMBED_KEY`, or the keyring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from hermes_memory_themes.theme_errors import PolicyError
from hermes_memory_themes.value_classes import dataclass

PROVIDERS = ("auto", "off", "local", "openai", "ollama")

RANGES: dict[str, tuple[float, float]] = {"floor": (0.0, 1.0), "batch": (1, 512), "query_ms": (0, 5_000)}
"""Least and greatest value of each number."""


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    provider: str = "auto"
    """`auto`: the endpoint when a URL is set, else a local model when one is installed, else none. `off`, `local`, `openai`
    (any endpoint of that form), `ollama`."""
    url: str = ""
    """Of the endpoint, with or without its path."""
    model: str = ""
    """As the endpoint calls it; for a local model its folder."""
    floor: float = 0.25
    """Least cosine similarity at which something counts as found by meaning. Models differ."""
    batch: int = 64
    """Texts of one request."""
    query_ms: int = 300
    """How long a question waits for its own vector, in milliseconds; then it is answered by words."""

    @property
    def speaks(self) -> str:
        """The provider with `auto` resolved: `openai` or `ollama` when there is a URL, else `auto`."""
        if self.provider != "auto" or not self.url:
            return self.provider
        from urllib.parse import urlsplit  # here, not above: every command waits for its imports

        parts = urlsplit(self.url)
        return (
            "ollama" if parts.path.startswith("/api") or (parts.port == 11434 and "/v1" not in parts.path) else "openai"
        )

    def in_environment(self, environ: Mapping[str, str]) -> EmbeddingSettings:
        """Return these settings with overrides from the environment. :raises PolicyError: it names an invalid URL"""
        url, model = environ.get("HERMES_MEMORY_EMBED_URL", ""), environ.get("HERMES_MEMORY_EMBED_MODEL", "")
        config = self
        if url:
            if wrong := find_url_fault(url):
                raise PolicyError(f"HERMES_MEMORY_EMBED_URL {wrong}", None)
            config = replace(config, url=url, provider="auto" if config.provider == "local" else config.provider)
        return replace(config, model=model) if model else config


KEYS = {field.name: field.type for field in fields(EmbeddingSettings)}


def find_setting_fault(key: str, value: Any) -> str | None:
    """Find what is wrong with one known setting; None when nothing is."""
    if key in RANGES:
        low, high = RANGES[key]
        kinds = (int, float) if key == "floor" else (int,)
        if isinstance(value, bool) or not isinstance(value, kinds) or not low <= value <= high:
            return f"{key} must be a number from {low:g} to {high:g}, not {value!r}"
        return None
    if not isinstance(value, str):
        return f"{key} must be a text, not {value!r}"
    if key == "provider" and value not in PROVIDERS:
        return f"provider must be one of {', '.join(PROVIDERS)}, not {value!r}"
    if key == "url" and value and (wrong := find_url_fault(value)):
        return f"url {wrong}"
    return None


def find_url_fault(url: str) -> str | None:
    """Find what is wrong with an endpoint's URL, without repeating it: it may hold a secret."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is no address"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "must begin with http:// or https:// and name a host"
    if parts.username or parts.password:
        return "must not hold a password; the key belongs into $HERMES_MEMORY_EMBED_KEY or the keyring"
    return None
