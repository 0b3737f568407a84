"""Completions: scopes and targets of the connection's own theme, as the user types."""

from __future__ import annotations

from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.intake.intake import to_given_name

MOST = 100
"""Values of one answer, as the protocol has it."""

TOOLS = ("memory_status", "memory_search", "memory_reflect", "memory_export")
"""The tools that name scopes and targets: a token restricted to others is completed nothing."""


def complete_argument(connection: Connection, argument: str, start: str) -> list[str]:
    """Return values for an argument called `scope`, `theme`, `topic` or `target`; none for any other."""
    store = connection.store
    if not connection.rights.grants_any_tool(TOOLS):
        return []
    if argument == "scope":
        return find_completions(store.names.labels(connection.theme), start)
    if argument in ("topic", "target"):
        return find_completions(store.names.targets(connection.theme, start, MOST), start)
    if argument == "theme":
        return find_completions(
            store.names.all_themes() if connection.rights.other_themes else [connection.theme], start
        )
    return []


def find_completions(values: list[str], start: str) -> list[str]:
    """Return the values that begin with the text, then those that contain it."""
    prefix = start.casefold()
    beginning = [value for value in values if value.casefold().startswith(prefix)]
    holding = [value for value in values if prefix in value.casefold() and not value.casefold().startswith(prefix)]
    return [value for value in (beginning + holding)[:MOST] if to_given_name(value) == value]
