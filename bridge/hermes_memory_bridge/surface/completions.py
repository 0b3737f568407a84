"""Completions: the scopes and targets of the connection's own theme, as a person types."""

from __future__ import annotations

from hermes_memory_bridge.connection import Connection

MOST = 100
"""Values of one answer, as the protocol has it."""


def completed(connection: Connection, argument: str, begun: str) -> list[str]:
    """Values for an argument called `scope`, `theme`, `topic` or `target`; none for any other."""
    store = connection.store
    if argument == "scope":
        return fitting(store.names.labels(connection.theme), begun)
    if argument in ("topic", "target"):
        return store.names.targets(connection.theme, begun, MOST)
    if argument == "theme":
        return fitting(store.names.all_themes() if connection.rights.other_themes else [connection.theme], begun)
    return []


def fitting(values: list[str], begun: str) -> list[str]:
    """Values that begin with these characters, then those that hold them."""
    wanted = begun.casefold()
    beginning = [value for value in values if value.casefold().startswith(wanted)]
    holding = [value for value in values if wanted in value.casefold() and not value.casefold().startswith(wanted)]
    return (beginning + holding)[:MOST]
