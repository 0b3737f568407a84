"""Two lists of lines compared: a line that moved is a move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.context.context_records import RecordedFact
from hermes_memory_store.model import Uid
from hermes_memory_tui.text.line_differences import LineDifference, compare_lines
from hermes_memory_tui.views.session_view import compare_contexts

LINES = st.lists(st.sampled_from("abcdef"), max_size=12)


def test_a_moved_line_is_neither_removed_nor_added() -> None:
    found = compare_lines(["a", "b", "c", "d"], ["d", "a", "b", "x"])
    assert [one for one in found if one.moved] == [LineDifference("d", 3, 0, moved=True)]
    assert [one.text for one in found if one.after is None] == ["c"]
    assert [one.text for one in found if one.before is None] == ["x"]


@given(LINES, LINES)
def test_both_lists_can_be_read_from_a_comparison(before: list[str], after: list[str]) -> None:
    found = compare_lines(before, after)
    assert [one.text for one in found if one.after is not None] == after
    was = {one.before: one.text for one in found if one.before is not None}
    assert [was[place] for place in range(len(before))] == before
    removed = {one.text for one in found if one.after is None}
    assert removed.isdisjoint(one.text for one in found if one.before is None)


def test_a_context_says_which_fact_moved() -> None:
    first, second, third = (RecordedFact(Uid(f"{n}" * 8), f"V[{n}]: {n}", changed=False) for n in "123")
    lines = [str(line) for line in compare_contexts([first, second, third], [third, first, second])]
    assert lines == ["↕ V[3]: 3  (moved from 3 to 1)", "  V[1]: 1", "  V[2]: 2"]
