"""When a newer version of a host is called broken: never for a machine that is slow."""

from __future__ import annotations

import pytest

from tests.hosts.newest import name_verdict

FAILED, FINE = {"t": "late"}, dict[str, str]()


@pytest.mark.parametrize(
    ("rounds", "verdict"),
    [
        ([(FINE, FAILED), (FINE, FAILED)], "BROKE"),
        ([(FINE, FAILED), (FINE, FINE)], "passed the second time"),
        ([(FINE, FAILED), (FAILED, FAILED)], "fails with the pinned version too"),
        ([(FAILED, FAILED)], "fails with the pinned version too"),
    ],
)
def test_only_what_fails_twice_beside_a_pinned_version_that_passes_is_broken(
    rounds: list[tuple[dict[str, str], dict[str, str]]], verdict: str
) -> None:
    assert name_verdict("t", rounds) == verdict
