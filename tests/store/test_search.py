"""Finding facts: what matches, in which order, within which bounds."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_memory_store.context.read_log import NOTES_PER_WRITE
from hermes_memory_store.errors import ArgumentError, QueryError, StoreError, UnknownScope
from hermes_memory_store.model import PERSON, Tier
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.examples import example_count
from tests.store.conftest import HandClock

FACTS = (
    ("C[auth]: JWT and refresh NOT stored", None),
    ("D[login]: we decided to use OAuth for sign-in", "web"),
    ("C[cpp]: use C++ 20 and a-b-c", None),
    ("D[près]: déploiement réussi à Genève", "ops"),
    ("V[api.example.com]: listens on 443", None),
    ("V[ja]: 日本語テスト 暗号", "ops"),
    ("V[kr]: 한국어 검색", "ops"),
    ("D[release]: deployments happen on Friday", "ops"),
    ("V[db.id]: database keys are UUIDs", "web"),
    ("V[budget]: 20% of revenue", None),
)


@pytest.fixture
def memory(store: Store, clock: HandClock) -> Store:
    for line, scope in FACTS:
        store.facts.write("default", line, scope=scope)
        clock.forward(1_000)
    return store


def targets(store: Store, line: str, **given: object) -> list[str]:
    return [fact.target for fact in store.search.find("default", line, **given).facts]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("jwt", {"auth"}),
        ("JWT NOT stored", {"auth"}),
        ("deployment", {"release"}),
        ("deployed", {"release"}),
        ("deploymen", {"release"}),
        ("déplo", {"release", "près"}),
        ("deploiement", {"près"}),
        ("GENÈVE", {"près"}),
        ("api.exam", {"api.example.com"}),
        ("example.com", {"api.example.com"}),
        ("日本", {"ja"}),
        ("暗", {"ja"}),
        ("号", {"ja"}),
        ("日本語テ", {"ja"}),
        ("검색", {"kr"}),
        ("authentication", {"auth"}),
        ("db", {"db.id"}),
        ("database", {"db.id"}),
        ('"refresh not"', {"auth"}),
        ('"not refresh"', set()),
        ("oauth -sign", set()),
        ("-jwt type:C", {"cpp"}),
        ("target:api", {"api.example.com"}),
        ("target:db uuid", {"db.id"}),
        ("friday scope:ops", {"release"}),
        ("friday scope:web", set()),
        ('scope:"" revenue', {"budget"}),
        ("type:value", {"api.example.com", "ja", "kr", "db.id", "budget"}),
        ("by:person friday", {"release"}),
        ("friday after:1h", {"release"}),
        ("friday before:1h", set()),
        ("20%", {"cpp", "budget"}),
        ("log%", {"login"}),
        ("%", set()),
    ],
)
def test_what_a_line_finds(memory: Store, line: str, expected: set[str]) -> None:
    assert set(targets(memory, line)) == expected


@pytest.mark.parametrize(
    "line",
    ["AND", "OR", "NOT", "NEAR", "NOT stored", "jwt AND", '"', "'", "*", "(auth", "a:b", "-", "^auth", "jwt*", "x\x00y"],
)  # fmt: skip
def test_operators_of_fts5_are_words(memory: Store, line: str) -> None:
    memory.search.find("default", line)


def test_a_plain_question_finds_the_fact(memory: Store) -> None:
    assert targets(memory, "what did we decide about OAuth?")[0] == "login"
    assert targets(memory, "où est-ce que le déploiement a réussi ?")[0] == "près"
    assert targets(memory, "When do the deployments of the payment service happen?")[0] == "release"


def test_a_phrase_is_required_in_a_question_too(memory: Store) -> None:
    assert targets(memory, 'what was decided about "refresh not" and OAuth and deployments?') == ["auth"]
    assert targets(memory, 'what about "not refresh" in the OAuth deployments?') == []


def test_stop_words_count_when_there_is_nothing_else(memory: Store) -> None:
    assert set(targets(memory, "the and")) <= {"auth", "cpp"}
    assert "auth" in targets(memory, "and")


def test_nothing_but_punctuation_finds_nothing_and_a_blank_line_lists_the_newest(memory: Store) -> None:
    assert targets(memory, "?!") == []
    assert targets(memory, "")[0] == "budget"
    assert memory.search.find("default", " ").total == len(FACTS)


def test_the_target_weighs_above_the_content(store: Store) -> None:
    store.facts.write("default", "V[cache]: lives in redis")
    store.facts.write("default", "V[queue]: is a cache of jobs in the cache of caches")
    assert targets(store, "cache") == ["cache", "queue"]


def test_hot_comes_before_cold_and_new_before_old(store: Store, clock: HandClock) -> None:
    for name in ("a", "b", "c"):
        store.facts.write("default", f"V[{name}]: redis runs here")
        clock.forward(60_000)
    store.facts.cool([store.search.find("default", "target:c redis").facts[0].uid])
    assert targets(store, "redis") == ["b", "a", "c"]


def test_facts_with_all_words_come_before_facts_with_some(store: Store) -> None:
    store.facts.write("default", "V[a]: postgres runs on port 5432")
    store.facts.write("default", "V[b]: postgres needs a backup")
    store.facts.write("default", "V[c]: the port is closed")
    assert targets(store, "postgres port")[0] == "a"
    assert set(targets(store, "postgres port")) == {"a", "b", "c"}


def test_archived_and_superseded_facts_are_found_only_when_asked_for(memory: Store) -> None:
    uid = memory.search.find("default", "jwt").facts[0].uid
    memory.facts.archive([uid])
    memory.facts.write("default", "V[budget]: 30% of revenue")
    assert targets(memory, "jwt") == []
    assert targets(memory, "jwt tier:archived") == ["auth"]
    assert [fact.content for fact in memory.search.find("default", "revenue").facts] == ["30% of revenue"]
    assert [fact.content for fact in memory.search.find("default", "revenue tier:superseded").facts] == [
        "20% of revenue"
    ]
    assert len(memory.search.find("default", "revenue tier:all").facts) == 2


def test_a_moved_edited_or_renamed_fact_is_found_where_it_is_now(memory: Store) -> None:
    fact = memory.search.find("default", "friday").facts[0]
    memory.facts.move([fact.uid], "web")
    assert targets(memory, "friday scope:web") == ["release"]
    assert targets(memory, "friday scope:ops") == []
    memory.facts.edit(fact.uid, "deployments happen on Monday")
    assert targets(memory, "friday") == []
    assert targets(memory, "monday scope:web") == ["release"]
    memory.scopes.rename("default", "web", "site")
    assert targets(memory, "monday", scope="site") == ["release"]


def test_themes_do_not_see_each_other(memory: Store) -> None:
    memory.facts.write("marketing", "D[slogan]: friday is launch day")
    assert targets(memory, "friday") == ["release"]
    assert {fact.theme for fact in memory.search.find(None, "friday").facts} == {"default", "marketing"}
    assert memory.search.find("nobody", "friday").facts == []


def test_an_unknown_scope_is_an_error_with_the_nearest(memory: Store) -> None:
    for line, scope in (("friday", "opz"), ("friday scope:opz", None)):
        with pytest.raises(UnknownScope) as caught:
            memory.search.find("default", line, scope=scope)
        assert caught.value.near == ["ops"]


def test_an_unknown_author_or_type_is_an_error(memory: Store) -> None:
    with pytest.raises(StoreError, match="nobody"):
        memory.search.find("default", "x by:nobody")
    with pytest.raises(QueryError, match="decision"):
        memory.search.find("default", "x type:decisio")


@pytest.mark.parametrize("limit", [0, -1, 1_001, 10**12, "abc", 2.5, True, None])
def test_a_limit_out_of_bounds_is_refused(memory: Store, limit: object) -> None:
    with pytest.raises(ArgumentError, match="limit"):
        memory.search.find("default", "x", limit=limit)  # type: ignore[arg-type]


def test_the_limit_bounds_the_answer_and_more_says_so(store: Store) -> None:
    store.facts.write_many("default", [(f"V[n{n}]: common words here", None) for n in range(300)], actor=PERSON)
    found = store.search.find("default", "common", limit=7)
    assert len(found.facts) == 7
    assert found.more
    assert found.total >= 7
    assert len(store.search.find("default", "common", limit=300).facts) == 300


def test_searching_writes_nothing_and_works_while_another_process_writes(memory: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    before = memory.db.conn.total_changes
    assert targets(memory, "friday") == ["release"]
    assert memory.db.conn.total_changes == before
    other.execute("ROLLBACK")
    other.close()


def test_many_searches_never_wait_for_a_writer(memory: Store, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    start = time.monotonic()
    for _ in range(2 * NOTES_PER_WRITE):
        assert targets(memory, "friday") == ["release"]
    assert time.monotonic() - start < memory.db.lock_timeout_s / 2
    other.execute("ROLLBACK")
    other.close()
    memory.reads.flush()
    assert memory.facts.get(memory.search.find("default", "friday").facts[0].uid).reads == 2 * NOTES_PER_WRITE


def test_what_was_found_is_noted_and_counted_later(memory: Store) -> None:
    fact = memory.search.find("default", "friday").facts[0]
    assert fact.reads == 0
    memory.reads.flush()
    assert memory.facts.get(fact.uid).reads == 1
    why = memory.db.row("SELECT kind, why FROM injections ORDER BY id DESC LIMIT 1")
    assert why == ("search", "friday")


def test_a_line_of_ten_megabytes_is_answered(memory: Store) -> None:
    memory.search.find("default", "friday " * 1_500_000)
    memory.search.find("default", '"' + "x" * 10_000_000 + '"')


def test_purged_words_leave_the_index(memory: Store) -> None:
    memory.facts.archive([memory.search.find("default", "friday").facts[0].uid])
    memory.purge.execute("default", tiers=frozenset({Tier.ARCHIVED}), actor=PERSON)
    assert targets(memory, "friday tier:all") == []
    assert memory.db.rows("SELECT rowid FROM facts_text WHERE facts_text MATCH 'fridai OR friday'") == []


@pytest.fixture(scope="module")
def shared() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        clock = HandClock()
        with Store.open(
            Path(folder) / "memory.db", clock=clock, policies=Policies.load(Path(folder) / "none.toml")
        ) as store:
            for line, scope in FACTS:
                store.facts.write("default", line, scope=scope)
            yield store


@settings(deadline=None, max_examples=example_count(200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    line=st.text(max_size=80)
    | st.lists(
        st.sampled_from(
            ["jwt", '"', "AND", "OR", "NOT", "NEAR(", ")", "*", "-", ":", "type:D", "scope:ops", "tier:all", "^", "日本",
             "before:1d", "after:1d", "target:a", "by:person", "\x00", "\ud800", "%", "_", "'", ";--", "{", "+", "é"]
        )
    ).map(" ".join),
    limit=st.integers(1, 1000),
)  # fmt: skip
def test_no_text_raises_anything_but_our_own_errors(shared: Store, line: str, limit: int) -> None:
    with suppress(StoreError):
        found = shared.search.find("default", line, limit=limit)
        assert len(found.facts) <= limit


@pytest.mark.parametrize(
    "line", ["oauth", "database keys revenue", "When do the deployments happen?", '"refresh not" jwt']
)
def test_what_comes_later_never_fits_better(memory: Store, line: str) -> None:
    found = memory.search.find("default", line)
    assert len(found.scores) == len(found.facts) > 0
    assert found.scores == sorted(found.scores, reverse=True)


def test_filters_alone_measure_nothing(memory: Store) -> None:
    assert memory.search.find("default", "type:V").scores == []


def test_words_of_another_theme_do_not_take_the_place_of_ours(store: Store) -> None:
    store.facts.write("ours", "V[zoo]: bzz says the bee")
    for n in range(40):
        store.facts.write("theirs", f"V[t{n}]: b{n:02}")
    assert [fact.target for fact in store.search.find("ours", "b").facts] == ["zoo"]
    assert [fact.target for fact in store.search.find("ours", "what does the b say?").facts] == ["zoo"]
