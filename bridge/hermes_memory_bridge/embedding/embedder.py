"""What any source of vectors looks like, and which one the settings mean."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from hermes_memory_bridge.embedding.errors import Unavailable
from hermes_memory_themes import Embedding

if TYPE_CHECKING:
    from hermes_memory_bridge.trust import Vault

Floats = Sequence[float]

KEY_THEME = "@embedding"
"""Under which the vault keeps the endpoint's key. No theme can be called so, so no agent can ask for it."""

KEY_NAME = "key"


class Embedder(Protocol):
    """A source of vectors."""

    name: str
    """Of the model, as answers say it."""
    batch: int
    """Texts that are best given at once in the background."""
    gentle: bool
    """Whether it computes on this machine, and should rest as long as it works."""

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        """A vector for each text; None where none came. :raises EmbeddingError: none came at all"""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


def embedder_for(settings: Embedding, vault: Vault | None, environ: Mapping[str, str] | None = None) -> Embedder | None:
    """The source of vectors that the settings mean; None when they mean none. May read files and ask the keyring.

    :raises Unavailable: they mean one that cannot be had, with the reason
    """
    speaks = settings.speaks
    if speaks == "off":
        return None
    if speaks in ("local", "auto"):
        from hermes_memory_bridge.embedding import local

        if speaks == "auto" and not (settings.model or local.is_there()):
            return None
        return local.LocalModel.load(settings.model)
    if not settings.url:
        raise Unavailable(f"the provider is {speaks}, and no url says where")
    if not settings.model:
        raise Unavailable("an endpoint is set, and no model; set model, or $HERMES_MEMORY_EMBED_MODEL")
    from hermes_memory_bridge.embedding.endpoint import Endpoint

    return Endpoint(settings, key_of(vault, environ))


def key_of(vault: Vault | None, environ: Mapping[str, str] | None = None) -> str | None:
    """The endpoint's key: of the environment, else of the vault."""
    key = (os.environ if environ is None else environ).get("HERMES_MEMORY_EMBED_KEY")
    if key or vault is None:
        return key or None
    from hermes_memory_bridge.trust.vault import VaultError

    try:
        return vault.reveal(KEY_THEME, KEY_NAME)
    except VaultError as error:
        raise Unavailable(f"the key of the embedding endpoint could not be read: {error.message}") from error
