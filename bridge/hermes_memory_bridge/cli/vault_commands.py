"""`secret list`, `secret show|forget NAME`: for the person at the terminal, what a masked fact stands for."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from hermes_memory_bridge.cli.bridge_options import BridgeCommand, store_option, theme_option
from hermes_memory_bridge.launcher.paths import BridgePaths
from hermes_memory_bridge.trust.vault import Vault
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import refuse_missing_store
from hermes_memory_themes import resolve_theme


@click.command("secret", cls=BridgeCommand)
@click.argument("action", type=click.Choice(["list", "show", "forget"]))
@click.argument("name", required=False)
@theme_option("Theme to use.")
@store_option
def secret_command(action: str, name: str | None, theme: str | None, db: str | None) -> int:
    """List, show or forget masked secrets.

    NAME is the name in ‹secret:NAME›; list takes none.
    \f

    :raises ArgumentError: there is none of that name
    :raises StoreMissing: there is no memory whose secrets these would be
    """
    paths = BridgePaths.of(db)
    refuse_missing_store(Path(paths.store))
    vault = Vault(Path(paths.folder) / "secrets.json")
    whose = resolve_theme(flag=theme)
    if action == "list":
        return list_secrets(vault, whose)
    if name is None:
        raise ArgumentError(f"secret {action} needs the name in ‹secret:NAME›; `secret list` shows them")
    kept = vault.reveal(whose, name)
    if kept is None:
        raise ArgumentError(f"theme {whose} has no secret {name!r}", name)
    if action == "forget":
        vault.forget(whose, name)
        print(f"forgot {name}; the fact keeps its placeholder")
    else:
        print(kept)
    return 0


def list_secrets(vault: Vault, theme: str) -> int:
    """Format the names, one a line."""
    names = vault.names(theme)
    for name in names:
        print(name)
    if not names:
        sys.stderr.write(f"theme {theme} keeps no secret\n")
    return 0
