"""Settings of the inspector's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No animation, a cursor that does not blink, and local time that is the same everywhere."""
    import time

    from textual.widgets import Input, TextArea

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    for line in (Input, TextArea):
        monkeypatch.setattr(line, "_restart_blink", lambda self: setattr(self, "_cursor_visible", True))


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot looks every 4 ms whether the app is at rest, not every 20: the same question, asked more often."""
    monkeypatch.setattr("textual._wait.SLEEP_GRANULARITY", 0.004)
    monkeypatch.setattr("textual._wait.SLEEP_IDLE", 0.0002)


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the inspector remembers stays in the test."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / ".hermes"))
