"""Settings of the views' tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile of its own: nobody's MEMORY.md is read, nobody's bridge is asked."""
    home = tmp_path / "home"
    (home / "memories").mkdir(parents=True)
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the memory of a test is."""
    return tmp_path / "m.db"
