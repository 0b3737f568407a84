"""`token add|list|show|rotate|revoke`: who may use the bridge over the network.

The store keeps a digest. The token itself is printed once, and kept for this machine's own clients where its secrets are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hermes_memory_bridge.hub import opened
from hermes_memory_bridge.places import Places
from hermes_memory_bridge.trust.vault import Vault
from hermes_memory_store.clock import duration, iso
from hermes_memory_store.credentials import Credential
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import RIGHTS, Rights
from hermes_memory_store.store import Store
from hermes_memory_themes import normalise_theme

SHELF = ":token"
"""The vault's shelf for tokens. A theme's name has no colon, so none of its secrets stands there."""


def add_parser(commands: Any) -> None:
    """The command, for the bridge's own parser."""
    token = commands.add_parser(
        "token", help="make, list and revoke tokens", description="Manage tokens for the bridge."
    )
    actions = token.add_subparsers(dest="action", metavar="ACTION", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--db", metavar="FILE", help="the store")
    shared.add_argument("--json", action="store_true", help="one JSON document")
    adding = actions.add_parser("add", parents=[shared], help="make a token; it is printed once")
    adding.add_argument("name")
    adding.add_argument("--theme", metavar="NAME", help="whose memory it opens (default)")
    adding.add_argument("--rights", default="read,write", metavar="WORDS", help=f"of {', '.join(RIGHTS)} (read,write)")
    adding.add_argument("--expires", metavar="AGE", help="e.g. 30d")
    actions.add_parser("list", parents=[shared], help="every token, without its secret")
    for name, meaning in (
        ("show", "print a token again, on the machine that made it"),
        ("rotate", "give a token another secret"),
        ("revoke", "end a token for good"),
    ):
        actions.add_parser(name, parents=[shared], help=meaning).add_argument("name")
    token.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Carry one of them out. Exit code 0; errors are raised."""
    places = Places.of(options.db)
    vault = Vault(Path(places.folder) / "secrets.json")
    with opened(Path(places.store), create=options.action == "add") as store:
        action = {"add": add, "list": listed, "show": show, "rotate": rotate, "revoke": revoke}[options.action]
        document, text = action(store, vault, options)
    print(json.dumps(document) if options.json else text)
    return 0


def add(store: Store, vault: Vault, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Make a token."""
    try:
        rights = Rights.parse(options.rights)
    except ValueError as error:
        raise ArgumentError(str(error), options.rights) from error
    expires = None if options.expires is None else store.clock() + duration(options.expires)
    made, secret = store.credentials.add(
        options.name, normalise_theme(options.theme or "default"), rights, expires_at=expires
    )
    keep(vault, made.name, secret)
    return {
        **document_of(made),
        "token": secret,
    }, f"{described(made)}\n{secret}\nIt is shown once; `token show` has it here."


def listed(store: Store, _: Vault, __: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Every token."""
    known = store.credentials.list()
    return {"tokens": [document_of(one) for one in known]}, "\n".join(map(described, known)) or "no tokens"


def show(store: Store, vault: Vault, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """The token itself, on the machine that made it."""
    found = store.credentials.get(options.name)
    secret = vault.reveal(SHELF, shelved(found.name))
    if secret is None:
        raise ArgumentError(
            f"the token {found.name!r} is not kept on this machine; rotate it to get another", found.name
        )
    return {**document_of(found), "token": secret}, secret


def rotate(store: Store, vault: Vault, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """Another secret for the same token."""
    secret = store.credentials.rotate(options.name)
    keep(vault, options.name, secret)
    found = store.credentials.get(options.name)
    return {**document_of(found), "token": secret}, f"{described(found)}\n{secret}"


def revoke(store: Store, vault: Vault, options: argparse.Namespace) -> tuple[dict[str, Any], str]:
    """End a token."""
    found = store.credentials.revoke(options.name)
    vault.forget(SHELF, shelved(found.name))
    return document_of(found), described(found)


def keep(vault: Vault, name: str, secret: str) -> None:
    """Keep a token for this machine's own clients, in the place of the one it had."""
    vault.forget(SHELF, shelved(name))
    vault.keep(SHELF, shelved(name), secret)


def shelved(name: str) -> str:
    """A token's name as the vault has it: two names never share a shelf."""
    return name.encode().hex()


def document_of(one: Credential) -> dict[str, Any]:
    """A token as JSON."""
    return {
        "name": one.name,
        "theme": one.theme,
        "rights": str(one.rights),
        "created_at": iso(one.created_at),
        "expires_at": None if one.expires_at is None else iso(one.expires_at),
        "revoked_at": None if one.revoked_at is None else iso(one.revoked_at),
    }


def described(one: Credential) -> str:
    """A token in a line."""
    until = f", until {iso(one.expires_at)}" if one.expires_at else ""
    gone = f", revoked {iso(one.revoked_at)}" if one.revoked_at else ""
    return f"{one.name}: theme {one.theme}, {one.rights or 'no rights'}{until}{gone}"
