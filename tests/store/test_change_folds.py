"""The journal folded by change."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.errors import StoreError
from hermes_memory_store.journal import change_folds
from hermes_memory_store.journal.change_folds import ChangeFold, ChangeFolds, FoldPart
from hermes_memory_store.model import PERSON
from hermes_memory_store.store import Store
from tests.store.conftest import HandClock

THEME = "ops"


def parts_of(fold: ChangeFold) -> dict[tuple[str, str], int]:
    return {(part.entity, part.op): part.rows for part in fold.parts}


def test_closing_a_scope_is_one_fold_led_by_the_scope(store: Store) -> None:
    for number in range(10):
        store.facts.write(THEME, f"V[a{number}]: {number}", scope="payments")
    store.scopes.close(THEME, "payments")

    (close,) = ChangeFolds(store).newest(1)

    assert close.size == 11
    assert (close.lead.entity, close.lead.op) == ("scope", "close")
    assert close.parts[0] == FoldPart("scope", "close", 1)
    assert parts_of(close) == {("scope", "close"): 1, ("fact", "cool"): 10}


def test_an_undo_of_several_changes_is_one_fold_and_its_redo_another(store: Store) -> None:
    for letter in "abc":
        store.facts.write(THEME, f"V[{letter}]: 1")
    store.undo.last(3, theme=THEME)
    store.undo.redo(theme=THEME)

    redo, undo, *writes = ChangeFolds(store).newest(10)

    assert len(redo.changes) == 1
    assert len(undo.changes) == 3
    assert [fold.size for fold in writes] == [1, 1, 1]


def test_undos_that_a_person_makes_one_after_the_other_stay_apart(store: Store, clock: HandClock) -> None:
    for letter in "ab":
        store.facts.write(THEME, f"V[{letter}]: 1")
    store.undo.last(theme=THEME)
    clock.forward(change_folds.UNDO_GAP_MS + 1)
    store.undo.last(theme=THEME)

    assert [len(fold.changes) for fold in ChangeFolds(store).newest(2)] == [1, 1]


def test_a_filter_finds_whole_changes_by_any_row_of_them(store: Store) -> None:
    old = store.facts.write(THEME, "V[a]: 1", scope="pay").fact
    store.facts.write(THEME, "V[a]: 2", scope="pay")
    store.facts.write("other", "V[a]: 3")
    folds = ChangeFolds(store)

    assert [fold.first for fold in folds.newest(9, about=[old.uid])] == [3, 1]
    assert [fold.size for fold in folds.newest(9, ops=["supersede"])] == [2]
    assert [fold.lead.theme for fold in folds.newest(9, theme="other")] == ["other"]
    assert [fold.first for fold in folds.newest(9, until=3)] == [1]


def test_a_change_of_very_many_rows_says_its_size_and_no_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_folds, "MOST_COUNTED", 20)
    store.facts.write_many(THEME, [(f"V[n{number}]: {number}", "bulk") for number in range(37)], actor=PERSON)

    (fold,) = ChangeFolds(store).newest(1)

    assert fold.size == 38
    assert fold.parts == ()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("abc"), st.sampled_from(("pay", "tax", None))),
        st.tuples(st.just("close"), st.sampled_from(("pay", "tax")), st.none()),
        st.tuples(st.just("undo"), st.integers(1, 4), st.none()),
        st.tuples(st.just("redo"), st.none(), st.none()),
        st.tuples(st.just("session"), st.sampled_from("xy"), st.none()),
        st.tuples(st.just("purge"), st.sampled_from(("pay", "tax")), st.none()),
        st.tuples(st.just("wait"), st.integers(0, 300), st.none()),
    ),
    max_size=30,
)


def play(store: Store, clock: HandClock, steps: list[tuple[str, object, object]]) -> None:
    for number, (what, which, scope) in enumerate(steps):
        try:
            if what == "write":
                store.facts.write(THEME, f"V[{which}]: {number}", scope=scope)  # type: ignore[arg-type]
            elif what == "close":
                store.scopes.close(THEME, str(which))
            elif what == "undo":
                store.undo.last(int(which), theme=THEME)  # type: ignore[call-overload]
            elif what == "redo":
                store.undo.redo(theme=THEME)
            elif what == "session":
                store.sessions.open(THEME, str(which))
            elif what == "purge":
                store.purge.execute(THEME, scope=str(which))
            else:
                clock.forward(int(which))  # type: ignore[call-overload]
        except StoreError:
            continue


@given(steps=STEPS, limit=st.integers(1, 5))
def test_folds_hold_every_row_once_from_either_end(steps: list[tuple[str, object, object]], limit: int) -> None:
    clock = HandClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "m.db", clock=clock) as store,
    ):
        play(store, clock, steps)
        folds = ChangeFolds(store)
        forward = list(folds.after(0))

        pages: list[ChangeFold] = []
        while page := folds.newest(limit, until=pages[-1].first if pages else None):
            pages += page
        assert pages[::-1] == forward

        rows = store.journal.changes()
        assert [n for fold in forward for n in range(fold.first, fold.last + 1)] == [row.seq for row in rows]
        assert [one for fold in forward for one in fold.changes] == [
            key for key, _ in itertools.groupby(r.change for r in rows)
        ]
        for fold in forward:
            own = rows[fold.first - 1 : fold.last]
            assert fold.lead in own
            assert sum(part.rows for part in fold.parts) == fold.size
            assert all(folds.of_row(row.seq) == fold for row in own)
