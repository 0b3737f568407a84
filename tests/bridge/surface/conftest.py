"""Settings of the tests of what a host can read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.running import bridge


@pytest.fixture(autouse=True)
def served(db: Path) -> Iterator[Path]:
    """A bridge runs before the first host: `test_shim.py` tests that a shim starts one."""
    with bridge(db):
        yield db
