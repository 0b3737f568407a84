"""Recall by words and by meaning: the same answers in shape, the same walls, and words alone whenever there is no more."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.embedding.vector_service import VectorService
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.find.vector_file import Vectors, vector_file_path
from hermes_memory_store.model import Rights, Tier
from tests.bridge.embedding.conftest import until
from tests.bridge.embedding.standin import StandIn, said
from tests.bridge.tools.test_more_tools import Desk

CAR = "V[family.car]: the car stands in the garage"
TEA = "V[kitchen.tea]: green tea is in the cupboard"
RAIN = "V[weather.rain]: rain is expected on Monday"


async def filled(meaning: VectorService, number: int) -> None:
    await until(lambda: f"({number:,} of {number:,}" in meaning.state(), meaning.state)


def contents(answer: Any) -> list[str]:
    return [one["content"] for one in answer.data["results"]]


async def remember(ask: Desk, *notations: str, **more: str) -> None:
    for notation in notations:
        answer = await ask("memory_write", content=notation, **more)
        assert "error" not in answer.data


async def test_a_fact_is_found_by_what_it_means(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, TEA, RAIN)
    await filled(meaning, 3)
    answer = await ask("recall_memory", query="automobile")
    assert contents(answer) == [CAR]
    assert answer.data["ranked_by"] == "words and counting"
    assert json.loads(parse_fenced_text(answer.text)) == answer.data


async def test_a_turn_is_found_by_what_it_means(ask: Desk, meaning: VectorService) -> None:
    for content in ("I parked the car", "The tea was cold"):
        await ask("memory_turn", role="user", content=content)
    await filled(meaning, 2)
    answer = await ask("recall_conversation", query="vehicle")
    assert contents(answer) == ["I parked the car"]
    assert answer.data["ranked_by"] == "words and counting"


async def test_of_what_fits_the_words_alike_the_nearer_in_meaning_comes_first(
    ask: Desk, meaning: VectorService
) -> None:
    bike = "V[family.bike]: the bike stands in the garage"
    await remember(ask, CAR, bike)
    await ask("memory_turn", role="user", content="the car stands in the garage")
    await ask("memory_turn", role="user", content="the bike stands in the garage")
    await filled(meaning, 4)
    for tool, first in (("recall_memory", CAR), ("recall_conversation", "the car stands in the garage")):
        answer = await ask(tool, query="What of the automobile in the garage?")
        assert (contents(answer)[0], len(contents(answer))) == (first, 2)
        assert answer.data["results"][0]["score"] > answer.data["results"][1]["score"]


async def test_the_shape_is_the_same_by_words_only(ask: Desk, meaning: VectorService, stand_in: StandIn) -> None:
    await remember(ask, CAR)
    await ask("memory_turn", role="user", content="I parked the car")
    await filled(meaning, 2)
    tools = ("recall_memory", "recall_conversation")
    both = [await ask(tool, query="car") for tool in tools]
    ask.hub.vectors = None
    words = [await ask(tool, query="car") for tool in tools]
    for here, there in zip(both, words, strict=True):
        assert list(here.data) == list(there.data)
        assert list(here.data)[:3] == ["results", "count", "ranked_by"]
        assert [list(one) for one in here.data["results"]] == [list(one) for one in there.data["results"]]
        assert there.data["ranked_by"] == "words only"


async def test_what_shares_no_meaning_is_below_the_floor(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    assert (await ask("recall_memory", query="zeppelin")).data["count"] == 0


async def test_the_floor_comes_before_the_limit(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, *(f"V[t{number}]: something about tea {number}" for number in range(8)), CAR)
    await filled(meaning, 9)
    assert contents(await ask("recall_memory", query="automobile", limit=5)) == [CAR]


async def test_other_themes_are_not_found_by_meaning_either(hub: StoreWorker, meaning: VectorService) -> None:
    await remember(Desk(hub, "hr"), CAR)
    await Desk(hub, "hr")("memory_turn", role="user", content="I parked the car")
    await filled(meaning, 2)
    walled = Desk(hub, "trading", Rights(other_themes=False))
    for tool in ("recall_memory", "recall_conversation"):
        for scope in ("current", "all"):
            assert (await walled(tool, query="automobile", scope=scope)).data["count"] == 0
        assert "error" in (await walled(tool, query="automobile", scope="hr")).data
    free = Desk(hub, "trading", Rights(other_themes=True))
    for tool in ("recall_memory", "recall_conversation"):
        assert (await free(tool, query="automobile", scope="all")).data["count"] == 1
        assert (await free(tool, query="automobile", scope="hr")).data["count"] == 1


async def test_scope_session_finds_turns_of_this_session_only(hub: StoreWorker, meaning: VectorService) -> None:
    first, second = Desk(hub), Desk(hub)
    await first("memory_turn", role="user", content="I parked the car")
    await second("memory_turn", role="user", content="The tea was cold")
    await filled(meaning, 2)
    assert contents(await first("recall_conversation", query="automobile", scope="session")) == ["I parked the car"]
    assert contents(await second("recall_conversation", query="automobile", scope="session")) == []


async def test_the_filters_of_a_line_hold_for_meaning_too(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, scope="garage")
    await remember(ask, "D[trip.car]: we take the car", scope="trip")
    await filled(meaning, 2)
    assert contents(await ask("recall_memory", query="automobile type:decision")) == ["D[trip.car]: we take the car"]
    assert contents(await ask("recall_memory", query="automobile scope:garage")) == [CAR]
    exact = await ask("recall_memory", query='"automobile"')
    assert (exact.data["count"], exact.data["ranked_by"]) == (0, "words only")


async def test_what_waits_for_a_person_or_was_replaced_is_not_recalled(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, "V[other.car]: a second car")
    await filled(meaning, 2)

    def hide(store: Any) -> None:
        conn = store.db.conn
        conn.execute("UPDATE facts SET tier = 'quarantined' WHERE target = 'family.car'")

    await ask.hub.write(hide)
    await remember(ask, "V[other.car]: gone for ever")
    assert contents(await ask("recall_memory", query="automobile tier:all"))[:1] != [CAR]
    assert CAR not in contents(await ask("recall_memory", query="automobile"))


async def test_what_is_told_by_meaning_is_on_record(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    await ask("recall_memory", query="automobile")
    await ask.hub.write(lambda store: store.reads.flush())
    (row,) = ask.hub.store.db.rows("SELECT kind, why, json_array_length(facts) FROM injections WHERE kind = 'recall'")
    assert row == ("recall", "automobile", 1)


@pytest.mark.parametrize(
    "wrong", [(429, {"Retry-After": "0"}, b""), (500, {}, b""), (200, {}, b"<html>"), (200, {}, said({"data": []}))]
)
async def test_words_answer_while_the_endpoint_fails_and_vectors_come_after(
    ask: Desk, meaning: VectorService, stand_in: StandIn, wrong: tuple[int, dict[str, str], bytes]
) -> None:
    stand_in.fault = lambda _: wrong
    await remember(ask, CAR, TEA)
    await until(lambda: "for now" in meaning.state(), "trouble in words")
    answer = await ask("recall_memory", query="the car")
    assert (contents(answer)[0], answer.data["ranked_by"]) == (CAR, "words only")
    stand_in.fault = None
    await filled(meaning, 2)
    assert contents(await ask("recall_memory", query="automobile")) == [CAR]


async def test_half_a_batch_is_made_up_for(ask: Desk, meaning: VectorService, stand_in: StandIn) -> None:
    await filled(meaning, 0) if "of 0" in meaning.state() else None

    def half(texts: list[str]) -> tuple[int, dict[str, str], bytes] | None:
        if len(texts) == 1:
            return None
        return 200, {}, said({"data": [{"index": 0, "embedding": [1.0] * 64}]})

    stand_in.fault = half
    await remember(ask, CAR, TEA, RAIN)
    await filled(meaning, 3)


async def test_one_text_that_is_refused_holds_up_no_other(ask: Desk, meaning: VectorService, stand_in: StandIn) -> None:
    stand_in.fault = lambda texts: (400, {}, b"") if any("rain" in text for text in texts) else None
    await remember(ask, CAR, RAIN, TEA)
    await until(lambda: "(2 of 3" in meaning.state() and "1 refused" in meaning.state(), meaning.state)


async def test_one_text_that_breaks_the_server_holds_up_no_other(
    ask: Desk, meaning: VectorService, stand_in: StandIn
) -> None:
    stand_in.fault = lambda texts: (500, {}, b"") if any("rain" in text for text in texts) else None
    await remember(ask, CAR, RAIN, TEA)
    await until(lambda: "(2 of 3" in meaning.state() and "1 refused" in meaning.state(), meaning.state)


async def test_a_slow_endpoint_costs_a_question_no_more_than_it_may_wait(
    ask: Desk, meaning: VectorService, stand_in: StandIn
) -> None:
    await remember(ask, CAR)
    await filled(meaning, 1)
    await ask("recall_memory", query="warm")
    stand_in.slow.clear()
    answer = await ask("recall_memory", query="the car")  # the endpoint answers only below
    assert (contents(answer), answer.data["ranked_by"]) == ([CAR], "words only")
    stand_in.slow.set()
    for _ in range(100):
        answer = await ask("recall_memory", query="the car")
        if answer.data["ranked_by"] != "words only":
            break
        await asyncio.sleep(0.05)
    assert answer.data["ranked_by"] == "words and counting"


async def test_a_question_asked_again_asks_nobody(ask: Desk, meaning: VectorService, stand_in: StandIn) -> None:
    await remember(ask, CAR)
    await filled(meaning, 1)
    await ask("recall_memory", query="automobile")
    asked = len(stand_in.asked)
    await ask("recall_memory", query="automobile")
    assert len(stand_in.asked) == asked


async def test_an_edited_fact_is_found_by_what_it_means_now(ask: Desk, meaning: VectorService) -> None:
    await remember(ask, CAR)
    await filled(meaning, 1)
    uid = (await ask("recall_memory", query="automobile")).data["results"][0]["id"]
    await ask("memory_edit", uid=uid, content="the physician comes on Friday")

    async def found(query: str) -> int:
        return int((await ask("recall_memory", query=query)).data["count"])

    for _ in range(200):
        if await found("doctor"):
            break
        await asyncio.sleep(0.05)
    assert await found("doctor") == 1


async def test_what_is_there_is_not_asked_for_again_after_a_restart(
    ask: Desk, meaning: VectorService, hub: StoreWorker, stand_in: StandIn
) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    asked = len(stand_in.asked)
    again = VectorService(hub.read, hub.path, hub.embedding_settings)
    filling = asyncio.create_task(again.fill_forever())
    await filled(again, 2)
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    await again.close()
    assert stand_in.asked[asked:] == [["memory"]], "the probe, and nothing else"


async def test_another_dimension_makes_all_anew(ask: Desk, meaning: VectorService, stand_in: StandIn) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    stand_in.dimensions = 56
    await remember(ask, RAIN)
    await filled(meaning, 3)
    assert contents(await ask("recall_memory", query="automobile")) == [CAR]
    with Vectors(ask.hub.path) as vectors:
        assert {one.model for one in vectors.page("fact", 0, 10)} == {"counting:56"}


async def test_another_model_makes_all_anew(ask: Desk, meaning: VectorService, monkeypatch: pytest.MonkeyPatch) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    monkeypatch.setenv("HERMES_MEMORY_EMBED_MODEL", "counting-2")
    await until(lambda: "counting-2 (2 of 2" in meaning.state(), "the other model")
    assert (await ask("recall_memory", query="automobile")).data["ranked_by"] == "words and counting-2"


async def test_what_is_purged_is_gone_from_the_vectors_at_once(
    ask: Desk, meaning: VectorService, hub: StoreWorker
) -> None:
    await remember(ask, CAR, TEA, scope="s")
    await ask("memory_turn", role="user", content="I parked the car")
    await filled(meaning, 3)
    with Vectors(hub.path) as vectors:
        kept = [row for kind in ("fact", "turn") for row in vectors.in_id_range(kind, "counting:64", 0, 2**62)]
    assert all(row[2] in vector_file_path(hub.path).read_bytes() for row in kept)
    await hub.write(lambda store: store.purge.execute("default", scope="s", tiers=frozenset(Tier)), alone=True)
    await hub.write(lambda store: store.turns.purge("default"), alone=True)
    on_disk = vector_file_path(hub.path).read_bytes()
    assert [row for row in kept if row[2] in on_disk] == []
    assert (await ask("recall_memory", query="automobile")).data["count"] == 0


async def test_what_was_purged_without_the_vectors_is_swept_at_the_start(
    hub: StoreWorker, ask: Desk, meaning: VectorService
) -> None:
    await remember(ask, CAR, TEA, scope="s")
    await filled(meaning, 2)
    sidecar = vector_file_path(hub.path)
    away = sidecar.with_name("away")
    sidecar.rename(away)
    await hub.write(lambda store: store.purge.execute("default", scope="s", tiers=frozenset(Tier)), alone=True)
    away.rename(sidecar)
    again = VectorService(hub.read, hub.path, hub.embedding_settings, make=lambda *_: None)
    filling = asyncio.create_task(again.fill_forever())

    def swept() -> bool:
        with Vectors(hub.path) as vectors:
            return vectors.page("fact", 0, 10) == []

    await until(swept, "an empty sidecar, though no embedding is configured any more")
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)
    await again.close()


async def test_what_is_purged_while_its_vector_is_made_stays_away(
    ask: Desk, meaning: VectorService, hub: StoreWorker, stand_in: StandIn
) -> None:
    await remember(ask, TEA)
    await filled(meaning, 1)
    stand_in.slow.clear()
    asked = len(stand_in.asked)
    await remember(ask, CAR, scope="s")
    await until(lambda: len(stand_in.asked) > asked, "the request")
    await hub.write(lambda store: store.purge.execute("default", scope="s", tiers=frozenset(Tier)), alone=True)
    stand_in.slow.set()
    await remember(ask, RAIN)  # one is made after the other: when this one is there, the former is through
    await filled(meaning, 2)
    with Vectors(hub.path) as vectors:
        assert len(vectors.page("fact", 0, 10)) == 2


async def test_a_file_that_was_taken_away_is_made_anew(ask: Desk, meaning: VectorService, hub: StoreWorker) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    vector_file_path(hub.path).unlink()

    def again() -> bool:
        if not vector_file_path(hub.path).exists():
            return False
        with Vectors(hub.path) as vectors:
            return len(vectors.page("fact", 0, 10)) == 2

    await until(again, "the vectors in a new file")
    assert contents(await ask("recall_memory", query="automobile")) == [CAR]


async def test_without_any_setting_no_file_is_made_and_words_answer(
    hub: StoreWorker, ask: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HERMES_MEMORY_EMBED_URL")
    monkeypatch.delenv("HERMES_MEMORY_EMBED_MODEL")
    made = hub.vectors = VectorService(hub.read, hub.path, hub.embedding_settings, make=lambda *_: None)
    filling = asyncio.create_task(made.fill_forever())
    await remember(ask, CAR)
    await until(lambda: "no embedding is configured" in made.state(), "the state in words")
    assert contents(await ask("recall_memory", query="car")) == [CAR]
    assert not vector_file_path(hub.path).exists()
    filling.cancel()
    await asyncio.gather(filling, return_exceptions=True)


async def test_a_policy_that_became_wrong_stops_no_recall(ask: Desk, meaning: VectorService, tmp_path: Path) -> None:
    await remember(ask, CAR)
    await filled(meaning, 1)
    (tmp_path / "memory-themes.toml").write_text("[embedding]\nprovider = 'nobody'\n")
    await until(lambda: "provider must be one of" in meaning.state(), "the mistake in words")
    assert contents(await ask("recall_memory", query="car")) == [CAR]


def test_a_connection_of_its_own_recalls_by_words(tmp_path: Path) -> None:
    with Connection.open(tmp_path / "own.db", "default") as connection:
        assert connection.query_vector is None


async def test_damaged_vectors_are_made_anew_while_the_bridge_runs(
    hub: StoreWorker, ask: Desk, meaning: VectorService
) -> None:
    await remember(ask, CAR, TEA, RAIN)
    await filled(meaning, 3)
    file = vector_file_path(hub.path)
    with file.open("r+b") as out:
        out.write(b"\xa5" * file.stat().st_size)

    await remember(ask, "V[family.boat]: the boat lies in the harbour")
    await ask("recall_memory", query="automobile")

    def again() -> bool:
        try:
            with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as conn:
                whole = conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                return whole and conn.execute("SELECT count(*) FROM vectors").fetchone()[0] == 4
        except sqlite3.Error:
            return False

    await until(again, "the vectors in a sound file")
    assert contents(await ask("recall_memory", query="automobile"))[:1] == [CAR]
