"""The location of the team database.

Stored as a secret, since it holds a password; never in logs, errors or process titles.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from hermes_memory_bridge.trust import open_store_vault
from hermes_memory_bridge.trust.vault import replace_private_file
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.intake.detectors.secrets import find_address_passwords
from hermes_memory_store.intake.spans import TextSpan, replace_text_spans

VARIABLE = "HERMES_MEMORY_TEAM_DSN"

VAULT_THEME = ":team"
"""Stands where a theme stands in the vault: no theme is called so, and none of its agents can ask for what is there."""

NAME = "dsn"

STATE_FILE = "team.json"
"""In the bridge's folder: that a team database is named, and whether its exchange is paused. A bridge without one looks into
no keyring."""


DSN_SECRET = re.compile(r"\b(?:ssl)?pass(?:word|file)\s*=\s*(?:'(?:[^'\\]|\\.)*'|\S*)\s*", re.IGNORECASE)
"""Secret words of a DSN that is not written as an address."""


def find_team_dsn(paths: BridgePaths, environment: Mapping[str, str] = os.environ) -> str | None:
    """Find the DSN: from the variable, else from the vault; None when no team database is configured.

    :raises VaultError: the vault cannot be read
    """
    named = environment.get(VARIABLE)
    if named is not None:
        return named.strip() or None
    return open_store_vault(paths.store).reveal(VAULT_THEME, NAME)


def store_team_dsn(paths: BridgePaths, dsn: str) -> None:
    """Store the DSN, replacing the previous one. :raises VaultError: it could not be stored"""
    paths.make_folder()
    open_store_vault(paths.store).replace(VAULT_THEME, NAME, dsn)
    write_team_state(paths, paused=is_sync_paused(paths))


def forget_team_dsn(paths: BridgePaths) -> None:
    (Path(paths.folder) / STATE_FILE).unlink(missing_ok=True)
    vault = open_store_vault(paths.store)
    if vault.reveal(VAULT_THEME, NAME) is not None:
        vault.forget(VAULT_THEME, NAME)


def is_team_named(paths: BridgePaths, environment: Mapping[str, str] = os.environ) -> bool:
    """Check whether a team database is configured, without asking the keyring."""
    return bool(environment.get(VARIABLE, "").strip()) or (Path(paths.folder) / STATE_FILE).exists()


def is_sync_paused(paths: BridgePaths) -> bool:
    try:
        return bool(json.loads((Path(paths.folder) / STATE_FILE).read_text(encoding="utf-8"))["paused"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_team_state(paths: BridgePaths, *, paused: bool) -> None:
    """Record that a team database is configured, and whether its sync is paused."""
    paths.make_folder()
    replace_private_file(Path(paths.folder) / STATE_FILE, json.dumps({"paused": paused}))


def mask_dsn_password(dsn: str) -> str:
    if "://" in dsn:
        # By where it stands, with the colon: one that holds a slash or an `@` cannot be taken for the host.
        dsn = replace_text_spans(dsn, ((TextSpan(start - 1, end), "") for start, end in find_address_passwords(dsn)))
        parts = urlsplit(dsn)
        user, at, host = parts.netloc.rpartition("@")
        name = user.partition(":")[0]
        query = "&".join(parameter for parameter in parts.query.split("&") if not DSN_SECRET.match(parameter))
        return urlunsplit((parts.scheme, f"{quote(unquote(name))}{at}{host}", parts.path, query, ""))
    return DSN_SECRET.sub("", dsn).strip()
