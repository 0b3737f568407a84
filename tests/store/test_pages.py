"""Pages: any order, any filter, each fact once, the same as sorting everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_store import errors
from hermes_memory_store.model import Actor, Fact, FactFilter, FactType, Sort, Tier, Way
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.store.conftest import HandClock

FILTERS = [
    FactFilter(),
    FactFilter(theme="alpha"),
    FactFilter(theme="nobody"),
    FactFilter(theme="alpha", tiers=frozenset()),
    FactFilter(theme="alpha", types=frozenset({FactType.CONSTRAINT, FactType.UNKNOWN})),
    FactFilter(theme="beta", scopes=frozenset({"s1", "s2"})),
    FactFilter(theme="beta", scopes=frozenset({None})),
    FactFilter(scopes=frozenset({"s1"}), tiers=frozenset({Tier.ARCHIVED, Tier.SUPERSEDED})),
    FactFilter(theme="alpha", target="SRV"),
    FactFilter(theme="alpha", target="srv.n1"),
    FactFilter(pinned=True),
    FactFilter(theme="alpha", pinned=False),
    FactFilter(by="person"),
    FactFilter(by="s-7"),
    FactFilter(theme="alpha", after=1_790_000_100_000, before=1_790_000_200_000),  # type: ignore[arg-type]
]

KEYS = {
    Sort.UPDATED: lambda fact: (fact.updated_at, fact.id),
    Sort.CREATED: lambda fact: (fact.created_at, fact.id),
    Sort.TARGET: lambda fact: (fact.target.lower(), fact.id),
    Sort.TYPE: lambda fact: (-list(FactType).index(fact.type), fact.updated_at, fact.id),
}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Only read from, so the whole module may share it."""
    folder = tmp_path_factory.mktemp("pages")
    clock = HandClock()
    with Store.open(folder / "memory.db", clock=clock, policies=Policies.load(folder / "themes.toml")) as store:
        fill(store, clock)
        yield store


def fill(store: Store, clock: HandClock) -> None:
    rng = random.Random(7)
    for n in range(260):
        clock.forward(1_000)
        store.facts.write(
            rng.choice(["alpha", "beta"]),
            f"{rng.choice('CDV?')}[{rng.choice(['srv', 'db', 'Srv.n1', 'srvx'])}.n{rng.randrange(40)}]: {n}",
            scope=rng.choice([None, "s1", "s2", "s3"]),
            actor=Actor("session", "s-7") if n % 9 == 0 else None,
        )
    everything = store.facts.page(FactFilter(), limit=500).facts
    store.facts.pin([fact.uid for fact in everything[:5]])
    store.facts.archive([fact.uid for fact in everything[20:60]])


def matches(fact: Fact, wanted: FactFilter, store: Store) -> bool:
    tiers = wanted.tiers or frozenset(Tier)
    target = wanted.target.lower() if wanted.target else None
    return (
        (wanted.theme is None or fact.theme == wanted.theme)
        and (not wanted.scopes or fact.scope in wanted.scopes)
        and (not wanted.types or fact.type in wanted.types)
        and fact.tier in tiers
        and (target is None or fact.target.lower() == target or fact.target.lower().startswith(target + "."))
        and (wanted.after is None or fact.updated_at >= wanted.after)
        and (wanted.before is None or fact.updated_at < wanted.before)
        and (wanted.by is None or wanted.by in (fact.actor.kind, fact.actor.name))
        and (wanted.pinned is None or fact.pinned == wanted.pinned)
    )


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("wanted", FILTERS, ids=lambda wanted: f"filter{FILTERS.index(wanted)}")
def test_paging_through_gives_every_fact_once_in_order(
    filled: Store, wanted: FactFilter, sort: Sort, descending: bool
) -> None:
    everything = [filled.facts.by_ids([key])[0] for (key,) in filled.db.rows("SELECT id FROM facts")]
    expected = sorted(
        (fact for fact in everything if matches(fact, wanted, filled)), key=KEYS[sort], reverse=descending
    )
    seen: list[int] = []
    cursor = None
    while True:
        page = filled.facts.page(wanted, sort=sort, descending=descending, after=cursor, limit=7)
        assert page.total == len(expected)
        seen += [fact.id for fact in page.facts]
        cursor = page.next
        if cursor is None:
            break

    assert seen == [fact.id for fact in expected]
    assert list(filled.facts.ids(wanted, sort=sort, descending=descending)) == seen


def test_an_unknown_scope_is_an_error_that_names_the_nearest(filled: Store) -> None:
    with pytest.raises(errors.UnknownScope, match="did you mean 's1'"):
        filled.facts.page(FactFilter(theme="alpha", scopes=frozenset({"s11"})))


@pytest.mark.parametrize("limit", [0, -1, 10_000_000])
def test_a_senseless_page_size_is_refused(filled: Store, limit: int) -> None:
    with pytest.raises(errors.ArgumentError, match=str(limit)):
        filled.facts.page(FactFilter(), limit=limit)


@pytest.mark.parametrize(
    "condition",
    [
        {"pinned": True},
        {"by": "person"},
        {"by": "person", "pinned": True},
        {"ways": frozenset({Way.IMPORT})},
        {"branches": frozenset({"main"}), "pinned": True},
        {"target": "srv", "pinned": True},
        {"cooled_by": "scope", "pinned": True},
        {"read": False, "pinned": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("themes", [{"theme": "beta"}, {"theme": "alpha", "also": ("beta",)}, {}], ids=str)
def test_what_no_fact_can_match_is_an_empty_page(
    condition: dict[str, Any], themes: dict[str, Any], tmp_path: Path
) -> None:
    """No tier, type or scope that is asked for holds a fact: SQLite plans no walk of a partial index then."""
    with Store.open(tmp_path / "memory.db") as store:
        for theme in ("alpha", "beta"):
            store.facts.archive(store.facts.write(theme, "V[srv.n1]: one").fact.uid)
        for empty in ({}, {"tiers": frozenset({Tier.HOT})}, {"types": frozenset({FactType.UNKNOWN})}):
            wanted = FactFilter(**(condition | themes | empty))
            for sort in Sort:
                assert store.facts.page(wanted, sort=sort).facts == []
            assert store.facts.count(wanted) == len(store.facts.ids(wanted)) == 0
