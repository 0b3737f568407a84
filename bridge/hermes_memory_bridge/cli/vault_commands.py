"""`secret list|show|forget|allow-file|move-to-keyring`: for the person at the terminal, what a masked fact stands for."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option, theme_option
from hermes_memory_bridge.trust import Vault, open_store_vault
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.waiting_records import erase_containing
from hermes_memory_store.store import Store, refuse_missing_store
from hermes_memory_themes import resolve_theme


@click.command("secret", cls=BridgeCommand)
@click.argument("action", type=click.Choice(["list", "show", "forget", "allow-file", "move-to-keyring"]))
@click.argument("name", required=False)
@theme_option("Theme to use.")
@store_option
def secret_command(action: str, name: str | None, theme: str | None, db: str | None) -> int:
    """List, show or forget masked secrets, and say where they may be kept.

    NAME is the name in ‹secret:NAME›; only show and forget take one. allow-file lets secrets that no keyring can keep
    stand in a file that only you can read; move-to-keyring moves those of that file to the keyring.
    \f

    :raises ArgumentError: there is none of that name
    :raises StoreMissing: there is no memory whose secrets these would be
    :raises VaultError: the keyring cannot be reached
    """
    paths = BridgePaths.of(db)
    vault = open_store_vault(paths.store)
    if action == "allow-file":  # also before there is a store: joining a team needs a place for its password first
        vault.allow_file()
        print(f"secrets that no keyring can keep are kept in {vault.file}, which only you can read")
        return 0
    refuse_missing_store(Path(paths.store))
    theme_name = resolve_theme(flag=theme)
    if action == "list":
        return list_secrets(vault, theme_name)
    if action == "move-to-keyring":
        moved = vault.move_to_keyring()
        print(f"moved {moved} secret{'' if moved == 1 else 's'} to the keyring; the file is allowed no longer")
        return 0
    if name is None:
        raise ArgumentError(f"secret {action} needs the name in ‹secret:NAME›; `secret list` shows them")
    name = name.removeprefix("‹secret:").removesuffix("›")
    secret = vault.reveal(theme_name, name)
    if secret is None:
        raise ArgumentError(f"theme {theme_name} has no secret {name!r}", name)
    if action == "forget":
        vault.forget(theme_name, name)
        erase_containing(paths.store, [secret])
        with Store.open(paths.store) as store:
            for copy in store.sync.mask_stored():
                print(f"not reached: {copy}; it may hold secrets that came from the team in clear", file=sys.stderr)
        print(f"forgot {name}; the fact keeps its placeholder, and no other secret is given this name")
    else:
        print(secret)
    return 0


def list_secrets(vault: Vault, theme: str) -> int:
    """Print the names, one a line, and what the person can do about those that stand in plain."""
    names = vault.names(theme)
    for name in names:
        print(name)
    if not names:
        sys.stderr.write(f"theme {theme} keeps no secret\n")
    plain = len(vault.list_plain_names())
    if plain and vault.where != "file":
        sys.stderr.write(
            f"{plain} of this memory's secrets stand in plain in {vault.file}; "
            "`hermes-memory-bridge secret move-to-keyring` moves them to the keyring\n"
        )
    return 0
