"""`secret list`, `secret show|forget NAME`: for the person at the terminal, what a masked fact stands for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from hermes_memory_bridge.places import Places
from hermes_memory_bridge.trust.vault import Vault
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.store import refuse_missing
from hermes_memory_themes import resolve_theme


def add_parser(commands: Any) -> None:
    """The command, for the bridge's own parser."""
    secret = commands.add_parser(
        "secret", help="list, show or forget masked secrets", description="Secrets behind masked facts."
    )
    secret.add_argument("action", choices=["list", "show", "forget"])
    secret.add_argument("name", nargs="?", help="the name in ‹secret:NAME›; list takes none")
    secret.add_argument("--theme", metavar="NAME", help="whose memory")
    secret.add_argument("--db", metavar="FILE", help="the store")
    secret.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """List the names, show a secret, or erase it from the vault.

    :raises ArgumentError: there is none of that name
    :raises StoreMissing: there is no memory whose secrets these would be
    """
    places = Places.of(options.db)
    refuse_missing(Path(places.store))
    vault = Vault(Path(places.folder) / "secrets.json")
    theme = resolve_theme(flag=options.theme)
    if options.action == "list":
        return listed(vault, theme)
    if options.name is None:
        raise ArgumentError(f"secret {options.action} needs the name in ‹secret:NAME›; `secret list` shows them")
    kept = vault.reveal(theme, options.name)
    if kept is None:
        raise ArgumentError(f"theme {theme} has no secret {options.name!r}", options.name)
    if options.action == "forget":
        vault.forget(theme, options.name)
        print(f"forgot {options.name}; the fact keeps its placeholder")
    else:
        print(kept)
    return 0


def listed(vault: Vault, theme: str) -> int:
    """The names, one a line."""
    names = vault.names(theme)
    for name in names:
        print(name)
    if not names:
        sys.stderr.write(f"theme {theme} keeps no secret\n")
    return 0
