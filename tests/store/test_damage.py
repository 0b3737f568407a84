"""Whatever is damaged is seen, and then healed or said plainly (`python -m tests.tools.damage` tries more places)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.tools.damage import DAMAGES, Samples, make_samples, try_damage

HEALED_WITHOUT_BACKUP = frozenset(DAMAGES) - {
    *("text of a turn", "deleted turn", "page of turns"),
    *("text of an origin", "way of an origin", "peer of an origin", "digest of an origin", "deleted origin"),
    *("theme of an origin", "dangling origin of a change", "page of origins or projects"),
    *("changed name of a project", "circle of projects", "deleted project", "dangling identity"),
    *("name of a theme", "name of an actor", "page of themes or actors"),
    *("journal row", "chain link", "deleted journal row", "journal tail", "page of the journal"),
    *("torn log", "truncated log", "garbage in the log"),
}
"""What the journal alone restores: not itself, not the texts of turns, and not what the log alone held."""


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    return make_samples(tmp_path_factory.mktemp("samples"), facts=30)


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_seen_and_healed_or_said(samples: Samples, kind: str, tmp_path: Path) -> None:
    outcome = try_damage(samples, kind, tmp_path / "damaged", random.Random(f"1 {kind}"))
    assert outcome.is_right, outcome
    if kind in HEALED_WITHOUT_BACKUP:
        assert outcome.healed or outcome.is_idle, outcome
