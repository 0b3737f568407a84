"""A basket does what its changes would do one by one, all or none, as one change; the preview says exactly what."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_store import errors
from hermes_memory_store.model import FactFilter, Millis
from hermes_memory_store.store import Store
from hermes_memory_tui.basket.basket_run import apply_basket, load_context, load_present, preview_basket
from hermes_memory_tui.basket.pending_changes import (
    ACTIONS,
    Basket,
    PendingChange,
    Subject,
    to_subject,
)
from hermes_memory_tui.system.inspector_state import InspectorState

BEGIN = Millis(1_773_756_000_000)


def open_store(path: Path) -> Store:
    """A store whose clock never shows the same millisecond twice: of two facts the newer wins a place."""
    ticks = itertools.count(BEGIN)
    return Store.open(path, clock=lambda: Millis(next(ticks)))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Six facts, one of them quarantined, in two scopes."""
    store = open_store(tmp_path / "memory.db")
    for scope in ("one", "two"):
        for target in ("a", "b"):
            store.facts.write("ops", f"V[{target}]: {scope}", scope=scope)
    store.facts.write("ops", "V[a]: none")
    store.facts.quarantine("ops", "C[odd]: obey", why="orders")
    yield store
    store.close()


@pytest.fixture
def basket(store: Store, tmp_path: Path) -> Basket:
    return Basket(InspectorState(tmp_path / "state.json"), str(store.path))


def portrait(store: Store) -> dict[str, tuple[object, ...]]:
    """What every fact and scope is, but for when it was changed."""
    facts = store.facts.by_ids(list(store.facts.ids(FactFilter(tiers=frozenset()))))
    rows: dict[str, tuple[object, ...]] = {
        fact.uid: (fact.notation, fact.tier, fact.pinned, fact.scope, fact.superseded_by) for fact in facts
    }
    return rows | {scope.uid: (scope.label, scope.status) for scope in store.scopes.list()}


def fact(store: Store, number: int) -> Subject:
    """A fact as it is, by its place among all, oldest first."""
    facts = store.facts.by_ids(sorted(store.facts.ids(FactFilter(tiers=frozenset()))))
    return to_subject(facts[number])


FACT_STEPS = st.tuples(
    st.sampled_from(("pin", "unpin", "warm", "cool", "archive", "restore", "approve", "reject", "edit", "move")),
    st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True),
    st.sampled_from(("one", "two", "three", None)),
)
SCOPE_STEPS = st.tuples(
    st.sampled_from(("merge", "close", "reopen")),
    st.lists(st.integers(0, 1), min_size=1, max_size=1),
    st.sampled_from(("one", "two")),
)


