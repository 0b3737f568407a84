"""Vectors on their way to the team database: whose, of what, and what stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from hermes_memory_bridge.embedding.vector_index import pack_unit_vector, to_unit_vector
from hermes_memory_bridge.team import vector_upload as module
from hermes_memory_bridge.team.database.team_rights import restrict_role_to_themes
from hermes_memory_bridge.team.database.team_schema import migrate_team_schema
from hermes_memory_bridge.team.database.team_server import TeamServer
from hermes_memory_bridge.team.database.team_states import TeamError
from hermes_memory_bridge.team.sync_run import SyncRun
from hermes_memory_bridge.team.vector_upload import VectorUpload
from hermes_memory_store.find.vector_file import KINDS, Vector, Vectors
from hermes_memory_store.store import Store
from hermes_memory_themes import Policies
from tests.bridge.embedding.standin import standing_in, vector
from tests.bridge.running import until
from tests.bridge.team.conftest import PARTITIONS, Database, migrate_openly
from tests.bridge.team.machines import THEME, Machine, team

DIMENSIONS = 16

MODEL = f"counting:{DIMENSIONS}"


@dataclass
class Side:
    """A store that exchanges, and what fills vectors for it."""

    path: Path
    store: Store
    database: Database

    def write(self, content: str, target: str = "a") -> str:
        return str(self.store.facts.write(THEME, f"V[{target}]: {content}").fact.uid)

    def exchange(self) -> None:
        with TeamServer(self.database.runtime) as server:
            SyncRun(self.store).run(server)

    def embed(self, model: str = MODEL) -> None:
        """Make the vectors of all there is, as the bridge does in the background."""
        made = []
        for kind in KINDS:
            for one in self.store.embedding_inputs.page(kind, 0, 10_000):
                scale, row = pack_unit_vector(to_unit_vector(vector(one.text, int(model.rpartition(":")[2]))))
                made.append(Vector(kind, one.id, one.uid, one.digest, model, scale, row))
        with Vectors(self.path) as vectors:
            vectors.save(made)

    def filling(self, model: str = MODEL) -> VectorUpload:
        heads = lambda: {THEME: self.store.sync.inbox.cursor(THEME).seq}  # noqa: E731
        return VectorUpload(self.path, lambda: self.database.runtime, heads, lambda: model)

    def fill(self) -> VectorUpload:
        """Exchange, embed, and send the vectors."""
        self.exchange()
        self.embed()
        filling = self.filling()
        filling._round()
        return filling


@pytest.fixture
def side(empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Side]:
    migrate_openly(empty, dimension=DIMENSIONS, partitions=PARTITIONS)
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    (tmp_path / "memory-themes.toml").write_text(
        f"[themes.{THEME}]\nsync = true\nsync_turns = true\n[themes.silent]\nsync = true\n", encoding="utf-8"
    )
    path = tmp_path / "memory.db"
    with Store.open(path, policies=Policies.load()) as store:
        yield Side(path, store, empty)


COUNT = "SELECT count(*) FROM hm.vector"


def test_every_fact_of_a_shared_theme_gets_its_vector(side: Side) -> None:
    uids = {side.write(f"fact number {n}", f"t{n}") for n in range(250)}
    side.store.facts.write("private", "V[a]: is nobody's business")

    filling = side.fill()

    assert filling.status() == {"state": "filled", "words": module.FILLED.words, "missing": 0}
    with psycopg.connect(side.database.admin) as conn:
        rows = conn.execute("SELECT theme, id::text, model FROM hm.vector").fetchall()
    assert {(theme, uid, model) for theme, uid, model in rows} == {(THEME, uid, MODEL) for uid in uids}


def test_every_turn_of_a_theme_that_shares_them_gets_its_vector(side: Side) -> None:
    uids = {str(side.store.turns.add(THEME, "user", f"turn number {n}").uid) for n in range(250)}
    side.store.turns.add("silent", "user", "stays here")
    side.write("a fact")

    assert side.fill().status()["missing"] == 0

    with psycopg.connect(side.database.admin) as conn:
        rows = conn.execute("SELECT theme, id::text FROM hm.vector WHERE kind = 'turn'").fetchall()
    assert {(theme, uid) for theme, uid in rows} == {(THEME, uid) for uid in uids}
    assert side.database.one(f"{COUNT} WHERE kind = 'fact'") == 1


def test_who_no_longer_shares_turns_sends_no_vectors_of_them(side: Side, tmp_path: Path) -> None:
    side.store.turns.add(THEME, "user", "was shared")
    side.exchange()
    side.embed()
    (tmp_path / "memory-themes.toml").write_text(f"[themes.{THEME}]\nsync = true\n", encoding="utf-8")

    side.filling()._round()

    assert side.database.one(COUNT) == 0


def test_an_erased_turn_has_no_vector_from_the_same_push_on(side: Side) -> None:
    side.store.turns.add(THEME, "user", "the secret word")
    filling = side.fill()
    assert side.database.one(COUNT) == 1
    side.store.turns.erase(THEME)

    side.exchange()

    assert side.database.one(COUNT) == 0
    filling._round()
    assert side.database.one(COUNT) == 0


def test_vectors_go_where_the_team_has_the_theme_under_another_name(side: Side) -> None:
    uid = side.write("the car is in the garage")
    side.store.sync.rename_in_team(THEME, "theirs")
    assert side.fill().status()["state"] == "filled"
    with psycopg.connect(side.database.admin) as conn:
        assert conn.execute("SELECT theme, id::text FROM hm.vector").fetchall() == [("theirs", uid)]


def test_the_team_has_the_same_angle_as_the_store(side: Side) -> None:
    uid = side.write("the car is in the garage")
    side.fill()
    asked = to_unit_vector(vector("where is the automobile", DIMENSIONS))
    (one,) = side.store.embedding_inputs.by_ids("fact", [side.store.facts.get(uid).id])
    scale, row = pack_unit_vector(to_unit_vector(vector(one.text, DIMENSIONS)))
    here = scale * sum(a * b for a, b in zip(memoryview(row).cast("b"), asked, strict=True))

    there = side.database.one(
        f"SELECT 1 - (embedding::vector({DIMENSIONS}) <=> %s::vector({DIMENSIONS})) FROM hm.vector", str(asked)
    )

    assert there == pytest.approx(here, abs=1e-6)


def test_while_the_machine_sleeps_no_vector_is_sent(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)
    side.write("a fact")
    side.exchange()
    side.embed()
    asked: list[bool] = []

    def is_asleep() -> bool:
        asked.append(len(asked) < 10)
        return asked[-1]

    filling = side.filling()
    filling.is_asleep = is_asleep
    filling.start()
    try:
        until(lambda: side.database.one(COUNT) == 1, "the vector")
    finally:
        filling.stop()
    assert len(asked) > 10


def test_sending_again_changes_nothing_and_asks_nothing(side: Side) -> None:
    for n in range(20):
        side.write(f"fact {n}", f"t{n}")
    side.fill()
    before = side.database.one("SELECT string_agg(xmin::text, ',') FROM hm.vector")

    another, connections = side.filling(), []
    find = another.find
    another.find = lambda: connections.append(1) or find()  # type: ignore[func-returns-value]
    another._round()
    another._round()
    assert len(connections) == 1

    assert side.database.one("SELECT string_agg(xmin::text, ',') FROM hm.vector") == before


def test_a_filling_that_was_cut_off_goes_on(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 7)
    for n in range(30):
        side.write(f"fact {n}", f"t{n}")
    side.exchange()
    side.embed()
    cut = side.filling()
    send = cut._send

    def once(*args: object) -> None:
        send(*args)  # type: ignore[arg-type]
        cut._stop.set()

    cut._send = once  # type: ignore[assignment]
    cut._round()
    assert side.database.one(COUNT) == 7

    side.filling()._round()
    assert side.database.one(COUNT) == 30


def test_a_changed_content_replaces_the_vector(side: Side) -> None:
    uid = side.write("the tea is hot")
    filling = side.fill()
    before = side.database.one("SELECT embedding::text FROM hm.vector")

    side.store.facts.edit(uid, "the car is blue")
    side.exchange()
    assert side.database.one(COUNT) == 0
    filling._round()
    assert filling.status()["missing"] == 1
    side.embed()
    filling._round()

    assert side.database.one(COUNT) == 1
    assert side.database.one("SELECT embedding::text FROM hm.vector") != before


@pytest.mark.parametrize("how", ["purge", "undo"])
def test_what_is_gone_has_no_vector_there_either(side: Side, how: str) -> None:
    kept, gone = side.write("is kept", "a"), side.write("the secret word", "b")
    filling = side.fill()
    if how == "purge":
        side.store.purge.erase([gone])
    else:
        side.store.undo.last()

    side.exchange()

    assert side.database.one("SELECT string_agg(id::text, ',') FROM hm.vector") == kept
    filling._round()
    assert side.database.one(COUNT) == 1


def test_a_purge_erases_also_where_the_role_may_do_nothing_with_vectors(side: Side) -> None:
    uid = side.write("the secret word")
    side.fill()
    side.database.run(f"REVOKE ALL ON hm.vector FROM {side.database.name}_runtime")
    side.store.purge.erase([uid])

    side.exchange()

    assert side.database.one(COUNT) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_that_comes_after_the_purge_is_not_kept(side: Side, kind: str) -> None:
    if kind == "fact":
        side.write("the secret word")
    else:
        side.store.turns.add(THEME, "user", "the secret word")
    side.exchange()
    side.embed()
    filling = side.filling()
    send = filling._send

    def late(*args: object) -> None:
        side.database.run("UPDATE hm.item SET state = 2, content = NULL, content_sha = NULL")
        send(*args)  # type: ignore[arg-type]

    filling._send = late  # type: ignore[assignment]
    filling._round()

    assert side.database.one(COUNT) == 0


def test_vectors_of_a_theme_that_somebody_writes_to_come_later(side: Side) -> None:
    for n in range(3):
        side.write(f"fact {n}", f"t{n}")
    side.exchange()
    side.embed()
    filling = side.filling()
    side.database.run("ALTER FUNCTION hm.take_turn SET lock_timeout = '100ms'")
    side.database.run("INSERT INTO hm.setting VALUES ('hold_s', '0')")
    role = f"{side.database.name}_runtime"
    with psycopg.connect(side.database.runtime) as conn:
        conn.execute("SELECT hm.push_conflicts(%s, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')", (THEME,))
        with pytest.raises(TeamError, match=f"{role} held this theme for \\d+ s and was disconnected"):
            filling._round()
        assert side.database.one(COUNT) == 0
        conn.close()
    filling._round()

    assert side.database.one(COUNT) == 3


def test_vectors_of_another_model_are_left_until_the_owner_says_so(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    side.write("a fact")
    side.fill()
    other = f"other:{DIMENSIONS}"
    side.embed(other)
    filling = side.filling(other)
    filling._round()

    assert filling.state.name == "another model"
    assert f"made by {MODEL}" in filling.state.words
    assert side.database.one("SELECT model FROM hm.vector") == MODEL

    migrate_team_schema(side.database.admin, model=other)
    monkeypatch.setattr(module, "REST_S", 0.0)
    filling._round()
    assert filling.state.name == "filled"
    assert side.database.one("SELECT model FROM hm.vector") == other


def test_a_restricted_role_fills_its_own_themes_alone(side: Side) -> None:
    side.write("a fact")
    side.fill()
    side.database.run(
        "WITH f AS (INSERT INTO hm.item (theme, id, content, content_sha, hlc, node, seq)"
        " VALUES ('theirs', gen_random_uuid(), 'x', 'x', 1, gen_random_uuid(), 1) RETURNING theme, id, content_sha)"
        f" INSERT INTO hm.vector SELECT theme, id, 'm', content_sha, array_fill(1, ARRAY[{DIMENSIONS}]), 'fact' FROM f"
    )
    restrict_role_to_themes(side.database.admin, f"{side.database.name}_runtime", [THEME])

    with TeamServer(side.database.runtime, listen=False) as server:
        assert server.rows("SELECT theme FROM hm.count_vectors()") == [(THEME,)]
        with pytest.raises(TeamError, match="may not write to this theme"):
            server.rows("SELECT hm.keep_vectors('theirs', 'm', '{}', '{}', '{}')")


def without_room(database: Database) -> None:
    database.run("DROP TABLE hm.vector")
    database.run("DELETE FROM hm.setting")


def narrower(database: Database) -> None:
    migrate_openly(database, dimension=8, replace_vectors=True)


def denied(database: Database) -> None:
    database.run(f"REVOKE ALL ON FUNCTION hm.find_vector_model FROM {database.name}_runtime")


@pytest.mark.parametrize(
    ("trouble", "name", "words"),
    [
        (without_room, "no room", "team migrate --dimension"),
        (narrower, "another dimension", "8 dimensions, counting:16 makes 16"),
        (denied, "denied", "--runtime-role"),
    ],
)
def test_what_the_database_cannot_take_is_said_and_blocks_no_facts(
    side: Side, trouble: Callable[[Database], None], name: str, words: str
) -> None:
    trouble(side.database)
    side.write("a fact")
    side.exchange()
    side.embed()

    filling = side.filling()
    filling.start()
    try:
        until(lambda: filling.status()["state"] == name, "the state")
    finally:
        filling.stop()

    assert words in filling.status()["words"]
    assert side.database.one("SELECT count(*) FROM hm.item") == 1


@pytest.mark.slow
def test_a_bridge_with_an_embedding_fills_the_teams_vectors(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate_openly(empty, dimension=64)
    with standing_in() as endpoint, team(tmp_path, empty.runtime, empty.runtime) as (with_model, without):
        without.start()
        monkeypatch.setenv("HERMES_MEMORY_EMBED_URL", endpoint.url)
        monkeypatch.setenv("HERMES_MEMORY_EMBED_MODEL", "counting")
        with_model.start()
        without.write("V[car]: the car is in the garage")
        until(lambda: empty.one(COUNT) == 1, "the vector", 60)
        until(lambda: vectors_of(with_model) == "filled", "the state")
        assert vectors_of(without) == "no model"
        assert "has its vector" in with_model.command("sync", "status").stdout


def vectors_of(machine: Machine) -> str:
    return str(machine.status().get("vectors", {}).get("state"))
