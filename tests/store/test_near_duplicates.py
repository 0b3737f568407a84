"""Near-duplicates: pairs of facts that say the same under different targets, and pairs that do not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store import Store
from hermes_memory_store.memory.near_duplicates import is_near_duplicate
from hermes_memory_store.model import PERSON, FactFilter

PAIRS = Path(__file__).with_name("near_pairs")

Pair = tuple[str, str, str, str]


def lines_of(name: str) -> list[str]:
    return [line for line in (PAIRS / name).read_text("utf-8").splitlines() if not line.startswith("#")]


def near_pairs() -> list[Pair]:
    """Every two facts of a line: of each target, with each content."""
    found: list[Pair] = []
    for line in lines_of("near.txt"):
        _, targets, contents = (part.strip() for part in line.split(" | "))
        said = [part.strip() for part in contents.split(" ; ")]
        for one, other in combinations([part.strip() for part in targets.split(",")], 2):
            found += [(one, first, other, second) for first, second in product(said, said)]
    return found


def apart_pairs() -> list[Pair]:
    """Every two facts of a line."""
    found: list[Pair] = []
    for line in lines_of("apart.txt"):
        facts = [part.strip().split(": ", 1) for part in line.split(" | ", 1)[1].split(" ; ")]
        found += [(*one, *other) for one, other in combinations(facts, 2)]  # type: ignore[misc]
    return found


def unrelated_pairs() -> list[Pair]:
    """The first facts of every two lines of near-duplicates of one type."""
    firsts = [[part.strip() for part in line.split(" | ")] for line in lines_of("near.txt")]
    facts = [(kind, targets.split(",")[0], said.split(" ; ")[0]) for kind, targets, said in firsts]
    return [(one[1], one[2], two[1], two[2]) for one, two in combinations(facts, 2) if one[0] == two[0]]


def test_at_least_nine_of_ten_near_duplicates_are_found() -> None:
    pairs = near_pairs()
    assert len(pairs) >= 150
    assert sum(is_near_duplicate(*pair) for pair in pairs) / len(pairs) >= 0.9


@pytest.mark.parametrize("pairs", [apart_pairs(), unrelated_pairs()], ids=["alike", "unrelated"])
def test_at_most_three_of_a_hundred_others_are_taken_for_one(pairs: list[Pair]) -> None:
    assert len(pairs) >= 300
    assert [pair for pair in pairs if is_near_duplicate(*pair)][len(pairs) * 3 // 100 :] == []


@given(st.text(min_size=1), st.text(), st.text(min_size=1), st.text())
def test_any_two_facts_are_compared_alike_from_both_sides(one: str, said: str, other: str, says: str) -> None:
    assert is_near_duplicate(one, said, other, says) == is_near_duplicate(other, says, one, said)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory.db")


def test_a_write_names_what_is_close_to_it(store: Store) -> None:
    first = store.facts.write("ops", "D[cache]: redis", scope="shop").fact
    written = store.facts.write("ops", "D[caching]: redis 7", scope="shop")

    assert [fact.uid for fact in written.near] == [first.uid]
    assert written.superseded == ()
    assert store.facts.near_duplicates(first.uid) == (store.facts.get(written.fact.uid),)


@pytest.mark.parametrize(
    ("line", "scope"),
    [
        ("C[caching]: redis 7", "shop"),
        ("D[cache]: redis 7", "shop"),
        ("D[caching]: redis 7", "another"),
        ("D[queue]: redis", "shop"),
        ("✓[caching]: redis 7", "shop"),
    ],
)
def test_another_type_scope_or_subject_is_not_close(store: Store, line: str, scope: str) -> None:
    store.facts.write("ops", "D[cache]: redis", scope="shop")
    assert store.facts.write("ops", line, scope=scope).near == ()


def test_what_has_no_scope_is_compared_and_other_themes_are_not(store: Store) -> None:
    free = store.facts.write("ops", "D[cache]: redis").fact
    assert [fact.uid for fact in store.facts.write("ops", "D[caching]: redis 7", scope="shop").near] == [free.uid]
    assert store.facts.write("dev", "D[caching]: redis 7").near == ()


def test_a_fact_that_stands_no_more_is_not_named(store: Store) -> None:
    first = store.facts.write("ops", "D[cache]: redis").fact
    store.facts.archive(first.uid)
    assert store.facts.write("ops", "D[caching]: redis 7").near == ()


def test_other_writers_do_not_wait_while_close_facts_are_looked_for(store: Store) -> None:
    store.facts.write("ops", "D[cache]: redis for sessions")
    searched_while: list[bool] = []
    with closing(sqlite3.connect(store.path, timeout=0, isolation_level=None)) as other:

        def take_lock(statement: str) -> None:
            if "facts_standing" in statement:
                other.execute("BEGIN IMMEDIATE")
                searched_while.append(
                    other.execute("SELECT 1 FROM facts WHERE target = 'caching'").fetchone() is not None
                )
                other.execute("ROLLBACK")

        store.db.conn.set_trace_callback(take_lock)
        result = store.facts.write("ops", "D[caching]: redis for sessions")
        store.db.conn.set_trace_callback(None)
    assert searched_while
    assert all(searched_while), "the fact is committed before"
    assert [one.target for one in result.near] == ["cache"]


def test_what_only_repeats_a_fact_and_what_comes_in_bulk_names_nothing(store: Store) -> None:
    store.facts.write("ops", "D[cache]: redis")
    store.facts.write("ops", "D[caching]: redis 7")
    assert store.facts.write("ops", "D[caching]: redis 7").near == ()
    store.facts.write_many("ops", [("D[cache.backend]: redis 7", None)], actor=PERSON)
    assert store.facts.page(FactFilter("ops")).total == 3


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("D[aws.region]: eu-central-1", "D[region]: eu-central-1"),
        ("D[db]: postgres 16", "D[database]: PostgreSQL 16"),
        ("D[k8s]: three nodes on Hetzner", "D[kubernetes]: three nodes on Hetzner Cloud"),
        ("V[upload.max]: 25 MB", "V[max.upload]: 25 MB"),
        (
            "C[prose]: short sentences in plain technical English",
            "C[writing]: short sentences in plain technical English",
        ),
    ],
)
def test_what_is_close_is_found_among_many(store: Store, before: str, line: str) -> None:
    first = store.facts.write("ops", before).fact
    others = [(f"{line[0]}[topic{number}]: entry {number} of many", None) for number in range(300)]
    store.facts.write_many("ops", others, actor=PERSON)
    assert [fact.uid for fact in store.facts.write("ops", line).near] == [first.uid]