@given(steps=st.lists(st.one_of(FACT_STEPS, SCOPE_STEPS), min_size=1, max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_basket_is_its_changes_one_by_one_and_undo_restores_exactly(
    store: Store, basket: Basket, steps: list[tuple[str, list[int], str | None]]
) -> None:
    before, since = portrait(store), store.journal.last_seq()
    scopes = [to_subject(scope) for scope in sorted(store.scopes.list(), key=lambda one: one.label)]
    for action, numbers, value in steps:
        if action in ("merge", "close", "reopen"):
            basket.gather(action, [scopes[numbers[0]]], value if action == "merge" else None)
        else:
            subjects = [fact(store, number) for number in numbers]
            for some in [[one] for one in subjects] if action == "edit" else [subjects]:
                basket.gather(
                    action, some, f"edited {value}" if action == "edit" else value if action == "move" else None
                )
    outcome = preview_basket(store, basket.changes)
    assert (portrait(store), store.journal.last_seq()) == (before, since)
    accepted = [one.change for one in outcome.changes if one.refused is None]
    assert len(accepted) == len(basket.changes) or outcome.refused is not None
    if outcome.refused is not None:
        with pytest.raises(errors.StoreError):
            apply_basket(store, basket.changes)
        assert (portrait(store), store.journal.last_seq()) == (before, since)
    basket.remove({one.number for one in basket.changes} - {one.number for one in accepted})
    outcome = preview_basket(store, basket.changes)
    if outcome.refused is not None:
        basket.remove([one.number for one in basket.changes])  # it stood on one that was taken out
        return

    # One by one
    for change in basket.changes:
        ACTIONS[change.action].run(store, change.subjects, change.value)
    expected, contexts = portrait(store), [after.lines for _, after in outcome.contexts]
    made = sorted({row.change for row in store.journal.changes(since=since)}, reverse=True)
    for number in made:
        store.undo.change(number)
    assert portrait(store) == before

    # As a basket
    since = store.journal.last_seq()
    rows = sum(one.rows for one in apply_basket(store, basket.changes))
    assert rows == sum(one.rows for one in outcome.changes) == store.journal.last_seq() - since
    assert portrait(store) == expected
    assert [load_context(store, theme).lines for theme in (["ops"] if contexts else [])] == contexts
    if rows:
        assert {row.change for row in store.journal.changes(since=since)} == {since + 1}
        store.undo.last()
    assert portrait(store) == before
    assert store.journal.verify().ok
    basket.remove([one.number for one in basket.changes])


@given(
    others=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(("edit", "pin", "archive", "move", "purge"))),
        min_size=1,
        max_size=3,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
def test_what_others_changed_meanwhile_is_never_overwritten(
    tmp_path_factory: pytest.TempPathFactory, others: list[tuple[int, str]]
) -> None:
    with open_store(tmp_path_factory.mktemp("store") / "memory.db") as store:
        for target in "abcde":
            store.facts.write("ops", f"V[{target}]: as it was")
        subjects = [fact(store, number) for number in range(5)]
        changes = [PendingChange(1, "cool", tuple(subjects))]
        for number, word in others:
            uid = subjects[number].uid
            with suppress(errors.StoreError):
                match word:
                    case "edit":
                        store.facts.edit(uid, "theirs")
                    case "move":
                        store.facts.move(uid, "elsewhere")
                    case "purge":
                        store.purge.execute_facts([uid])
                    case _:
                        getattr(store.facts, word)(uid)
        theirs = portrait(store)
        present = load_present(store, changes)
        changed = {one.uid for one in subjects if present.get(one.uid) != one}

        outcome = preview_basket(store, changes)
        undecided = {one.gathered.uid for one in outcome.changes[0].outdated}

        assert undecided == changed
        if changed:
            with pytest.raises(errors.FactConflict):
                apply_basket(store, changes)
            assert portrait(store) == theirs
        put_off = [replace(one, waits=one.uid in changed) for one in subjects]
        apply_basket(store, [replace(changes[0], subjects=tuple(put_off))])
        after = portrait(store)
        assert {uid: after[uid] for uid in changed if uid in theirs} == {
            uid: theirs[uid] for uid in changed if uid in theirs
        }
        assert all(after[one.uid][1] == "cold" for one in subjects if one.uid not in changed)


def test_what_is_so_already_need_not_be_decided(store: Store, basket: Basket) -> None:
    """As after a crash between the change and the moment when the basket was emptied."""
    basket.gather("cool", [fact(store, 0), fact(store, 1)])
    apply_basket(store, basket.changes)
    outcome = preview_basket(store, basket.changes)
    assert (outcome.undecided, outcome.changes[0].rows) == (0, 0)


def test_what_was_gathered_while_others_were_done_stays(store: Store, basket: Basket) -> None:
    basket.gather("cool", [fact(store, 0), fact(store, 1)])
    changes = basket.changes
    apply_basket(store, changes)
    basket.gather("pin", [fact(store, 2)])
    basket.finish(changes)
    assert [(one.action, len(one.subjects)) for one in basket.changes] == [("pin", 1)]


def test_the_last_of_two_actions_of_one_kind_counts(store: Store, basket: Basket) -> None:
    one, other = fact(store, 0), fact(store, 1)
    basket.gather("cool", [one, other])
    basket.gather("move", [one], "three")
    basket.gather("archive", [one])
    assert [(change.words, len(change.subjects)) for change in basket.changes] == [
        ("cool", 1),
        ("move to three", 1),
        ("archive", 1),
    ]
    assert basket.pending == {other.uid: "cool", one.uid: "move to three, archive"}


def test_a_basket_of_too_many_facts_says_so(store: Store, basket: Basket) -> None:
    many = [replace(fact(store, 0), uid=str(number)) for number in range(1_001)]
    with pytest.raises(errors.ArgumentError, match="at most 1,000"):
        basket.gather("pin", many)
    assert not basket.changes


DAMAGED = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda some: st.one_of(st.lists(some, max_size=3), st.dictionaries(st.text(max_size=5), some, max_size=3)),
)


@given(damage=DAMAGED, place=st.sampled_from(("number", "action", "subjects", "value", "state", "uid", "theme", "")))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_file_of_gathered_changes_is_no_reason_to_fail(
    store: Store, tmp_path: Path, damage: object, place: str
) -> None:
    path = tmp_path / "state.json"
    kept = InspectorState(path)
    first = Basket(kept, "file")
    first.remove([one.number for one in first.changes])
    first.gather("pin", [fact(store, 0)])
    saved = json.loads(path.read_bytes())
    change = saved["baskets"]["file"][0]
    if place in ("state", "uid", "theme"):
        change["subjects"][0][place] = damage
    elif place:
        change[place] = damage
    else:
        saved["baskets"]["file"] = damage
    path.write_text(json.dumps(saved))
    again = Basket(InspectorState(path), "file")
    preview_basket(store, again.changes)


KILLED = """
import os, signal, sys
from hermes_memory_store.store import Store
from hermes_memory_tui.basket.basket_run import apply_basket
from hermes_memory_tui.basket.pending_changes import Basket
from hermes_memory_tui.system.inspector_state import InspectorState
from pathlib import Path
store = Store.open(sys.argv[1])
basket = Basket(InspectorState(Path(sys.argv[2])), sys.argv[1])
left = int(sys.argv[3])
def count(_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
store.db.conn.set_trace_callback(count)
apply_basket(store, basket.changes)
"""


@pytest.mark.crash
def test_a_process_killed_in_the_middle_leaves_all_or_none(tmp_path: Path) -> None:
    path, state = tmp_path / "memory.db", tmp_path / "state.json"
    with Store.open(path) as store:
        for number in range(4):
            store.facts.write("ops", f"V[t{number}]: {number}", scope="one")
        before = portrait(store)
        basket = Basket(InspectorState(state), str(path))
        basket.gather("archive", [fact(store, 0), fact(store, 1)])
        basket.gather("edit", [fact(store, 2)], "edited")
        basket.gather("move", [fact(store, 3)], "new")
    kills = 0
    for statement in itertools.count(1, 3):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(state), str(statement)], check=False)
        with Store.open(path) as store:
            assert store.journal.verify().ok
            if portrait(store) != before:
                break
            assert done.returncode == -signal.SIGKILL
            kills += 1
    with Store.open(path) as store:
        assert preview_basket(store, Basket(InspectorState(state), str(path)).changes).undecided == 0
        store.undo.last()
        assert portrait(store) == before
    assert kills > 5
