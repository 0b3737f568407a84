"""Random words that are written, edited and purged leave no trace in what a carrier holds.

`python -m tests.benchmarks.folder` does it with ten thousand.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from tests.benchmarks.folder import count_canaries


def test_no_word_is_found_in_the_files_of_a_carrier(tmp_path: Path) -> None:
    found = count_canaries(tmp_path, [secrets.token_hex(10) for _ in range(40)])
    assert set(found.values()) == {0}, found
