"""The inspector on a store that a newer program raises, or whose file goes away, while it is open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.errors import StoreReplaced, StoreTooNew
from hermes_memory_tui.model.memory import Memory


def test_a_store_raised_under_the_inspector_is_shown_and_takes_no_writes(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.db")
    try:
        memory.add_fact("default", "D[cache]: redis", None)
        with closing(sqlite3.connect(memory.path)) as conn:
            conn.execute(f"PRAGMA user_version = {STORE_VERSION + 1}")
        with pytest.raises(StoreTooNew, match="pip install -U"):
            memory.add_fact("default", "D[lost]: refused", None)
        assert memory.read_view(lambda store: store.search.find("default", "redis").total) == 1
    finally:
        memory.close()


def test_a_file_deleted_under_the_inspector_takes_no_writes_and_its_content_is_saved(tmp_path: Path) -> None:
    memory = Memory.open(tmp_path / "memory.db")
    try:
        memory.add_fact("default", "D[cache]: redis", None)
        memory.path.unlink()
        with pytest.raises(StoreReplaced, match="what it held is in"):
            memory.add_fact("default", "D[lost]: refused", None)
        assert len(list(tmp_path.glob("memory.db.rescued.*.bak"))) == 1
    finally:
        memory.close()
