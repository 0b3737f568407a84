"""What the product does is compared with what v0.4.1 did: `python -m tests.tools.goldens`."""

from __future__ import annotations

import random

import pytest

from tests.tools import goldens


@pytest.mark.long  # .ci/run compares all kinds by the command
@pytest.mark.parametrize("kind", goldens.KINDS)
def test_the_product_does_what_was_recorded(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert goldens.compare([kind]) == 0, capfd.readouterr().out


@pytest.mark.parametrize("kind", goldens.KINDS)
def test_one_changed_character_is_seen_and_its_record_named(kind: str) -> None:
    recorded = goldens.load(kind)
    chance = random.Random(kind)
    name = chance.choice(sorted(name for name, text in recorded.items() if text))
    place = chance.randrange(len(recorded[name]))
    changed = recorded[name][:place] + "\N{BULLET}" + recorded[name][place + 1 :]

    (difference,) = goldens.differences(recorded, recorded | {name: changed})

    assert difference.startswith(f"{name}:\n")
    assert "\N{BULLET}" in difference or len(changed) > 400
    assert list(goldens.differences(recorded, recorded)) == []


def test_a_record_that_is_gone_or_new_is_named() -> None:
    assert sorted(goldens.differences({"a": "", "b": ""}, {"b": "", "c": ""})) == ["a: is gone", "c: is new"]
