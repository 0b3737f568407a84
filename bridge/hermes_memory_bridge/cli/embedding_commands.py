"""`embedding [state|test|key|forget-key]`: for the person who sets up recall by meaning."""

from __future__ import annotations

import asyncio
import sys
import time

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option
from hermes_memory_bridge.embedding.embedder import KEY_NAME, KEY_THEME, build_embedder
from hermes_memory_bridge.embedding.embedding_errors import EmbeddingError
from hermes_memory_bridge.embedding.vector_index import to_unit_vector
from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_bridge.trust import Vault, open_store_vault
from hermes_memory_store.access.store_policies import StorePolicies
from hermes_memory_store.errors import ArgumentError

SIMILAR_TEXTS = ("The car is in the garage.", "The automobile stands inside.")
"""Texts that share hardly a word and mean the same."""

UNRELATED_TEXT = "Tea is a hot beverage."

WAIT_S = 60.0


@click.command("embedding", cls=BridgeCommand)
@click.argument("action", type=click.Choice(["state", "test", "key", "forget-key"]), default="state")
@store_option
def embedding_command(action: str, db: str | None) -> int:
    """Show the state of recall by meaning, test it, or store the endpoint's key.

    Exit code 1 when there are no vectors.
    """
    paths = BridgePaths.of(db)
    vault = open_store_vault(paths.store)
    if action == "state":
        from hermes_memory_bridge.daemon.control import ask_bridge

        running = ask_bridge(paths, "status")
        print(f"recall by {running['recall']}" if running else "no bridge runs; a connecting agent starts one")
        return 0 if running else 1
    if action == "test":
        return asyncio.run(test_embedding_model(vault))
    vault.forget(KEY_THEME, KEY_NAME)
    if action == "forget-key":
        print("the key of the embedding endpoint is forgotten")
        return 0
    key = prompt_for_key()
    if not key:
        raise ArgumentError("no key was given, and the one there was is forgotten")
    vault.replace(KEY_THEME, KEY_NAME, key)
    print("the key is kept; a running bridge takes it when it starts again: hermes-memory-bridge restart")
    return 0


def prompt_for_key() -> str:
    """Read a key from the terminal without echo, or from a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    import getpass

    return getpass.getpass("key: ").strip()


async def test_embedding_model(vault: Vault) -> int:
    """Query the configured model, and report the result."""
    try:
        embedder = build_embedder(StorePolicies.load().embedding_settings(), vault)
        if embedder is None:
            print("no embedding is configured: recall is by words only; see docs/recall.md")
            return 1
        try:
            await embedder.embed([SIMILAR_TEXTS[0]], WAIT_S)
            begun = time.perf_counter()
            rows = await embedder.embed([*SIMILAR_TEXTS, UNRELATED_TEXT], WAIT_S)
            millis = (time.perf_counter() - begun) * 1000
        finally:
            await embedder.close()
    except EmbeddingError as error:
        print(f"no vectors: {error.said}")
        return 1
    one, like, unlike = (to_unit_vector(row) for row in rows if row is not None)
    near, far = (sum(a * b for a, b in zip(one, other, strict=True)) for other in (like, unlike))
    print(f"{embedder.name}: {len(one)} dimensions, 3 texts in {millis:.0f} ms")
    print(f"like texts are {near:.2f} similar, unlike ones {far:.2f}; the floor belongs between")
    return 0
