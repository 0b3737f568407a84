"""Laptops for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.team.folder.laptops import Laptop, Maker


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Maker]:
    """Return a maker of laptops that share `tmp_path/shared`, or have a copy of it."""
    made: list[Laptop] = []

    def laptop(folder: str = "shared", **settings: object) -> Laptop:
        made.append(Laptop(tmp_path / f"laptop{len(made)}", tmp_path / folder, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield laptop
    for one in made:
        one.close()
