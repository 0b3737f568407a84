"""Undo beside what others did since: what a person touched is left and named, and no fact comes back to a taken place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hermes_memory_store import errors, uids
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.memory import undo
from hermes_memory_store.model import Actor, Fact, FactFilter, ScopeStatus, Session, Tier
from hermes_memory_store.store import Store

THEME = "default"


def portrait(store: Store) -> list[tuple[object, ...]]:
    return store.db.rows(
        "SELECT f.uid, s.label, s.status, f.content, f.tier, f.pinned, f.superseded_by FROM facts f"
        " JOIN scopes s ON s.id = f.scope_id ORDER BY f.uid"
    )


def labels(store: Store) -> dict[str, ScopeStatus]:
    return {scope.label: scope.status for scope in store.scopes.list(THEME)}


@pytest.fixture
def agent(store: Store) -> Session:
    return store.sessions.open(THEME, "agent")


TOUCHES: dict[str, Callable[[Store, Fact], object]] = {
    "pinned": lambda store, fact: store.facts.pin([fact.uid]),
    "moved": lambda store, fact: store.facts.move([fact.uid], "elsewhere"),
    "edited": lambda store, fact: store.facts.edit(fact.uid, "a person says otherwise"),
    "archived": lambda store, fact: store.facts.archive([fact.uid]),
    "said again": lambda store, fact: store.facts.write(THEME, fact.notation, scope=fact.scope),
    "pinned, moved": lambda store, fact: [store.facts.pin([fact.uid]), store.facts.move([fact.uid], None)],
    "merged away": lambda store, fact: [
        store.facts.write(THEME, "V[x]: 1", scope="other"),
        store.scopes.merge(THEME, "s", "other"),
    ],
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_what_a_person_touched_since_is_left_and_named_when_a_session_is_undone(
    store: Store, agent: Session, touch: str
) -> None:
    fact = store.facts.write(THEME, "D[a]: agent", session=agent, scope="s").fact
    other = store.facts.write(THEME, "D[b]: agent", session=agent, scope="t").fact
    before = store.journal.last_seq()
    TOUCHES[touch](store, fact)
    stands = store.facts.get(fact.uid)
    after = portrait(store)

    with pytest.raises(errors.UndoConflict, match=rf"followed by change \d+ of the same fact, D\[a\] \({fact.uid}\)"):
        store.undo.session("agent")
    assert portrait(store) == after

    undone = store.undo.session("agent", leaving=True)

    assert store.facts.get(fact.uid) == stands
    (left,) = undone.left
    assert fact.uid in left
    assert any(f"undo {seq} first" in left for seq in range(before + 1, store.journal.last_seq()))
    with pytest.raises(errors.UnknownFact):
        store.facts.get(other.uid)


@pytest.mark.parametrize("touch", ["pinned", "moved"])
def test_a_session_that_only_edited_leaves_what_a_person_touched_since(
    store: Store, agent: Session, touch: str
) -> None:
    fact = store.facts.write(THEME, "D[a]: first").fact
    store.facts.edit(fact.uid, "second", actor=Actor("session", agent.name))
    TOUCHES[touch](store, fact)

    with pytest.raises(errors.UndoConflict, match=fact.uid):
        store.undo.session("agent")

    assert store.facts.get(fact.uid).content == "second"


def test_what_the_person_took_back_again_holds_no_session(store: Store, agent: Session) -> None:
    fact = store.facts.write(THEME, "D[a]: agent", session=agent).fact
    store.undo.change(store.facts.pin([fact.uid]).seqs[0])

    store.undo.session("agent")

    with pytest.raises(errors.UnknownFact):
        store.facts.get(fact.uid)


def test_a_fact_that_another_session_said_too_is_not_taken_away_from_it(store: Store, agent: Session) -> None:
    fact = store.facts.write(THEME, "D[a]: both", session=agent).fact
    store.facts.write(THEME, "D[a]: both", session=store.sessions.open(THEME, "second"))

    with pytest.raises(errors.UndoConflict, match=fact.uid):
        store.undo.session("agent")


@pytest.mark.parametrize("touch", ["pinned", "moved", "edited"])
def test_a_write_is_not_undone_beneath_what_followed_it(store: Store, touch: str) -> None:
    written = store.facts.write(THEME, "D[a]: 1", scope="s")
    TOUCHES[touch](store, written.fact)
    stands = store.facts.get(written.fact.uid)

    with pytest.raises(errors.UndoConflict, match=r"undo \d+ first"):
        store.undo.change(written.seqs[0])

    assert store.facts.get(written.fact.uid) == stands


def test_undoing_a_move_into_a_place_taken_since_names_both_facts_and_the_way_out(store: Store) -> None:
    first = store.facts.write(THEME, "D[a]: first", scope="s").fact
    moved = store.facts.move([first.uid], "t")
    second = store.facts.write(THEME, "D[a]: second", scope="s")
    before, last = portrait(store), store.journal.last_seq()

    with pytest.raises(errors.UndoConflict) as refused:
        store.undo.change(moved.seqs[0])

    assert first.uid in refused.value.message
    assert second.fact.uid in refused.value.message
    assert "'s'" in refused.value.message
    assert f"undo {second.seqs[0]} first" in refused.value.message
    assert portrait(store) == before
    assert store.journal.last_seq() == last
    store.undo.change(second.seqs[0])
    store.undo.change(moved.seqs[0])
    assert store.facts.get(first.uid).scope == "s"


@pytest.mark.parametrize("tier", ["archive", "cool"])
def test_undoing_a_move_meets_what_is_archived_or_cold_there_too(store: Store, tier: str) -> None:
    first = store.facts.write(THEME, "D[a]: first", scope="s").fact
    moved = store.facts.move([first.uid], None)
    second = store.facts.write(THEME, "D[A]: second", scope="s").fact
    getattr(store.facts, tier)([second.uid])

    with pytest.raises(errors.UndoConflict, match=second.uid):
        store.undo.change(moved.seqs[0])
    store.facts.move([second.uid], "elsewhere")
    store.undo.change(moved.seqs[0])

    assert store.facts.get(first.uid).scope == "s"


def test_undoing_a_merge_into_a_place_taken_since_changes_nothing(store: Store) -> None:
    store.facts.write(THEME, "D[a]: first", scope="s")
    store.facts.write(THEME, "D[b]: other", scope="t")
    merged = store.scopes.merge(THEME, "s", "t")
    taken = store.facts.write(THEME, "D[a]: second", scope="s").fact
    before = portrait(store)

    with pytest.raises(errors.UndoConflict):
        store.undo.change(merged.seqs[0])

    assert portrait(store) == before
    assert store.facts.get(taken.uid).scope == "s"


def test_redoing_a_move_into_a_place_taken_since_names_both_facts(store: Store) -> None:
    first = store.facts.write(THEME, "D[a]: first", scope="s").fact
    store.facts.write(THEME, "D[b]: keeps it", scope="t")
    undone = store.undo.change(store.facts.move([first.uid], "t").seqs[0])
    second = store.facts.write(THEME, "D[a]: second", scope="t").fact

    with pytest.raises(errors.UndoConflict, match=second.uid):
        store.undo.change(undone.seqs[0])


def test_a_fact_goes_back_to_its_scope_though_that_has_another_name_by_now(store: Store) -> None:
    fact = store.facts.write(THEME, "D[a]: 1", scope="s").fact
    store.facts.write(THEME, "D[b]: stays", scope="s")
    moved = store.facts.move([fact.uid], "t")
    store.scopes.rename(THEME, "s", "renamed")

    store.undo.change(moved.seqs[0])

    assert store.facts.get(fact.uid).scope == "renamed"
    assert "s" not in labels(store)


def test_a_write_is_undone_though_its_scope_has_another_name_by_now(store: Store) -> None:
    written = store.facts.write(THEME, "D[a]: 1", scope="s")
    store.scopes.rename(THEME, "s", "renamed")

    store.undo.change(written.seqs[0])

    with pytest.raises(errors.UnknownFact):
        store.facts.get(written.fact.uid)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_undo_in_any_order_leaves_no_empty_scope(store: Store, order: tuple[int, int]) -> None:
    changes = [store.facts.write(THEME, f"D[{name}]: 1", scope="s").seqs[0] for name in "ab"]

    undone = [store.undo.change(changes[n]) for n in order]

    assert labels(store) == {}
    for one in reversed(undone):
        store.undo.change(one.seqs[0])
    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert len(store.facts.page(FactFilter(theme=THEME, scopes=("s",))).facts) == 2


def test_a_scope_stays_that_others_still_stand_in(store: Store) -> None:
    first = store.facts.write(THEME, "D[a]: 1", scope="s")
    store.undo.change(first.seqs[0])
    again = store.facts.write(THEME, "D[b]: 1", scope="s")
    kept = store.facts.write(THEME, "D[c]: 1", scope="s").fact

    store.undo.change(again.seqs[0])

    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert store.facts.get(kept.uid).scope == "s"


def test_undoing_the_write_that_opened_a_scope_leaves_it_to_those_who_wrote_to_it_since(store: Store) -> None:
    opening = store.facts.write(THEME, "D[a]: 1", scope="s")
    other = store.facts.write(THEME, "D[b]: 1", scope="s")

    undone = store.undo.change(opening.seqs[0])

    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert [fact.uid for fact in store.facts.page(FactFilter(theme=THEME, scopes=("s",))).facts] == [other.fact.uid]
    assert undone.uids == (opening.fact.uid,)
    store.undo.change(other.seqs[0])
    assert labels(store) == {}, "its opening is undone, and nobody is left in it"
    assert all(check.ok for check in examine_store(store))


def test_undoing_a_later_write_leaves_an_empty_scope_whose_opening_stands(store: Store) -> None:
    opening = store.facts.write(THEME, "D[a]: 1", scope="s")
    later = store.facts.write(THEME, "D[b]: 1", scope="s")
    store.facts.move([opening.fact.uid], "t")

    store.undo.change(later.seqs[0])

    assert labels(store) == {"s": ScopeStatus.OPEN, "t": ScopeStatus.OPEN}


def test_undoing_the_write_that_opened_a_scope_and_redoing_it_gives_back_both(store: Store) -> None:
    opening = store.facts.write(THEME, "D[a]: 1", scope="s")
    before = portrait(store)

    undone = store.undo.change(opening.seqs[0])

    assert labels(store) == {}
    assert [(row[1], row[2], row[4]) for row in portrait(store)] == [("s", "withdrawn", "withdrawn")]
    assert len(undone.seqs) == 2, "the fact and the scope, each once"
    store.undo.redo()
    assert portrait(store) == before


def test_undoing_a_move_withdraws_the_scope_that_it_opened_and_no_other(store: Store) -> None:
    fact = store.facts.write(THEME, "D[a]: 1", scope="s").fact
    moved = store.facts.move([fact.uid], "t")
    assert labels(store) == {"s": ScopeStatus.OPEN, "t": ScopeStatus.OPEN}

    store.undo.change(moved.seqs[0])

    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert store.facts.get(fact.uid).scope == "s"


def test_undoing_the_write_that_opened_a_scope_takes_the_scope_away_though_it_was_closed_and_reopened(
    store: Store,
) -> None:
    opening = store.facts.write(THEME, "D[a]: 1", scope="s")
    closed = store.scopes.close(THEME, "s")
    store.undo.change(closed.seqs[0])

    store.undo.change(opening.seqs[0])

    assert labels(store) == {}


def test_undoing_a_write_to_no_scope_withdraws_no_scope(store: Store) -> None:
    written = store.facts.write(THEME, "D[a]: 1")

    undone = store.undo.change(written.seqs[0])

    assert len(undone.seqs) == 1
    assert portrait(store)[0][1:3] == ("", "open")


def test_a_fact_that_comes_back_brings_its_scope_back(store: Store) -> None:
    first = store.facts.write(THEME, "D[a]: 1", scope="s").seqs[0]
    second = store.facts.write(THEME, "D[b]: 1", scope="s").seqs[0]
    undone = store.undo.change(second)
    store.undo.change(first)
    assert labels(store) == {}

    store.undo.change(undone.seqs[0])

    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert all(check.ok for check in examine_store(store))


def test_undo_links_no_fact_to_one_that_was_purged(store: Store) -> None:
    old = store.facts.write(THEME, "D[a]: old").fact
    new = store.facts.write(THEME, "D[a]: new").fact
    restored = store.facts.restore([old.uid])
    store.purge.facts([uids.parse_uid(new.uid)])

    with pytest.raises(errors.UndoConflict, match="erased by a purge"):
        store.undo.change(restored.seqs[0])

    assert all(check.ok for check in examine_store(store))
    assert store.facts.get(old.uid).tier is Tier.HOT


def test_undo_of_a_move_between_tiers_leaves_a_purged_replacement_out(store: Store) -> None:
    old = store.facts.write(THEME, "D[a]: old").fact
    new = store.facts.write(THEME, "D[a]: new").fact
    store.facts.move([new.uid], "elsewhere")
    restored = store.facts.restore([old.uid])
    store.purge.facts([uids.parse_uid(new.uid)])

    store.undo.change(restored.seqs[0])

    assert store.facts.get(old.uid).superseded_by is None
    assert all(check.ok for check in examine_store(store))


def test_the_newest_changes_are_taken_back_but_for_what_stands_in_the_way(store: Store) -> None:
    first = store.facts.write(THEME, "D[a]: 1").fact
    store.facts.write(THEME, "D[b]: 1")
    store.facts.edit(first.uid, "from the team", actor=Actor("sync", ""))

    with pytest.raises(errors.UndoConflict):
        store.undo.last(2)
    undone = store.undo.last(2, leaving=True)

    assert len(undone.undone) == 1
    assert first.uid in undone.left[0]


def test_a_move_into_a_place_taken_by_what_is_archived_names_both_and_a_way_that_works(store: Store) -> None:
    here = store.facts.write(THEME, "D[a]: here", scope="s").fact.uid
    there = store.facts.write(THEME, "D[a]: there", scope="t").fact.uid
    store.facts.archive([there])

    with pytest.raises(errors.FactConflict, match="move that one elsewhere first") as refused:
        store.facts.move([here], "t")

    assert here in refused.value.message
    assert there in refused.value.message
    store.facts.move([there], None)
    store.facts.move([here], "t")


@pytest.mark.parametrize("by", ["rename", "undo"])
def test_a_label_that_a_scope_keeps_which_is_gone_is_refused_with_a_way_that_works(store: Store, by: str) -> None:
    store.facts.write(THEME, "D[a]: 1", scope="s")
    renamed = store.scopes.rename(THEME, "s", "t")
    store.undo.change(store.facts.write(THEME, "D[b]: 1", scope="s").seqs[0])
    assert labels(store) == {"t": ScopeStatus.OPEN}

    again = {"rename": lambda: store.scopes.rename(THEME, "t", "s"), "undo": lambda: store.undo.change(renamed.seqs[0])}
    with pytest.raises(errors.Conflict, match="which is gone and keeps its name; write a fact to it"):
        again[by]()

    store.facts.write(THEME, "D[b]: 1", scope="s")
    store.scopes.merge(THEME, "t", "s")
    assert labels(store) == {"s": ScopeStatus.OPEN}
    assert len(store.facts.page(FactFilter(theme=THEME, scopes=("s",))).facts) == 2


def test_a_move_stays_beneath_a_later_restore(store: Store) -> None:
    first = store.facts.write(THEME, "C[db]: one", scope="speed")
    second = store.facts.write(THEME, "C[db]: two", scope="speed")
    moved = store.facts.move([first.fact.uid], "pace")
    restored = store.facts.restore([first.fact.uid])
    replaced = store.facts.write(THEME, "C[db]: three", scope="pace")

    with pytest.raises(errors.UndoConflict, match=f"undo {replaced.seqs[0]} first"):
        store.undo.change(moved.seqs[0])

    for change in (replaced, restored, moved, second, first):
        store.undo.change(change.seqs[0])
    assert [scope.label for scope in store.scopes.list(THEME) if scope.label] == []


def test_two_facts_never_wait_for_each_other_to_leave_a_place(store: Store) -> None:
    first = store.facts.write(THEME, "C[db]: one", scope="a").fact
    store.facts.move([first.uid], "b")
    away = store.facts.move([first.uid], "c")
    second = store.facts.write(THEME, "C[db]: two", scope="b").fact
    swapped = store.facts.move([second.uid], "a")

    with pytest.raises(errors.UndoConflict, match=f"in the way of the other; undo {swapped.seqs[0]} first"):
        store.undo.change(away.seqs[0])

    store.undo.change(swapped.seqs[0])
    with pytest.raises(errors.UndoConflict, match=second.uid):
        store.undo.change(away.seqs[0])


def test_a_redo_never_leaves_changes_that_wait_for_each_other(store: Store, agent: Session) -> None:
    fact = store.facts.write(THEME, "C[db]: one", session=agent, scope="a")
    store.facts.move([fact.fact.uid], None)
    away = store.facts.move([fact.fact.uid], "b")
    store.undo.last(3, theme=THEME)
    undos = {change.undoes: change.change for change in store.journal.changes() if change.undoes}
    store.undo.change(undos[away.seqs[0]])

    with pytest.raises(errors.UndoConflict, match=f"in the way of the other; undo {away.seqs[0]} first"):
        store.undo.change(undos[fact.seqs[0]])

    store.undo.change(away.seqs[0])
    store.undo.change(undos[fact.seqs[0]])
    assert store.facts.get(fact.fact.uid).tier == Tier.HOT


def test_a_refusal_names_a_change_and_not_the_undo_of_a_later_one(store: Store) -> None:
    fact = store.facts.write(THEME, "C[db]: one", scope="a")
    first = store.facts.move([fact.fact.uid], "b")
    store.undo.change(store.facts.move([fact.fact.uid], "c").seqs[0])

    with pytest.raises(errors.UndoConflict, match=f"undo {first.seqs[0]} first"):
        store.undo.change(fact.seqs[0])


def test_a_close_stays_beneath_a_later_write_that_reopens(store: Store) -> None:
    opened = store.facts.write(THEME, "C[db]: one", scope="a")
    closed = store.scopes.close(THEME, "a")
    reopened = store.facts.write(THEME, "D[db]: two", scope="a")

    with pytest.raises(errors.UndoConflict, match=f"undo {reopened.seqs[0]} first"):
        store.undo.change(closed.seqs[0])

    for change in (reopened, closed, opened):
        store.undo.change(change.seqs[0])
    assert store.scopes.list(THEME) == []


def test_a_scope_that_a_merge_emptied_and_a_write_reopened_is_gone_again_once_that_is_undone(store: Store) -> None:
    first = store.facts.write(THEME, "C[db]: one", scope="a")
    other = store.facts.write(THEME, "D[db]: two", scope="b")
    merged = store.scopes.merge(THEME, "a", "b")
    again = store.facts.write(THEME, "V[db]: 3", scope="a")
    beside = store.facts.write(THEME, "V[port]: 4", scope="a")
    store.undo.change(again.seqs[0])
    store.undo.change(beside.seqs[0])
    assert [scope.label for scope in store.scopes.list(THEME)] == ["b"]

    for change in (merged, other, first):
        store.undo.change(change.seqs[0])
    assert store.scopes.list(THEME) == []


def test_an_undo_that_would_try_every_order_ends_and_says_what_it_left(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [store.sessions.open("ops", f"agent-{number}") for number in range(3)]
    for number in range(120):
        store.facts.write(
            "ops", f"V[v.{number * 7 % 11}]: {number}", session=agents[number % 3], scope=f"s{number % 2}"
        )
    whole = store.undo.preview(lambda: store.undo.session("agent-0", theme="ops", leaving=True))
    monkeypatch.setattr(undo, "MOST_TRIED", 3)
    before = store.journal.last_seq()
    done = store.undo.session("agent-0", theme="ops", leaving=True)
    assert done.undone
    assert set(done.undone) <= set(whole.undone)
    assert any("too many changes beside it" in why for why in done.left)
    assert store.journal.last_seq() > before
    assert [check.detail for check in examine_store(store) if not check.ok] == []


def test_a_change_is_undone_once(store: Store) -> None:
    seq = store.facts.write(THEME, "D[auth]: JWT").seqs[0]
    store.undo.change(seq)
    with pytest.raises(errors.NothingToUndo):
        store.undo.change(seq)


def test_a_former_label_that_another_scope_has_by_now_is_not_given_back(store: Store) -> None:
    store.facts.write(THEME, "D[a]: 1", scope="s")
    renamed = store.scopes.rename(THEME, "s", "t")
    store.facts.write(THEME, "D[a]: 2", scope="s")
    with pytest.raises(
        errors.UndoConflict, match="scope 't' would be named 's' again, and there is by now a scope named 's'"
    ):
        store.undo.change(renamed.seqs[0])
    assert labels(store) == {"s": ScopeStatus.OPEN, "t": ScopeStatus.OPEN}
