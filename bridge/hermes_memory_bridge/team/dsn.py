"""Where the team database is: kept as a secret, since it holds a password; never in logs, errors or the titles of processes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from hermes_memory_bridge.places import Places
from hermes_memory_bridge.trust.secret_context import find_addressed
from hermes_memory_bridge.trust.spans import Span, replace_spans
from hermes_memory_bridge.trust.vault import Vault, replace

VARIABLE = "HERMES_MEMORY_TEAM_DSN"

NOBODY = ":team"
"""Stands where a theme stands in the vault: no theme is called so, and none of its agents can ask for what is there."""

NAME = "dsn"

NOTE = "team.json"
"""In the bridge's folder: that a team database is named, and whether its exchange is paused. A bridge without one looks into
no keyring."""


HIDDEN = re.compile(r"\b(?:ssl)?pass(?:word|file)\s*=\s*(?:'(?:[^'\\]|\\.)*'|\S*)\s*", re.IGNORECASE)
"""Secret words of a DSN that is not written as an address."""


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
    places.make_folder()
    vault = vault_of(places)
    if vault.reveal(NOBODY, NAME) not in (None, dsn):
        vault.forget(NOBODY, NAME)
    vault.take(NOBODY, NAME, dsn)
    note(places, paused=is_paused(places))


def forget(places: Places) -> None:
    """Forget the DSN."""
    (Path(places.folder) / NOTE).unlink(missing_ok=True)
    vault = vault_of(places)
    if vault.reveal(NOBODY, NAME) is not None:
        vault.forget(NOBODY, NAME)


def is_named(places: Places, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a team database was named, without asking the keyring."""
    return bool(environment.get(VARIABLE, "").strip()) or (Path(places.folder) / NOTE).exists()


def is_paused(places: Places) -> bool:
    """Whether a person paused the exchange."""
    try:
        return bool(json.loads((Path(places.folder) / NOTE).read_text(encoding="utf-8"))["paused"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def note(places: Places, *, paused: bool) -> None:
    """Write down that a team database is named, and whether its exchange is paused."""
    places.make_folder()
    replace(Path(places.folder) / NOTE, json.dumps({"paused": paused}))


def shown(dsn: str) -> str:
    """A DSN as a person may see it: without its password."""
    if "://" in dsn:
        # By where it stands, with the colon: one that holds a slash or an `@` cannot be taken for the host.
        dsn = replace_spans(dsn, ((Span(start - 1, end), "") for start, end in find_addressed(dsn)))
        parts = urlsplit(dsn)
        user, at, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        query = "&".join(one for one in parts.query.split("&") if not HIDDEN.match(one))
        return urlunsplit((parts.scheme, f"{quote(unquote(name))}{at}{host}", parts.path, query, ""))
    return HIDDEN.sub("", dsn).strip()
