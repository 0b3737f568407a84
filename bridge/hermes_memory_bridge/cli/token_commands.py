"""`token add|list|show|rotate|revoke`: who may use the bridge over the network.

The store keeps a digest. The token itself is printed once, and kept for this machine's own clients where its secrets are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hermes_memory_bridge.cli.bridge_options import BridgeGroup, answer_options, print_answer, theme_option
from hermes_memory_bridge.toolkit.store_opening import open_current_store
from hermes_memory_bridge.tools import select_tools
from hermes_memory_bridge.trust import Vault, open_store_vault
from hermes_memory_bridge.trust.system_keyring import VaultError
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.access.credentials import Credential
from hermes_memory_store.clock import format_iso_time, parse_duration
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import RIGHTS, Rights
from hermes_memory_store.store import Store
from hermes_memory_themes import normalise_theme

TOKEN_VAULT_THEME = ":token"
"""The vault's shelf for tokens. A theme's name has no colon, so none of its secrets stands there."""


@click.group("token", cls=BridgeGroup)
def token_group() -> None:
    """Create, list and revoke tokens."""


@contextmanager
def token_store(db: str | None, *, create: bool = False) -> Iterator[tuple[Store, Vault]]:
    """Open the store of the digests, and the vault of this machine's own tokens."""
    paths = BridgePaths.of(db)
    with open_current_store(Path(paths.store), create=create) as store:
        yield store, open_store_vault(paths.store)


@token_group.command("add")
@answer_options
@click.argument("name")
@theme_option("Theme it opens (default).")
@click.option(
    "--rights",
    default="read,write",
    metavar="WORDS",
    help=f"Rights, from {', '.join(RIGHTS)} (read,write).",
)
@click.option(
    "--tools",
    metavar="NAMES",
    help="Restrict it to these tools, by name or core; also to resources and prompts that give the same.",
)
@click.option("--expires", metavar="AGE", help="Lifetime, such as 30d.")
def token_add_command(
    db: str | None, as_json: bool, name: str, theme: str | None, rights: str, tools: str | None, expires: str | None
) -> None:
    """Create a token; it is printed once."""
    parsed = parse_token_rights(rights, tools)
    with token_store(db, create=True) as (store, vault):
        expires_at = None if expires is None else store.clock() + parse_duration(expires)
        made, secret = store.credentials.add(name, normalise_theme(theme or "default"), parsed, expires_at=expires_at)
        unkept = store_token_secret(vault, made.name, secret)
    text = f"{format_token(made)}\n{secret}\n{unkept or 'It is shown once; `token show` has it here.'}"
    print_answer(as_json, {**to_token_document(made), "token": secret}, text)


@token_group.command("list")
@answer_options
def token_list_command(db: str | None, as_json: bool) -> None:
    """List the tokens, without their secrets."""
    with token_store(db) as (store, _):
        credentials = store.credentials.list()
    print_answer(
        as_json,
        {"tokens": [to_token_document(credential) for credential in credentials]},
        "\n".join(map(format_token, credentials)) or "no tokens",
    )


@token_group.command("show")
@answer_options
@click.argument("name")
def token_show_command(db: str | None, as_json: bool, name: str) -> None:
    """Print a token again, on the machine that created it."""
    with token_store(db) as (store, vault):
        credential = store.credentials.get(name)
        secret = vault.reveal(TOKEN_VAULT_THEME, to_vault_name(credential.name))
    if secret is None:
        raise ArgumentError(
            f"the token {credential.name!r} is not kept on this machine; rotate it to get another", credential.name
        )
    print_answer(as_json, {**to_token_document(credential), "token": secret}, secret)


@token_group.command("rotate")
@answer_options
@click.argument("name")
def token_rotate_command(db: str | None, as_json: bool, name: str) -> None:
    """Replace the secret of a token."""
    with token_store(db) as (store, vault):
        secret = store.credentials.rotate(name)
        unkept = store_token_secret(vault, name, secret)
        credential = store.credentials.get(name)
    text = "\n".join(filter(None, (format_token(credential), secret, unkept)))
    print_answer(as_json, {**to_token_document(credential), "token": secret}, text)


@token_group.command("revoke")
@answer_options
@click.argument("name")
def token_revoke_command(db: str | None, as_json: bool, name: str) -> None:
    """Revoke a token permanently."""
    with token_store(db) as (store, vault):
        credential = store.credentials.revoke(name)
        vault.forget(TOKEN_VAULT_THEME, to_vault_name(credential.name))
    print_answer(as_json, to_token_document(credential), format_token(credential))


def parse_token_rights(words: str, tools: str | None) -> Rights:
    """Return the rights of a token.

    :param tools: `core`, `all` or names; None does not restrict it
    :raises ArgumentError: a word is no right or no tool, or the rights do not suffice for a tool named
    """
    try:
        rights = Rights.parse(words)
    except ValueError as error:
        raise ArgumentError(str(error), words) from error
    if rights.tools is not None:
        raise ArgumentError("name the tools of a token with --tools", words)
    if tools is None or tools.strip() == "all":
        return rights
    named = select_tools(tools.strip())
    usable = {name for name, spec in named.items() if getattr(rights, spec.right) and not spec.files}
    if tools.strip() != "core" and len(usable) < len(named):
        useless = next(spec for name, spec in named.items() if name not in usable)
        if useless.files:
            raise ArgumentError(f"no token opens {' or '.join(useless.files)}: leave {useless.name} out", useless.name)
        raise ArgumentError(
            f"{useless.name} needs the right to {useless.right}; add it to --rights, or leave the tool out",
            useless.name,
        )
    if not usable:
        raise ArgumentError("--tools names no tool that these rights suffice for", tools)
    return replace(rights, tools=frozenset(usable))


def store_token_secret(vault: Vault, name: str, secret: str) -> str | None:
    """Store a token for this machine's own clients, replacing the previous one; return why it is not kept, if so."""
    try:
        vault.replace(TOKEN_VAULT_THEME, to_vault_name(name), secret)
    except VaultError as error:
        return f"It is shown once and kept nowhere on this machine: {error.message}"
    return None


def to_vault_name(name: str) -> str:
    """Return a token's name in the vault: two names never share an entry."""
    return name.encode().hex()


def to_token_document(credential: Credential) -> dict[str, Any]:
    return {
        "name": credential.name,
        "theme": credential.theme,
        "rights": credential.rights.words,
        "tools": None if credential.rights.tools is None else sorted(credential.rights.tools),
        "created_at": format_iso_time(credential.created_at),
        "expires_at": None if credential.expires_at is None else format_iso_time(credential.expires_at),
        "revoked_at": None if credential.revoked_at is None else format_iso_time(credential.revoked_at),
    }


def format_token(credential: Credential) -> str:
    until = f", until {format_iso_time(credential.expires_at)}" if credential.expires_at else ""
    revocation = f", revoked {format_iso_time(credential.revoked_at)}" if credential.revoked_at else ""
    only = f", only {', '.join(sorted(credential.rights.tools))}" if credential.rights.tools is not None else ""
    return f"{credential.name}: theme {credential.theme}, {credential.rights.words or 'no rights'}{only}{until}{revocation}"
