"""Random histories through shared folders that an unreliable carrier fills end with the same on every machine.

A fixed portion; `python -m tests.tools.histories --carrier folder --count 5000` plays fresh ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.tools.histories.folder_player import FolderPlayer, make_folder_history
from tests.tools.histories.player import play

FOUND = (
    15,
    20,
    32,
    61,
    133,
    1_000_169,
    17_366_253_881,
    249_476_391_750,
    348_011_645_926,
    358_367_128_037,
    961_059_877_161,
)
"""Seeds that once ended with differences."""


@pytest.mark.parametrize(
    "seeds",
    [FOUND[-5:], *(pytest.param(seeds, marks=pytest.mark.long) for seeds in (range(1, 5), FOUND, range(200, 300)))],
)
def test_histories_through_folders_end_with_the_same_on_every_machine(seeds: Sequence[int]) -> None:
    for seed in seeds:
        play(make_folder_history(seed), player=FolderPlayer)
