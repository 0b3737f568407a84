"""Texts of the inspector: what completes a search line, what stands out, colours of themes, lists of lines compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.context.context_records import RecordedFact
from hermes_memory_store.model import Uid
from hermes_memory_tui.system.inspector_state import InspectorState
from hermes_memory_tui.system.palettes import MARKS, allot_hues, theme_hues
from hermes_memory_tui.text.highlight import SearchHighlighter, highlight_text
from hermes_memory_tui.text.line_differences import LineDifference, diff_lines
from hermes_memory_tui.text.query_completion import complete_query, fixed_filter_values
from hermes_memory_tui.views.session_view import compare_contexts

SCOPES = ["launch", "Release 2", 'odd "quotes"', "a,b"]


def known(name: str, begun: str) -> Sequence[str]:
    return SCOPES if name == "scope" else fixed_filter_values(name)


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("ty", ["type:"]),
        ("words t", ["type:", "tier:", "target:"]),
        ("type:v", ["value"]),
        ("type:decision,c", ["constraint", "decision"]),
        ("tier:a", ["archived", "all", "quarantined"]),
        ("scope:l", ["launch", '"Release 2"']),
        ('scope:"rel', ['"Release 2"']),
        ("scope:launch,rel", ['"Release 2"']),
        ("scope:a", ['"a,b"', "launch", '"Release 2"']),
        ("SCOPE:LAU", ["launch"]),
        ("host:codex,gem", ["gemini"]),
        ("-ty", []),
        ("zzz", []),
        ('"a phrase type:', []),
    ],
)
def test_what_is_offered(line: str, texts: list[str]) -> None:
    assert list(complete_query(line, len(line), known).texts) == texts


def test_only_what_stands_before_the_cursor_counts() -> None:
    offer = complete_query("x type:va later", len("x type:va"), known)
    assert (offer.start, offer.texts) == (len("x type:"), ("value",))


@pytest.mark.parametrize(
    ("line", "text", "found"),
    [
        ("deploy", "Deployed before the deployment", ["Deployed", "deployment"]),
        ("deplo", "the deployment", ["deployment"]),
        ("DEPLOIEMENT", "le Déploiement d'été", ["Déploiement"]),
        ("été", "d'ete l'Été", ["ete", "Été"]),
        ("auth", "authentication by passkey", ["authentication"]),
        ('"blue green"', "a blue green and a blue one", ["blue green"]),
        ("blue type:value -green", "blue green", ["blue"]),
        ("時間", "取引時間は九時", ["時間"]),
        ("redis", "no such word", []),
        ("type:value", "value", []),
        ("type:nonsense word", "word", []),
        ("[bold]", "[bold]x[/bold]", ["bold", "bold"]),
        ("", "x", []),
    ],
)
def test_words_stand_out(line: str, text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in SearchHighlighter(line).match_spans(text)] == found


def test_no_text_is_markup() -> None:
    content = highlight_text("[red]x[/red] \\[", SearchHighlighter("x"))
    assert content.plain == "[red]x[/red] \\["
    assert [(span.start, span.end) for span in content.spans if "underline" in str(span.style)] == [(5, 6)]


def test_a_long_text_costs_little() -> None:
    assert len(SearchHighlighter("k b c").match_spans("k " * 100_000)) == 1_000


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


LINES = st.lists(st.sampled_from("abcdef"), max_size=12)


def test_a_moved_line_is_neither_removed_nor_added() -> None:
    found = diff_lines(["a", "b", "c", "d"], ["d", "a", "b", "x"])
    assert [one for one in found if one.moved] == [LineDifference("d", 3, 0, moved=True)]
    assert [one.text for one in found if one.after is None] == ["c"]
    assert [one.text for one in found if one.before is None] == ["x"]


@given(LINES, LINES)
def test_both_lists_can_be_read_from_a_comparison(before: list[str], after: list[str]) -> None:
    found = diff_lines(before, after)
    assert [one.text for one in found if one.after is not None] == after
    was = {one.before: one.text for one in found if one.before is not None}
    assert [was[place] for place in range(len(before))] == before
    removed = {one.text for one in found if one.after is None}
    assert removed.isdisjoint(one.text for one in found if one.before is None)


def test_a_context_says_which_fact_moved() -> None:
    first, second, third = (RecordedFact(Uid(f"{n}" * 8), f"V[{n}]: {n}", changed=False) for n in "123")
    lines = [str(line) for line in compare_contexts([first, second, third], [third, first, second])]
    assert lines == ["↕ V[3]: 3  (moved from 3 to 1)", "  V[1]: 1", "  V[2]: 2"]
