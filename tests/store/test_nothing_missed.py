"""A store of before after the upgrade: no fact that an agent was given is given to nobody any more, choice made or not."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_store.model import Fact, FactFilter, Origin, Way
from hermes_memory_store.places.place_reading import find_project_theme, find_seen_project, format_start_parts
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies

PLACES = ("", "/work/shop", "/work/bank", "/work/worker-3")
"""Folders that facts come from; none for those of no known place."""

FACTS = st.lists(
    st.tuples(
        st.sampled_from("CDV?~"),
        st.sampled_from(["db", "port", "user.name", "api.key", "style", "Db"]),
        st.text("abc ", min_size=1, max_size=12).map(lambda words: words.strip() or "x"),
        st.sampled_from(PLACES),
        st.sampled_from([None, "setup", "work"]),
        st.booleans(),
    ),
    max_size=25,
)


def see(folder: str) -> ProjectSighting | None:
    return ProjectSighting(root=folder) if folder else None


def fill(store: Store, facts: list[tuple[Any, ...]]) -> None:
    for kind, target, content, place, scope, pinned in facts:
        seen = see(place)
        origin = Origin(way=Way.TOOL) if seen is None else store.projects.place(Origin(way=Way.TOOL), seen)
        with store.attribute(origin):
            fact = store.facts.write("default", f"{kind}[{target}]: {content}", scope=scope).fact
        if pinned:
            store.facts.pin(fact.uid)


def given_at(store: Store, place: str) -> list[str]:
    theme = store.place_themes.theme_of(see(place))
    block = store.context.status(theme, record=False)
    assert block.fact_tokens <= store.policies.for_theme(theme).injection_tokens
    return [fact.uid for fact in block.facts]


def found_at(store: Store, place: str, line: str) -> set[str]:
    theme = store.place_themes.theme_of(see(place))
    also = tuple(one.name for one in store.place_themes.readable(theme)[1:])
    return {fact.uid for fact in store.search.find(theme, line, limit=1_000, record=False, also=also).facts}


@given(FACTS, st.integers(20, 200))
def test_what_was_given_before_is_given_somewhere_and_what_was_found_is_found(
    tmp_path_factory: Any, facts: list[tuple[Any, ...]], budget: int
) -> None:
    folder: Path = tmp_path_factory.mktemp("store")
    (folder / "memory-themes.toml").write_text(f"[defaults]\ninjection_tokens = {budget}\n")
    with Store.open(folder / "memory.db", policies=Policies(folder / "memory-themes.toml")) as store:
        with store.db.write_transaction() as conn:
            conn.execute("UPDATE place_choice SET places = 'default', chosen_at = NULL")
        fill(store, facts)
        before = store.context.status("default", record=False)
        whole = {fact.uid for fact in store.search.find("default", "tier:all", limit=1_000, record=False).facts}
        origins = {fact.uid: fact.origin.project for fact in before.facts}
        for place in PLACES:
            assert given_at(store, place) == [fact.uid for fact in before.facts], "nothing moves until somebody chooses"
        store.place_themes.adopt()
        told = {place: set(given_at(store, place)) for place in PLACES}
        assert told[""] == set(origins)
        for place in PLACES[1:]:
            project = place.rpartition("/")[2]
            concerned = {uid for uid, whose in origins.items() if whose in (None, project)}
            block = store.context.status(store.place_themes.theme_of(see(place)), record=False)
            # A longer fact that has room now may take that of shorter ones after it; nothing else keeps one out.
            assert concerned <= told[place] or block.left_out
            assert not {uid for uid in told[place] - concerned if origins.get(uid) not in (None, project)}
        assert set().union(*(found_at(store, place, "tier:all") for place in PLACES)) == whole
        standing = {fact.notation for fact in store.facts.page(FactFilter(theme="default"), limit=1_000).facts}
        store.theme_split.split(store.theme_split.plan())
        now = {fact.notation for place in PLACES for fact in told_at(store, place)}
        assert now == standing, "nothing is lost by a split"


def told_at(store: Store, place: str) -> list[Fact]:
    """What an agent there is given where the budget is no limit."""
    return [
        fact
        for one in store.place_themes.readable(store.place_themes.theme_of(see(place)))
        for fact in store.facts.page(one.filter, limit=1_000).facts
    ]


@given(FACTS)
def test_what_is_read_without_the_store_is_what_the_store_gives(
    tmp_path_factory: Any, facts: list[tuple[Any, ...]]
) -> None:
    folder: Path = tmp_path_factory.mktemp("store")
    with Store.open(folder / "memory.db", policies=Policies(folder / "memory-themes.toml")) as store:
        fill(store, facts)
        themes = {place: store.place_themes.theme_of(see(place)) for place in PLACES}
        expected = {place: {fact.uid for fact in store.context.ranked_facts(themes[place])} for place in PLACES}
        with closing(sqlite3.connect(store.path)) as conn:

            def ask(sql: str, args: Any) -> list[tuple[Any, ...]]:
                return conn.execute(sql, args).fetchall()

            for place in PLACES:
                seen = see(place)
                if seen is not None:
                    project = find_seen_project(ask, seen.identities)
                    assert find_project_theme(ask, project) == themes[place]
                keys = {
                    key
                    for theme_id, _, condition in format_start_parts(ask, themes[place])
                    for (key,) in ask(
                        f"SELECT id FROM facts f WHERE theme_id = ? AND tier = 'hot' AND {condition}", (theme_id,)
                    )
                }
                assert {fact.uid for fact in store.facts.by_ids(sorted(keys))} == expected[place]
