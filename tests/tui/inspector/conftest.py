"""Settings of the inspector's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No animation, and local time that is the same everywhere."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the inspector remembers stays in the test."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / ".hermes"))
