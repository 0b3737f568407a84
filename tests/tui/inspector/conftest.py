"""Settings of the inspector's tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No animation, and local time that is the same everywhere."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
