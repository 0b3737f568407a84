"""The lines of a context block around its facts."""

from __future__ import annotations

from hermes_memory_store.store import Store

THEME = "default"


def test_the_block_ends_with_the_open_scopes_and_says_nothing_where_there_are_none(store: Store) -> None:
    store.facts.write(THEME, "V[port]: 5432")
    assert "active scopes" not in store.context.status(THEME).text

    store.facts.write(THEME, "D[auth]: JWT", scope="login")
    store.facts.write(THEME, "D[launch]: in May", scope="launch")
    assert store.context.status(THEME).text.endswith("\n\nactive scopes: launch, login")

    store.scopes.close(THEME, "launch")
    assert store.context.status(THEME).text.endswith("\n\nactive scopes: login")
