"""Facts of branches that are not merged: how they are marked, ranked and held back, and what the journal says of a merge."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from hermes_memory_store import errors
from hermes_memory_store.items.journal import load_records
from hermes_memory_store.journal.time_travel import open_store_at
from hermes_memory_store.journal.transaction_log import replay_records
from hermes_memory_store.model import UNKNOWN_ORIGIN, Actor, Fact, FactFilter, Origin, Tier, Way
from hermes_memory_store.places.branch_marks import UNDECIDED, UNMERGED, BranchMark, WrittenAt, find_branch_marks
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.projects.branch_search import MERGED, BranchFindings, BranchTip, MergeState
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock

MAIN, PAY, TIP, OTHER = (f"{number:040x}" for number in (1, 2, 3, 4))

AGENT = Actor("session", "a")


def place(store: Store, branch: str | None, commit: str | None, project: str = "shop") -> Origin:
    """Return where something was written: a project that this machine has seen."""
    seen = ProjectSighting(root=f"/work/{project}", common=f"/work/{project}/.git", branch=branch, commit=commit)
    return store.projects.place(Origin(way=Way.TOOL), seen)


def write(store: Store, line: str, branch: str | None, commit: str | None, actor: Actor = AGENT) -> Fact:
    return store.facts.write("default", line, actor=actor, origin=place(store, branch, commit)).fact


def note(store: Store, state: str, *, target: str = "", at: str = MAIN, branch: str = "pay", commit: str = PAY) -> int:
    """Keep what Git would have told of a branch."""
    project = store.branch_states.find_project("/work/shop/.git")
    assert project is not None
    way = "squash" if state == MERGED else None
    found = BranchFindings(
        target, (at,), {(branch, commit): MergeState(state, way, True)}, {branch: BranchTip(TIP, True)}
    )
    return store.branch_states.note(project, "main", found)


def block(store: Store, reader: Origin) -> list[str]:
    """Return the facts of the context block that a reader is given."""
    with store.attribute(reader):
        text = store.context.status("default", record=False).text
    return [line for line in text.split("[MEMORY ")[1].splitlines()[1:] if line]


def hold(store: Store, value: str, tmp_path: Path) -> Store:
    """Open the store once more, where the theme says what becomes of branches."""
    file = tmp_path / "themes.toml"
    file.write_text(f'[defaults]\nbranches = "{value}"\n', encoding="utf-8")
    return Store(store.db, store.clock, Policies.load(file))


@pytest.mark.parametrize(
    ("of_default", "of_reader", "branch", "commit", "label"),
    [
        (None, None, "main", MAIN, "(branch pay?)"),
        (UNDECIDED, None, "main", MAIN, "(branch pay?)"),
        (UNMERGED, None, "main", MAIN, "(branch pay)"),
        (UNMERGED, None, "main", OTHER, "(branch pay?)"),
        (MERGED, None, "main", OTHER, None),
        (UNMERGED, None, "pay", OTHER, None),
        (UNMERGED, None, "beside", OTHER, "(branch pay?)"),
        (UNMERGED, UNMERGED, "beside", OTHER, "(branch pay)"),
        (UNMERGED, MERGED, "beside", OTHER, None),
        (MERGED, UNMERGED, "beside", OTHER, None),
        (UNMERGED, UNMERGED, None, OTHER, "(branch pay?)"),
        (UNMERGED, MERGED, None, OTHER, None),
    ],
)
def test_what_is_known_for_a_reader(
    store: Store,
    of_default: str | None,
    of_reader: str | None,
    branch: str | None,
    commit: str,
    label: str | None,
) -> None:
    write(store, "D[db]: sqlite", "pay", PAY)
    if of_default:
        note(store, of_default)
    if of_reader:
        note(store, of_reader, target=branch or "@", at=commit)
    assert block(store, place(store, branch, commit)) == ["D[db]: sqlite" + (f" {label}" if label else "")]


def test_readers_without_a_project_and_of_another_one(store: Store) -> None:
    write(store, "D[db]: sqlite", "pay", PAY)
    write(store, "D[ui]: textual", "main", MAIN)
    note(store, UNMERGED)
    for reader in (UNKNOWN_ORIGIN, Origin(way=Way.TOOL), place(store, "pay", PAY, "quotes")):
        assert block(store, reader) == ["D[ui]: textual", "D[db]: sqlite (branch pay)"]


def test_facts_without_a_branch_are_as_ever(store: Store) -> None:
    store.facts.write("default", "D[a]: nobody knows", actor=AGENT)
    store.facts.write("default", "D[b]: no repository", actor=AGENT, origin=place(store, None, None))
    write(store, "D[c]: on the default branch", "main", OTHER)
    assert "(branch" not in "".join(block(store, place(store, "pay", PAY)))


def test_what_was_written_at_a_detached_head_is_labelled_with_its_commit(store: Store) -> None:
    write(store, "D[db]: sqlite", None, PAY)
    assert block(store, place(store, "main", MAIN)) == ["D[db]: sqlite (commit 0000000?)"]
    assert block(store, place(store, None, PAY)) == ["D[db]: sqlite"]
    note(store, MERGED, branch="")
    assert block(store, place(store, "main", MAIN)) == ["D[db]: sqlite"]


def test_constraints_a_person_s_facts_and_pinned_ones_keep_their_place_and_are_never_held_back(
    store: Store, tmp_path: Path
) -> None:
    write(store, "V[port]: 8080", "main", MAIN)
    write(store, "D[db]: sqlite", "pay", PAY)
    write(store, "D[mine]: by a person", "pay", PAY, Actor("person"))
    write(store, "C[keys]: never in the log", "pay", PAY)
    store.facts.pin([write(store, "V[pinned]: yes", "pay", PAY).uid])
    note(store, UNMERGED)
    reader = place(store, "main", MAIN)
    kept = [
        "V[pinned]: yes (branch pay)",
        "C[keys]: never in the log (branch pay)",
        "D[mine]: by a person (branch pay)",
        "V[port]: 8080",
    ]
    assert block(store, reader) == [*kept, "D[db]: sqlite (branch pay)"]
    held = hold(store, "hold", tmp_path)
    assert block(held, reader) == [*kept, "(+1 of unmerged branches held back: memory_search branch:NAME)"]
    assert "(branch" not in "".join(block(hold(store, "off", tmp_path), reader))
    note(store, UNDECIDED)
    assert "D[db]: sqlite (branch pay?)" in block(held, reader), "what is undecided is given"


def test_the_persons_own_facts_keep_their_place_and_are_never_held_back(store: Store, tmp_path: Path) -> None:
    for theme in ("default", "personal"):
        store.facts.write(theme, "D[user.editor]: vim", actor=AGENT, origin=place(store, "pay", PAY))
    note(store, UNMERGED)
    held = hold(store, "hold", tmp_path)
    with held.attribute(place(store, "main", MAIN)):
        for theme, lines in (("default", []), ("personal", ["D[user.editor]: vim (branch pay)"])):
            text = held.context.status(theme, record=False).text
            assert [line for line in text.splitlines() if line.startswith("D[user")] == lines
            found = held.branch_labels.mark(held.facts.page(FactFilter(theme=theme)).facts)
            assert [one.line for one in found.given] == lines
            assert not any(one.is_lowered for one in found.given)


def test_labels_count_as_tokens(store: Store) -> None:
    for number in range(60):
        write(store, f"V[number{number}]: {number}", "a-branch-with-a-long-name", PAY)
    with store.attribute(place(store, "main", MAIN)):
        told = store.context.status("default", record=False)
    assert told.fact_tokens <= 180
    assert told.left_out == 60 - len(told.facts) > 0
    assert set(told.marks) == {fact.uid for fact in told.facts}


def test_a_long_name_is_shortened_in_a_label() -> None:
    assert BranchMark(UNMERGED, "x" * 100, None).label == f"(branch {'x' * 39}…)"


def test_a_search_finds_the_facts_of_a_branch_by_its_name(store: Store) -> None:
    fact = write(store, "D[db]: sqlite", "feature/pay", PAY)
    write(store, "D[ui]: textual", "main", MAIN)
    for line in ("branch:feature/pay", 'sqlite branch:"feature/pay"', "sqlite branch:other,feature/pay"):
        assert [one.uid for one in store.search.find("default", line).facts] == [fact.uid]
    assert store.search.find("default", "branch:none").facts == []
    assert store.search.find_branch_filter("a branch:x,y b") == {"x", "y"}
    wanted = FactFilter(theme="default", branches=frozenset({"main"}))
    assert [one.target for one in store.facts.page(wanted).facts] == ["ui"]


def test_a_merge_is_journaled_once_and_undo_leaves_it_alone(store: Store) -> None:
    fact = write(store, "D[db]: sqlite", "pay", PAY)
    store.facts.write("other", "D[db]: sqlite", actor=AGENT, origin=place(store, "pay", PAY))
    assert [note(store, state) for state in (UNMERGED, MERGED, MERGED, UNDECIDED)] == [0, 2, 0, 0]
    changes = store.journal.changes(ops=["branch_merged"])
    assert [change.theme for change in changes] == ["default", "other"]
    assert changes[0].after == {
        "project": "shop",
        "branch": "pay",
        "commit": TIP,
        "into": "main",
        "target_commit": MAIN,
        "way": "squash",
    }
    assert str(changes[0].actor) == "bridge"
    with pytest.raises(errors.NothingToUndo):
        store.undo.change(changes[0].change)
    undone = store.undo.last(theme="default")
    assert undone.uids == (fact.uid,)
    assert store.journal.verify().ok
    assert block(store, place(store, "main", MAIN)) == ["(no active facts)"]


def test_a_log_with_merges_is_replayed(store: Store, clock: HandClock, tmp_path: Path) -> None:
    write(store, "D[db]: sqlite", "pay", PAY)
    note(store, MERGED)
    moment = clock.now
    clock.forward(1000)
    write(store, "V[port]: 8080", "main", MAIN)
    with closing(open_store_at(store, moment)) as past:
        assert [one.target for one in past.facts.page(FactFilter(theme="default")).facts] == ["db"]
    with Store.open(tmp_path / "again.db") as again:
        replay_records(again, load_records(store.db))
        assert again.journal.verify().ok
        assert [one.op for one in again.journal.changes(entities=["branch"])] == ["branch_merged"]
        assert {one.target for one in again.facts.page(FactFilter(theme="default")).facts} == {"db", "port"}


def test_a_purge_of_the_last_fact_of_a_branch_leaves_no_trace_of_its_name(store: Store) -> None:
    fact = write(store, "D[db]: sqlite", "pay-gehaltsliste-77", PAY)
    write(store, "V[port]: 8080", "main", MAIN)
    note(store, UNMERGED, branch="pay-gehaltsliste-77")
    note(store, MERGED, branch="pay-gehaltsliste-77")
    store.purge.execute_facts(fact.uid)
    assert store.db.rows("SELECT * FROM branch_states") == []
    assert [name for (name,) in store.db.rows("SELECT name FROM project_branches")] == ["main"]
    store.close()
    assert b"gehaltsliste" not in store.path.read_bytes()


def test_a_purge_erases_a_branch_whose_name_holds_the_words(store: Store) -> None:
    fact = write(store, "V[customer]: Quarzmühlentalstraße17", "main", MAIN)
    write(store, "D[db]: sqlite", "Quarzmühlentalstraße17", PAY)
    note(store, MERGED, branch="Quarzmühlentalstraße17")
    store.purge.execute_facts(fact.uid)
    held = [*store.db.rows("SELECT name FROM project_branches"), *store.db.rows("SELECT before, after FROM journal")]
    assert "Quarz" not in str([*held, *store.db.rows("SELECT branch, target FROM branch_states")])


def test_a_name_that_may_not_be_listed_is_not_kept(store: Store) -> None:
    secret = "ghp_" + "a1B2" * 9
    write(store, "D[db]: sqlite", f"fix-{secret}", PAY)
    note(store, UNMERGED, branch=f"fix-{secret}")
    note(store, UNMERGED, target=f"fix-{secret}")
    assert secret not in str([store.db.rows(f"SELECT * FROM {table}") for table in ("project_branches", "origins")])
    assert secret not in str(store.db.rows("SELECT * FROM branch_states"))


def test_marks_can_be_read_without_the_rest_of_the_store(store: Store) -> None:
    write(store, "D[db]: sqlite", "pay", PAY)
    note(store, UNMERGED)
    key = store.branch_states.find_project("/work/shop/.git")
    conn = sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)
    asked: list[str] = []
    conn.set_trace_callback(asked.append)
    fact, reader = WrittenAt(key, "pay", PAY), WrittenAt(key, "main", MAIN)
    found = find_branch_marks(lambda sql, args: conn.execute(sql, args).fetchall(), [fact], reader)
    assert found == {fact: BranchMark(UNMERGED, "pay", PAY)}
    assert len(asked) == 1
    assert find_branch_marks(lambda sql, args: conn.execute(sql, args).fetchall(), [reader], reader) == {}
    assert len(asked) == 1, "nothing is asked where nothing is from another branch"
    conn.close()


def test_marks_cost_one_statement_a_read_and_none_where_nothing_is_from_another_branch(store: Store) -> None:
    for number in range(30):
        write(store, f"V[n{number}]: x", "pay" if number % 2 else "main", PAY)
    note(store, UNMERGED)
    asked: list[str] = []
    store.db.conn.set_trace_callback(asked.append)

    def count(reader: Origin) -> int:
        with store.attribute(reader):
            store.context.status("default", record=False)
            asked.clear()
            store.context.status("default", record=False)
        return len(asked)

    plain = replace(place(store, "pay", PAY), branch=None, commit=None)
    with store.attribute(plain):
        off = hold(store, "off", store.path.parent)
        off.context.status("default", record=False)
        asked.clear()
        off.context.status("default", record=False)
        without = len(asked)
    assert count(place(store, "main", MAIN)) == without + 1
    store.db.conn.set_trace_callback(None)


def test_cold_facts_are_labelled_in_a_search(store: Store) -> None:
    fact = write(store, "D[db]: sqlite", "pay", PAY)
    store.facts.archive([fact.uid])
    note(store, UNMERGED)
    with store.attribute(place(store, "main", MAIN)):
        marked = store.branch_labels.mark(store.search.find("default", "sqlite tier:all").facts)
    assert [(one.fact.tier, one.line) for one in marked.given] == [(Tier.ARCHIVED, "D[db]: sqlite (branch pay)")]
