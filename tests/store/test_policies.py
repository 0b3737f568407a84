"""A policy file that is edited while a store is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_store.errors import PolicyInvalid, StoreError
from hermes_memory_store.store import Store


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    return tmp_path


def spoil(store: Store, home: Path) -> None:
    (home / "memory-themes.toml").write_text("[defaults]\nhot_chars = 5\n")
    store.policies.reload()


def test_a_write_under_a_wrong_policy_is_refused_by_its_line_and_changes_nothing(home: Path) -> None:
    with Store.open(home / "m.db") as store:
        store.facts.write("default", "D[a]: kept")
        before = store.journal.last_seq()
        spoil(store, home)

        with pytest.raises(PolicyInvalid, match=r"memory-themes\.toml, line 2: hot_chars") as caught:
            store.facts.write("default", "D[a]: refused")

        assert caught.value.code == "policy.invalid"
        assert store.journal.last_seq() == before

        (home / "memory-themes.toml").write_text("[defaults]\nhot_chars = 5000\n")
        store.facts.write("default", "D[a]: written")
        assert store.tiers.gauge("default").budget == 5000


def test_a_store_under_a_wrong_policy_is_not_opened_nor_left_open(home: Path) -> None:
    (home / "memory-themes.toml").write_text("[defaults]\nhot_chars = 5\n")
    with pytest.raises(StoreError, match="line 2"):
        Store.open(home / "m.db")
    assert not (home / "m.db").exists()
