"""Which rows of a list are shown, and in what order."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from hermes_memory_store.language.tokenizer import natural_order
from hermes_memory_tui.text.display_formats import fit_text
from hermes_memory_tui.widgets.lists.grid import Grid, GridColumn, longest_texts
from hermes_memory_tui.widgets.lists.grid_rows import (
    GridCell,
    GridRow,
    GridSort,
    arrange_rows,
    find_letters,
    find_word_spans,
    score_word,
)


def rows(*texts: str) -> list[GridRow]:
    return [GridRow(text, (GridCell(text),)) for text in texts]


def shown(wanted: str, *texts: str) -> list[object]:
    return [row.key for row in arrange_rows(rows(*texts), wanted, None)]


def test_numbers_in_names_count_as_numbers() -> None:
    names = ["q10", "q2", "Q1", "release 1.10", "release 1.9", "10", "9"]
    assert sorted(names, key=natural_order) == ["9", "10", "Q1", "q2", "q10", "release 1.9", "release 1.10"]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("pay", ["pay", "payments", "api payments", "repay", "plan away"]),
        ("PAY api", ["api payments"]),
        ("pay !api", ["pay", "payments", "repay", "plan away"]),
        ("cafe", ["Café"]),
        ("zzz", []),
        ("!", ["payments", "plan away", "repay", "pay", "api payments", "Café"]),
    ],
)
def test_the_best_match_comes_first(wanted: str, found: list[str]) -> None:
    assert shown(wanted, "payments", "plan away", "repay", "pay", "api payments", "Café")[: len(found)] == found


def test_letters_of_several_cells_together_say_nothing() -> None:
    row = GridRow(1, (GridCell("ab"), GridCell("cd")))
    assert arrange_rows([row], "abcd", None) == []
    assert arrange_rows([row], "ab cd", None) == [row]


def test_a_chosen_order_goes_before_the_best_match() -> None:
    table = [GridRow(n, (GridCell(f"pay{'ment' * (n % 2)} {n}"), GridCell("", value=-n))) for n in range(6)]
    assert [row.key for row in arrange_rows(table, "pay", GridSort(1))] == [5, 4, 3, 2, 1, 0]
    assert [row.key for row in arrange_rows(table, "pay", GridSort(1, descending=True))] == [0, 1, 2, 3, 4, 5]


def test_numbers_stand_before_what_has_none() -> None:
    table = [
        GridRow(1, (GridCell("?"),)),
        GridRow(2, (GridCell("1k", value=1000),)),
        GridRow(3, (GridCell("9", value=9),)),
    ]
    assert [row.key for row in arrange_rows(table, "", GridSort(0))] == [3, 2, 1]


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.lists(ANY_TEXT, max_size=20), ANY_TEXT, st.booleans())
def test_whatever_is_typed_every_row_shown_was_given_once(texts: list[str], wanted: str, descending: bool) -> None:
    table = [GridRow(place, (GridCell(text),)) for place, text in enumerate(texts)]
    found = [row.key for row in arrange_rows(table, wanted, GridSort(0, descending))]
    assert len(set(found)) == len(found) <= len(texts)
    if not wanted.split():
        assert sorted(map(str, found)) == sorted(map(str, range(len(texts))))


@given(ANY_TEXT, ANY_TEXT)
def test_spans_of_a_filter_lie_within_the_text_and_do_not_overlap(text: str, wanted: str) -> None:
    at = 0
    for start, end in find_word_spans(text, wanted):
        assert at <= start < end <= len(text)
        at = end


@pytest.mark.parametrize(
    ("text", "wanted", "row", "meant"),
    [
        ("payments", "pay", None, ["pay"]),
        ("payments", "PMTS", None, ["p", "m", "ts"]),
        ("payments", "pmts", "payments\nthe pmts queue", []),
        ("Déploiement", "deploi", None, ["Déploi"]),
        ("Straße 9", "strasse", None, ["Straße"]),
        ("ÉTÉ", "ete", None, ["ÉTÉ"]),
        ("日本語", "本", None, ["本"]),
        ("payments", "!pay", None, []),
    ],
)
def test_what_a_filter_means_is_found_folded_and_by_its_letters(
    text: str, wanted: str, row: str | None, meant: list[str]
) -> None:
    spans = find_word_spans(text, wanted, row)
    assert [text[start:end] for start, end in spans] == meant


def test_rows_that_match_as_well_keep_their_order() -> None:
    names = [f"pay {number}" for number in range(50)]
    random.Random(1).shuffle(names)
    assert shown("pay", *names) == names


def test_csv_of_a_list_holds_no_formula_as_that_of_the_command_line() -> None:
    grid = Grid((GridColumn("fact"), GridColumn("by")))
    grid.rows = [GridRow(1, (GridCell("=HYPERLINK(1)"), GridCell("a, b")))]
    assert grid.to_text(".csv") == 'fact,by\r\n\'=HYPERLINK(1),"a, b"\r\n'


@pytest.mark.parametrize("wanted", ["a" * 60 + "c", "ab" * 40 + "c", "x" * 120_000, "a" * 120_000])
def test_a_filter_that_matches_but_for_its_end_does_not_try_every_way(wanted: str) -> None:
    # By a pattern of its letters this took minutes to ages.
    some = [GridRow(n, (GridCell("a" * 200), GridCell("ab" * 100))) for n in range(50)]
    assert arrange_rows(some, wanted, None) == []
    assert find_word_spans("a" * 400 + "b", wanted) == []


@given(
    st.text("ab]^-.\n", min_size=2, max_size=6).filter(lambda word: "\n" not in word), st.text("ab]^-.\n", max_size=20)
)
def test_a_row_matches_by_letters_where_they_are_found(word: str, text: str) -> None:
    assert bool(score_word(word)(text)) == (word in text or bool(find_letters(word, text)))


def test_many_letters_that_nearly_match_cost_no_time() -> None:
    assert score_word("a" * 99 + "b")("a" * 100_000) == 0


def test_letters_are_found_in_order_within_one_line() -> None:
    assert find_letters("prl", "pay\nports of release") == [4, 6, 15]
    assert find_letters("yp", "pay\nports") == []
    assert find_letters("aab", "ab a") == []


def test_a_row_that_is_awaited_is_chosen_whatever_is_set_before_there_are_rows() -> None:
    grid = Grid((GridColumn("fact"),))
    assert not grid.go_to("b")
    grid.set_sort(GridSort(0, False))
    grid.show(rows("a", "b"))
    assert grid.key == "b"


@pytest.mark.parametrize("width", range(1, 12))
def test_a_cell_of_several_pieces_that_is_cut_ends_with_an_ellipsis(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid([GridColumn("")])
    monkeypatch.setattr(grid, "ink", lambda *_, **__: Style())
    cell = GridCell("", parts=(("abc", "", ""), ("界 ", "", ""), ("ghi", "accent", "")))
    text = "".join(segment.text for segment in grid._cell(cell, width, False, ""))
    assert text == fit_text("abc界 ghi", width)


@pytest.mark.parametrize(
    ("width", "texts", "widths"),
    [
        (100, ["edit", "undo of #123456"], [15, 83]),  # what its longest text needs
        (100, ["edit"], [12, 86]),  # never less than it has
        (100, ["x" * 90], [20, 78]),  # nor more than it may have
        (36, ["undo of #123456"], [14, 20]),  # as far as the others keep enough
        (30, ["undo of #123456"], [12, 16]),
    ],
)
def test_a_column_takes_what_its_texts_need_where_there_is_room(
    width: int, texts: list[str], widths: list[int]
) -> None:
    grid = Grid([GridColumn("op", 12, most=20), GridColumn("change")])
    grid._needed = longest_texts(grid.columns, [GridRow(text, (GridCell(text), GridCell(""))) for text in texts])
    assert grid.widths(width) == widths
