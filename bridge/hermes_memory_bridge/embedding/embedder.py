"""The choice of a source of vectors by the settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_memory_bridge.embedding.embedder_protocol import Embedder, EmbedderUnavailable
from hermes_memory_themes import EmbeddingSettings

if TYPE_CHECKING:
    from hermes_memory_bridge.trust import Vault

KEY_THEME = "@embedding"
"""Under which the vault keeps the endpoint's key. No theme can be called so, so no agent can ask for it."""

KEY_NAME = "key"


def build_embedder(
    settings: EmbeddingSettings, vault: Vault | None, environ: Mapping[str, str] | None = None
) -> Embedder | None:
    """Build the source of vectors that the settings select; None when they select none.

    May read files and the keyring.

    :raises EmbedderUnavailable: the selected source cannot be used; says why
    """
    speaks = settings.speaks
    if speaks == "off":
        return None
    if speaks in ("local", "auto"):
        from hermes_memory_bridge.embedding import local_model

        if speaks == "auto" and not (settings.model or local_model.is_model_installed()):
            return None
        return local_model.LocalModel.load(settings.model)
    if not settings.url:
        raise EmbedderUnavailable(f"the provider is {speaks}, and no url says where")
    if not settings.model:
        raise EmbedderUnavailable("an endpoint is set, and no model; set model, or $HERMES_MEMORY_EMBED_MODEL")
    from hermes_memory_bridge.embedding.embedding_endpoint import EmbeddingEndpoint

    return EmbeddingEndpoint(settings, find_endpoint_key(vault, environ))


def find_endpoint_key(vault: Vault | None, environ: Mapping[str, str] | None = None) -> str | None:
    """Find the endpoint's key: from the environment, else from the vault."""
    key = (os.environ if environ is None else environ).get("HERMES_MEMORY_EMBED_KEY")
    if key or vault is None:
        return key or None
    from hermes_memory_bridge.trust.system_keyring import VaultError

    try:
        return vault.reveal(KEY_THEME, KEY_NAME)
    except VaultError as error:
        raise EmbedderUnavailable(f"the key of the embedding endpoint could not be read: {error.message}") from error
