"""Where the team database is: kept as a secret, since it holds a password; never in logs, errors or the titles of processes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from hermes_memory_bridge.places import Places
from hermes_memory_bridge.trust.vault import Vault

VARIABLE = "HERMES_MEMORY_TEAM_DSN"

NOBODY = "-team-"
"""Stands where a theme stands in the vault: no theme is called so, and none of its agents can ask for what is there."""

NAME = "dsn"


def vault_of(places: Places) -> Vault:
    """Where this store keeps its secrets."""
    return Vault(Path(places.folder) / "secrets.json")


def find(places: Places, environment: Mapping[str, str] = os.environ) -> str | None:
    """The DSN: of the variable, else of the vault; None when no team database was named. :raises VaultError:"""
    named = environment.get(VARIABLE)
    if named is not None:
        return named.strip() or None
    return vault_of(places).reveal(NOBODY, NAME)


def keep(places: Places, dsn: str) -> None:
    """Keep the DSN in place of the one before. :raises VaultError: it could not be kept"""
    forget(places)
    places.make_folder()
    vault_of(places).take(NOBODY, NAME, dsn)


def forget(places: Places) -> None:
    """Forget the DSN."""
    vault = vault_of(places)
    if vault.reveal(NOBODY, NAME) is not None:
        vault.forget(NOBODY, NAME)


def shown(dsn: str) -> str:
    """A DSN as a person may see it: without its password."""
    if "://" in dsn:
        parts = urlsplit(dsn)
        user, at, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        query = "&".join(
            one for one in parts.query.split("&") if not one.lower().startswith(("password=", "passfile="))
        )
        return urlunsplit((parts.scheme, f"{quote(unquote(name))}{at}{host}", parts.path, query, ""))
    words = [word for word in dsn.split() if not word.lower().startswith(("password", "passfile"))]
    return " ".join(words)
