"""What is asked of the database: which index answers, and who may ask."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from hermes_memory_bridge.embedding.vector_index import pack_unit_vector, to_unit_vector
from hermes_memory_bridge.team.database import team_schema
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import (
    find_unindexed_themes,
    index_large_themes,
    to_vector_index_name,
)
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.search import fact_queries
from hermes_memory_bridge.team.search.fact_queries import QueryEmbedding
from hermes_memory_bridge.team.vector_upload import to_vector_literal
from hermes_memory_store.find.query_syntax import parse_query
from hermes_memory_store.model import Millis
from tests.bridge.team.conftest import Database, migrate_openly

DIMENSIONS = 24

MODEL = f"drawn:{DIMENSIONS}"

SIZES = {"large": 400, "small": 30}


def drawn(chance: random.Random) -> list[float]:
    return to_unit_vector([chance.gauss(0, 1) for _ in range(DIMENSIONS)])


@pytest.fixture
def database(empty: Database) -> Database:
    """Two themes of different size, and their vectors."""
    migrate_openly(empty, dimension=DIMENSIONS)
    chance = random.Random(5)
    with psycopg.connect(empty.admin, autocommit=True) as conn:
        for theme, size in SIZES.items():
            conn.execute("INSERT INTO hm.clock VALUES (%s, %s)", (theme, size))
            for n in range(size):
                uid = str(uuid.UUID(int=chance.getrandbits(128)))
                conn.execute(
                    "INSERT INTO hm.item (theme, id, content, attrs, content_sha, hlc, node, seq)"
                    " VALUES (%s, %s, %s, '{\"tier\": \"cold\"}', 'x', 1, %s, %s)",
                    (theme, uid, f"the {theme} theme says {n}", uid, n),
                )
                row = to_vector_literal(pack_unit_vector(drawn(chance))[1])
                conn.execute(
                    "INSERT INTO hm.vector VALUES (%s, %s, %s, 'x', %s::real[], 'fact')", (theme, uid, MODEL, row)
                )
    return empty


@pytest.fixture
def server(database: Database) -> Iterator[TeamServer]:
    with TeamServer(database.runtime, listen=False) as connected:
        yield connected


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team_schema, "LARGE", 100)


def indexes(database: Database) -> set[str]:
    """What `team index` has made."""
    with psycopg.connect(database.admin) as conn:
        return {row[0] for row in conn.execute(team_schema.INDEXES)}


@pytest.mark.usefixtures("small_is_large")
def test_a_large_theme_gets_an_index_of_its_own_as_long_as_it_is_large(database: Database) -> None:
    with psycopg.connect(database.runtime, autocommit=True) as conn:
        assert find_unindexed_themes(conn) == ["large"]
        assert index_large_themes(database.admin) == ["large"]
        assert find_unindexed_themes(conn) == []
    assert index_large_themes(database.admin) == ["large"]
    assert indexes(database) == {to_vector_index_name("large", "fact")}

    database.run("DELETE FROM hm.vector WHERE theme = 'large'")
    assert index_large_themes(database.admin) == []
    assert indexes(database) == set()


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("theme", list(SIZES))
def test_the_nearest_of_a_theme_are_found_with_an_index_and_without(
    database: Database, server: TeamServer, theme: str
) -> None:
    chance = random.Random(9)
    asked = [drawn(chance) for _ in range(20)]
    before = [
        fact_queries.find_nearest_items(server, theme, "fact", QueryEmbedding(MODEL, one), 10, -1.0) or []
        for one in asked
    ]
    index_large_themes(database.admin)

    after = [
        fact_queries.find_nearest_items(server, theme, "fact", QueryEmbedding(MODEL, one), 10, -1.0) or []
        for one in asked
    ]

    met = sum(
        len({uid for uid, _ in here} & {uid for uid, _ in there}) for here, there in zip(before, after, strict=True)
    )
    assert met >= 195 if theme == "large" else met == 200
    assert all(near == sorted(near, key=lambda one: -one[1]) for near in after)


@pytest.mark.usefixtures("small_is_large")
def test_the_index_of_a_theme_is_used_by_a_role_that_is_held_to_its_themes(
    database: Database, server: TeamServer
) -> None:
    index_large_themes(database.admin)
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["large"])

    settings = ("SET LOCAL enable_seqscan = off", "SET LOCAL enable_sort = off")
    told = {"theme": "large", "kind": "fact", "model": MODEL, "asked": "[" + "1," * 23 + "1]", "limit": 10}
    assert len(server.set_up(settings, fact_queries.NEAREST, told)) == 10
    server.value("SELECT pg_stat_force_next_flush()")

    used = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = %s"
    assert database.one(used, to_vector_index_name("large", "fact")) == 1


def test_nothing_is_found_below_the_floor(server: TeamServer) -> None:
    asked = QueryEmbedding(MODEL, drawn(random.Random(9)))
    everything = fact_queries.find_nearest_items(server, "large", "fact", asked, 50, -1.0) or []

    some = fact_queries.find_nearest_items(server, "large", "fact", asked, 50, everything[9][1])

    assert some == everything[:10]


@pytest.mark.parametrize("meant", [QueryEmbedding("other:24", [1.0] * 24), QueryEmbedding("drawn:8", [1.0] * 8)])
def test_vectors_of_another_model_are_not_compared(server: TeamServer, meant: QueryEmbedding) -> None:
    assert not fact_queries.find_nearest_items(server, "large", "fact", meant, 10, -1.0)


def test_settings_are_gone_with_the_question(server: TeamServer) -> None:
    fact_queries.find_nearest_items(server, "large", "fact", QueryEmbedding(MODEL, drawn(random.Random(9))), 10, -1.0)

    assert server.value("SHOW hnsw.iterative_scan") == "off"
    assert server.value("SELECT count(*) FROM pg_prepared_statements") == 0


def asked_words(server: TeamServer, theme: str, line: str) -> list[int]:
    """How many facts each word of a line has, and all of them."""
    return [len(some) for some in fact_queries.find_matching_facts(server, theme, parse_query(line, now=Millis(0)))]


def test_words_are_found_inside_one_theme_and_in_bounds(server: TeamServer) -> None:
    assert asked_words(server, "small", "small") == [30]
    assert asked_words(server, "small", "large") == [0]
    assert asked_words(server, "large", "large says") == [300, 300, 300]
    assert asked_words(server, "large", "says 17") == [300, 1, 1]
    assert asked_words(server, "small", "type:decision") == [0]


def test_words_are_told_to_nobody_who_may_not_read_them(database: Database, server: TeamServer) -> None:
    restrict_role_to_themes(database.admin, f"{database.name}_runtime", ["small"])
    assert asked_words(server, "large", "large") == [0]
    assert asked_words(server, "small", "small") == [30]
    assert fact_queries.find_remote_themes(server, None) == {"small": "small"}

    restrict_role_to_themes(database.admin, f"{database.name}_runtime", [])
    assert asked_words(server, "large", "says 17") == [300, 1, 1]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("deployments", "'deplo':*"),
        ("happy", "'happ':*"),
        ("id", "('id' | 'id' | 'ids')"),
        ("bought", "'bought'"),
        ("設計", "'設' & '計'"),
        ("it's", "'it"),
    ],
)
def test_a_word_is_asked_for_in_all_its_forms(line: str, wanted: str) -> None:
    (query,) = fact_queries.to_tsqueries(parse_query(line, now=Millis(0)), "ours", "fact")

    assert wanted in query


@pytest.mark.parametrize("line", ["' | 'x", "a\\'b", "'); DROP TABLE hm.item; --", "x:* & !y", "\0", "é'ß"])
def test_no_line_breaks_the_language_of_queries(server: TeamServer, line: str) -> None:
    fact_queries.find_matching_facts(server, "small", parse_query(line, now=Millis(0)))
