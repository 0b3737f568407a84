"""What is asked of the database: which index answers, and who may ask."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from hermes_memory_bridge.embedding.near import packed, unit
from hermes_memory_bridge.team import questions, schema
from hermes_memory_bridge.team.questions import Meant
from hermes_memory_bridge.team.schema import index, index_of, migrate, restrict, unindexed
from hermes_memory_bridge.team.server import Server
from hermes_memory_bridge.team.vectors import numbers
from hermes_memory_store.model import Millis
from hermes_memory_store.query import parse_query
from tests.bridge.team.conftest import Database

DIMENSIONS = 24

MODEL = f"drawn:{DIMENSIONS}"

SIZES = {"large": 400, "small": 30}


def drawn(chance: random.Random) -> list[float]:
    return unit([chance.gauss(0, 1) for _ in range(DIMENSIONS)])


@pytest.fixture
def database(empty: Database) -> Database:
    """Two themes of different size, and their vectors."""
    migrate(empty.admin, dimension=DIMENSIONS, runtime_role=f"{empty.name}_runtime")
    chance = random.Random(5)
    with psycopg.connect(empty.admin, autocommit=True) as conn:
        for theme, size in SIZES.items():
            conn.execute("INSERT INTO hm.clock VALUES (%s, %s)", (theme, size))
            for n in range(size):
                uid = str(uuid.UUID(int=chance.getrandbits(128)))
                conn.execute(
                    "INSERT INTO hm.fact (theme, id, content, attrs, content_sha, hlc, node, seq)"
                    " VALUES (%s, %s, %s, '{\"tier\": \"cold\"}', 'x', 1, %s, %s)",
                    (theme, uid, f"the {theme} theme says {n}", uid, n),
                )
                row = numbers(packed(drawn(chance))[1])
                conn.execute("INSERT INTO hm.vector VALUES (%s, %s, %s, 'x', %s::real[])", (theme, uid, MODEL, row))
    return empty


@pytest.fixture
def server(database: Database) -> Iterator[Server]:
    with Server(database.runtime, listen=False) as connected:
        yield connected


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LARGE", 100)


def indexes(database: Database) -> set[str]:
    """What `team index` has made."""
    with psycopg.connect(database.admin) as conn:
        return {row[0] for row in conn.execute(schema.INDEXES)}


@pytest.mark.usefixtures("small_is_large")
def test_a_large_theme_gets_an_index_of_its_own_as_long_as_it_is_large(database: Database) -> None:
    with psycopg.connect(database.runtime, autocommit=True) as conn:
        assert unindexed(conn) == ["large"]
        assert index(database.admin) == ["large"]
        assert unindexed(conn) == []
    assert index(database.admin) == ["large"]
    assert indexes(database) == {index_of("large")}

    database.run("DELETE FROM hm.vector WHERE theme = 'large'")
    assert index(database.admin) == []
    assert indexes(database) == set()


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("theme", list(SIZES))
def test_the_nearest_of_a_theme_are_found_with_an_index_and_without(
    database: Database, server: Server, theme: str
) -> None:
    chance = random.Random(9)
    asked = [drawn(chance) for _ in range(20)]
    before = [questions.nearest(server, theme, Meant(MODEL, one), 10, -1.0) for one in asked]
    index(database.admin)

    after = [questions.nearest(server, theme, Meant(MODEL, one), 10, -1.0) for one in asked]

    met = sum(
        len({uid for uid, _ in here} & {uid for uid, _ in there}) for here, there in zip(before, after, strict=True)
    )
    assert met >= 195 if theme == "large" else met == 200
    assert all(near == sorted(near, key=lambda one: -one[1]) for near in after)


@pytest.mark.usefixtures("small_is_large")
def test_the_index_of_a_theme_is_used_by_a_role_that_is_held_to_its_themes(database: Database, server: Server) -> None:
    index(database.admin)
    restrict(database.admin, f"{database.name}_runtime", ["large"])

    with server.conn.transaction():
        server.conn.execute("SET LOCAL enable_seqscan = off")
        server.conn.execute("SET LOCAL enable_sort = off")
        told = {
            "theme": "large",
            "model": MODEL,
            "asked": "[" + "1," * 23 + "1]",
            "rounded": "[" + "1," * 23 + "1]",
            "limit": 10,
        }
        plan = server.rows("EXPLAIN " + questions.NEAREST.format(place="public"), told)

    assert any(index_of("large") in line for (line,) in plan), plan


def test_nothing_is_found_below_the_floor(server: Server) -> None:
    asked = Meant(MODEL, drawn(random.Random(9)))
    everything = questions.nearest(server, "large", asked, 50, -1.0)

    some = questions.nearest(server, "large", asked, 50, everything[9][1])

    assert some == everything[:10]


@pytest.mark.parametrize("meant", [Meant("other:24", [1.0] * 24), Meant("drawn:8", [1.0] * 8)])
def test_vectors_of_another_model_are_not_compared(server: Server, meant: Meant) -> None:
    assert questions.nearest(server, "large", meant, 10, -1.0) == []


def test_settings_are_gone_with_the_question(server: Server) -> None:
    questions.nearest(server, "large", Meant(MODEL, drawn(random.Random(9))), 10, -1.0)

    assert server.value("SHOW hnsw.iterative_scan") == "off"
    assert server.value("SELECT count(*) FROM pg_prepared_statements") == 0


def asked_words(server: Server, theme: str, line: str) -> list[int]:
    """How many facts each word of a line has, and all of them."""
    return [len(some) for some in questions.worded(server, theme, parse_query(line, now=Millis(0)))]


def test_words_are_found_inside_one_theme_and_in_bounds(server: Server) -> None:
    assert asked_words(server, "small", "small") == [30]
    assert asked_words(server, "small", "large") == [0]
    assert asked_words(server, "large", "large says") == [300, 300, 300]
    assert asked_words(server, "large", "says 17") == [300, 1, 1]
    assert asked_words(server, "small", "type:decision") == [0]


def test_words_are_told_to_nobody_who_may_not_read_them(database: Database, server: Server) -> None:
    restrict(database.admin, f"{database.name}_runtime", ["small"])
    assert asked_words(server, "large", "large") == [0]
    assert asked_words(server, "small", "small") == [30]
    assert questions.themes_there(server, None) == ["small"]

    restrict(database.admin, f"{database.name}_runtime", [])
    database.run(f"REVOKE ALL ON hm.fact FROM {database.name}_runtime")
    assert asked_words(server, "small", "small") == [0]


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
    (query,) = questions.queries_of(parse_query(line, now=Millis(0)), "ours")

    assert wanted in query


@pytest.mark.parametrize("line", ["' | 'x", "a\\'b", "'); DROP TABLE hm.fact; --", "x:* & !y", "\0", "é'ß"])
def test_no_line_breaks_the_language_of_queries(server: Server, line: str) -> None:
    questions.worded(server, "small", parse_query(line, now=Millis(0)))
