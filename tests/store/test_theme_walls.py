"""Nothing that is asked within a theme tells of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.errors import UnknownScope, UnknownSession
from hermes_memory_store.model import FactFilter
from hermes_memory_store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db") as opened:
        session = opened.sessions.open("hr", "hr-session")
        opened.facts.write("hr", "V[salary]: 1", session=session)
        opened.facts.write("mine", "V[cache]: redis", scope="speed")
        yield opened


def test_who_wrote_in_another_theme_is_nobody_here(store: Store) -> None:
    for nobody in ("hr-session", "nobody"):
        with pytest.raises(UnknownSession) as caught:
            store.search.find("mine", f"redis by:{nobody}")
        assert "hr-session" not in str(caught.value).replace(f"'{nobody}'", "")
    with pytest.raises(UnknownSession):
        store.facts.page(FactFilter(theme="mine", by="hr-session"))
    assert store.search.find("hr", "salary by:hr-session").total == 1
    assert store.search.find(None, "salary by:hr-session").total == 1
    assert store.search.find("mine", "redis by:relief").facts == []


def test_a_checkpoint_counts_its_own_themes_writes(store: Store) -> None:
    namesake = store.sessions.open("mine", "hr-session")
    store.sessions.close(namesake)
    checkpoint = store.sessions.get("mine", "hr-session").checkpoint
    assert checkpoint is not None
    assert checkpoint["writes"] == 0


def test_an_unknown_scope_is_an_error_beside_another_scope_too(store: Store) -> None:
    with pytest.raises(UnknownScope, match="spead"):
        store.search.find("mine", "redis scope:speed", scope="spead")
