"""Random hands on the inspector while another process writes: `tests.tools.fuzz_inspector` and
`tests.tools.fuzz_terminal` try more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.fuzz_inspector import fuzz_inspector
from tests.tools.fuzz_terminal import fuzz_terminal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.setenv("VISUAL", "true")
    return tmp_path


@pytest.mark.slow
async def test_no_few_random_actions_break_the_inspector_or_the_store(folder: Path) -> None:
    assert await fuzz_inspector(folder / "memory.db", 200, seed=1) == 200


@pytest.mark.fuzz
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
async def test_no_random_actions_break_the_inspector_or_the_store(folder: Path, seed: int) -> None:
    assert await fuzz_inspector(folder / "memory.db", 2_000, seed) == 2_000


@pytest.mark.fuzz
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_no_random_bytes_and_signals_break_the_program_in_its_terminal(tmp_path: Path, seed: int) -> None:
    assert fuzz_terminal(tmp_path, seed) > 0
