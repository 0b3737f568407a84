"""Colours of themes: each belongs to its name, and no two share one while there are enough."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_tui.system.inspector_state import InspectorState
from hermes_memory_tui.system.palettes import MARKS, allot_hues, theme_hues

NAMES = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=3 * MARKS)


@given(NAMES, NAMES)
def test_a_colour_stays_with_its_name_and_is_shared_only_when_all_are_taken(first: list[str], then: list[str]) -> None:
    kept = allot_hues(first, {})
    known = allot_hues(then, kept)
    assert {name: known[name] for name in first} == kept
    assert theme_hues(first) == kept
    assert len(set(known.values())) == min(len(known), MARKS)


def test_numbers_that_mean_no_colour_are_given_anew(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text('{"hues": {"a": 99, "b": -1, "c": "x", "d": 2}}')
    kept = InspectorState(file).hues
    assert kept == {"a": 99, "b": -1, "d": 2}
    hues = allot_hues(["a", "b", "c", "d"], kept)
    assert hues["d"] == 2
    assert set(hues.values()) <= set(range(MARKS))
