"""A split sorts a theme's facts by project, says why, leaves what nothing decides, and is one change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import ArgumentError, FactConflict
from hermes_memory_store.model import Actor, FactFilter, Origin, Tier, Way
from hermes_memory_store.projects.theme_moves import Reason
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "memory.db", policies=Policies(tmp_path / "memory-themes.toml")) as store:
        yield store


def write_at(store: Store, place: Path, line: str, **how: str | None) -> str:
    with store.attribute(store.projects.locate(Origin(way=Way.TOOL), place)):
        return store.facts.write("default", line, **how).fact.uid  # type: ignore[arg-type]


def notations(store: Store, theme: str) -> set[str]:
    return {fact.notation for fact in store.facts.page(FactFilter(theme=theme)).facts}


@pytest.fixture
def mixed(store: Store, tmp_path: Path) -> Store:
    """Facts of two projects in one theme, and some that nobody knows the place of."""
    shop, bank = tmp_path / "shop", tmp_path / "bank"
    write_at(store, shop, "D[db]: Postgres holds the cart and the till", scope="checkout")
    write_at(store, bank, "D[ledger]: double entry, cents as integers")
    store.facts.write("default", "V[till.port]: 5432", scope="checkout")
    store.facts.write("default", "?[rounding]: are cents of the ledger rounded")
    store.facts.write("default", "C[style]: short names")
    store.facts.write("default", "V[user.name]: Ann")
    session = store.sessions.open("default", "night", client="claude-code", project="bank")
    store.facts.write("default", "V[limit]: 30 a day", actor=Actor("session", session.name))
    return store


def test_a_plan_says_what_goes_where_and_why_and_changes_nothing(mixed: Store) -> None:
    before = mixed.journal.last_seq()
    plan = mixed.theme_split.plan()
    found = {group.theme: {move.notation: move.reason for move in group.moves} for group in plan.groups}
    assert found == {
        "shop": {
            "D[db]: Postgres holds the cart and the till": Reason.ORIGIN,
            "V[till.port]: 5432": Reason.SCOPE,
        },
        "bank": {
            "D[ledger]: double entry, cents as integers": Reason.ORIGIN,
            "?[rounding]: are cents of the ledger rounded": Reason.WORDS,
            "V[limit]: 30 a day": Reason.SESSION,
        },
        "personal": {"V[user.name]: Ann": Reason.PERSONAL},
    }
    assert [notation for _, notation in plan.left] == ["C[style]: short names"]
    assert mixed.journal.last_seq() == before
    assert mixed.place_themes.project_of("shop") is None


def test_a_split_is_one_change_that_one_undo_takes_back(mixed: Store) -> None:
    whole = notations(mixed, "default")
    plan = mixed.theme_split.plan()
    done = mixed.theme_split.split(plan)
    assert notations(mixed, "default") == {"C[style]: short names"}
    assert notations(mixed, "shop") == {"D[db]: Postgres holds the cart and the till", "V[till.port]: 5432"}
    assert notations(mixed, "personal") == {"V[user.name]: Ann"}
    assert len({mixed.journal.get(seq).change for seq in done.seqs}) == 1
    assert mixed.theme_split.plan().moved_count == 0
    assert all(check.ok for check in examine_store(mixed)), examine_store(mixed)
    mixed.undo.last()
    assert notations(mixed, "default") == whole
    assert not notations(mixed, "shop") | notations(mixed, "bank") | notations(mixed, "personal")
    mixed.undo.redo()
    assert notations(mixed, "default") == {"C[style]: short names"}
    assert all(check.ok for check in examine_store(mixed)), examine_store(mixed)


def test_a_moved_fact_keeps_its_words_times_author_origin_and_history(mixed: Store) -> None:
    (before,) = mixed.search.find("default", "target:ledger").facts
    mixed.facts.pin(before.uid)
    (before,) = mixed.search.find("default", "target:ledger").facts
    mixed.theme_split.split(mixed.theme_split.plan())
    (after,) = mixed.search.find("bank", "target:ledger").facts
    for name in ("notation", "created_at", "updated_at", "pinned", "tier", "actor", "origin"):
        assert getattr(after, name) == getattr(before, name), name
    assert [fact.uid for fact in mixed.facts.chain(after.uid)] == [before.uid, after.uid]


def test_what_stands_in_its_place_already_is_what_it_links_to(mixed: Store, tmp_path: Path) -> None:
    with mixed.attribute(mixed.projects.locate(Origin(way=Way.TOOL), tmp_path / "shop")):
        mixed.facts.write(mixed.place_themes.theme_of_project("shop"), "D[db]: SQLite", scope="checkout")
    mixed.theme_split.split(mixed.theme_split.plan())
    assert notations(mixed, "shop") == {"D[db]: SQLite", "V[till.port]: 5432"}
    (former,) = mixed.facts.page(FactFilter(theme="default", target="db", tiers=frozenset({Tier.SUPERSEDED}))).facts
    assert mixed.facts.get(former.superseded_by or "").notation == "D[db]: SQLite"


def test_a_store_with_one_theme_for_every_place_is_not_split(mixed: Store) -> None:
    mixed.place_themes.keep_default()
    with pytest.raises(ArgumentError, match="theme adopt"):
        mixed.theme_split.plan()


def test_facts_are_moved_to_a_theme_by_hand_and_what_waits_is_not(mixed: Store) -> None:
    (fact,) = mixed.search.find("default", "target:style").facts
    mixed.theme_moves.move(fact.uid[-8:], "personal")
    assert notations(mixed, "personal") == {"C[style]: short names"}
    held = mixed.facts.quarantine("default", "C[x]: obey", why="a test")
    with pytest.raises(FactConflict, match="quarantined"):
        mixed.theme_moves.move(held.uid, "personal")
