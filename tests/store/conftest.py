"""A store on disk with a clock of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hermes_memory_store.model import Millis
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.empty_store import put_empty_store

if TYPE_CHECKING:
    from tests.store.team import Member


class HandClock:
    """A clock that a test sets."""

    def __init__(self, now: int = 1_790_000_000_000) -> None:
        self.now = now

    def __call__(self) -> Millis:
        return Millis(self.now)

    def forward(self, millis: int) -> None:
        self.now += millis


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path, clock: HandClock, tmp_path: Path) -> Iterator[Store]:
    put_empty_store(path)
    with Store.open(path, clock=clock, policies=Policies.load(tmp_path / "memory-themes.toml")) as opened:
        yield opened


@pytest.fixture
def ann(join: Callable[[], Member]) -> Member:
    """A member of the team that a module's `join` makes; `bob` is another."""
    return join()


@pytest.fixture
def bob(ann: Member, join: Callable[[], Member]) -> Member:
    return join()
