"""`memory_search` by words and by meaning: what this machine knows of meaning counts, and no endpoint is ever asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.embedding import local_model
from hermes_memory_bridge.embedding.embedder_protocol import Floats
from hermes_memory_bridge.embedding.vector_service import EmbedderFactory, VectorService
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.context.fence import parse_fenced_text
from hermes_memory_store.model import Rights
from hermes_memory_themes import Policies
from tests.bridge.embedding.standin import StandIn, vector
from tests.bridge.embedding.test_meaning import CAR, RAIN, TEA, filled, remember
from tests.bridge.tools.test_more_tools import Desk

WORDS = "words only"


class CountingHere:
    """A source of vectors that computes on this machine, as the stand-in does on another."""

    name, batch, gentle = "counting here", 8, True

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str], timeout_s: float) -> list[Floats | None]:
        self.asked += texts
        return [vector(text, 64) for text in texts]

    async def close(self) -> None:
        pass


@asynccontextmanager
async def filling(path: Path, make: EmbedderFactory) -> AsyncIterator[tuple[StoreWorker, VectorService]]:
    """A hub whose vectors come from elsewhere than the settings say, and whose questions wait for them on a busy machine too."""
    settings = path.with_name("patient.toml")
    settings.write_text("[embedding]\nquery_ms = 5000\n", encoding="utf-8")
    hub = StoreWorker(path)
    hub.store.policies = Policies.load(settings)
    meaning = hub.vectors = VectorService(hub.read, hub.path, hub.embedding_settings, make=make, rest_s=0.02)
    task = asyncio.create_task(meaning.fill_forever())
    try:
        yield hub, meaning
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await meaning.close()
        await asyncio.to_thread(hub.close)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[tuple[Desk, VectorService, CountingHere]]:
    """A memory whose model computes on this machine."""
    counting = CountingHere()
    async with filling(tmp_path / "memory.db", lambda *_: counting) as (hub, meaning):
        yield Desk(hub), meaning, counting


Here = tuple[Desk, VectorService, CountingHere]


def notations(answer: Any) -> list[str]:
    return [fact["notation"] for fact in answer.data["facts"]]


async def test_a_search_finds_by_meaning_and_says_so(here: Here) -> None:
    ask, meaning, _ = here
    await remember(ask, CAR, TEA, RAIN)
    await filled(meaning, 3)
    answer = await ask("memory_search", query="automobile")
    assert notations(answer) == [CAR]
    assert parse_fenced_text(answer.text) == CAR
    assert (answer.data["total"], answer.data["more"], answer.data["ranked_by"]) == (
        1,
        False,
        "words and counting here",
    )


async def test_what_has_every_word_stays_first_in_its_order(here: Here) -> None:
    ask, meaning, counting = here
    texts = [f"V[garage.{number}]: automobile of row {number}" for number in range(3)]
    await remember(ask, CAR, *texts)
    await filled(meaning, 4)
    by_words = [fact.notation for fact in ask.hub.store.search.find("default", "automobile", record=False).facts]
    answer = await ask("memory_search", query="automobile")
    assert notations(answer) == [*by_words, CAR]
    assert answer.data["total"] == 4
    counting.asked.clear()
    answer = await ask("memory_search", query="row", limit=3)
    assert (len(notations(answer)), answer.data["ranked_by"], counting.asked) == (3, WORDS, [])


@pytest.mark.parametrize("line", ['"automobile"', "automobile -tea", "type:value"])
async def test_exact_lines_and_filters_alone_are_left_to_words(here: Here, line: str) -> None:
    ask, meaning, _ = here
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    answer = await ask("memory_search", query=line)
    by_words = ask.hub.store.search.find("default", line, limit=5, record=False)
    assert notations(answer) == [fact.notation for fact in by_words.facts]
    assert (answer.data["total"], answer.data["ranked_by"]) == (by_words.total, WORDS)


async def test_filters_scope_and_theme_hold_for_what_is_found_by_meaning(here: Here) -> None:
    ask, meaning, _ = here
    await remember(ask, CAR, scope="home")
    await remember(ask, "D[fleet]: lease the car", scope="work")
    await remember(Desk(ask.hub, "hr"), "V[company.car]: the car of the director")
    await filled(meaning, 3)
    assert notations(await ask("memory_search", query="automobile", scope="home")) == [CAR]
    assert notations(await ask("memory_search", query="automobile type:decision")) == ["D[fleet]: lease the car"]
    assert notations(await ask("memory_search", query="automobile scope:home", scope="work")) == []
    assert "error" in (await ask("memory_search", query="automobile", scope="nowhere")).data
    walled = Desk(ask.hub, "trading", Rights(other_themes=False))
    assert notations(await walled("memory_search", query="automobile")) == []


async def test_the_limit_holds_and_the_total_counts_what_it_left_out(here: Here) -> None:
    ask, meaning, _ = here
    await remember(ask, *(f"V[t{number}]: the car number {number}" for number in range(8)))
    await filled(meaning, 8)
    answer = await ask("memory_search", query="automobile", limit=5)
    assert (len(notations(answer)), answer.data["total"]) == (5, 8)


async def test_no_endpoint_is_asked_for_what_a_search_means(
    ask: Desk, meaning: VectorService, stand_in: StandIn
) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    stand_in.asked.clear()
    stand_in.slow.clear()  # it would hang
    answer = await ask("memory_search", query="wheels")
    assert (notations(answer), answer.text, answer.data["ranked_by"]) == ([], "no results", WORDS)
    assert stand_in.asked == []
    stand_in.slow.set()


async def test_a_question_that_was_recalled_before_is_searched_by_meaning(
    ask: Desk, meaning: VectorService, stand_in: StandIn
) -> None:
    await remember(ask, CAR, TEA)
    await filled(meaning, 2)
    await ask("recall_memory", query="wheels")
    stand_in.asked.clear()
    answer = await ask("memory_search", query="wheels")
    assert (notations(answer), answer.data["ranked_by"], stand_in.asked) == ([CAR], "words and counting", [])


async def test_a_model_that_is_still_loading_holds_up_no_search(tmp_path: Path) -> None:
    loading, loaded = threading.Event(), threading.Event()

    def load(*_: object) -> CountingHere:
        loading.set()
        assert loaded.wait(60)
        return CountingHere()

    async with filling(tmp_path / "memory.db", load) as (hub, meaning):
        ask = Desk(hub)
        await remember(ask, CAR)
        assert await asyncio.to_thread(loading.wait, 60)
        answer = await ask("memory_search", query="wheels")
        assert (notations(answer), answer.data["ranked_by"]) == ([], WORDS)
        loaded.set()
        await filled(meaning, 1)
        assert notations(await ask("memory_search", query="wheels")) == [CAR]


async def test_what_a_search_tells_is_on_record(here: Here) -> None:
    ask, meaning, _ = here
    await remember(ask, CAR)
    await filled(meaning, 1)
    fact = (await ask("memory_search", query="automobile")).data["facts"][0]
    await ask.hub.write(lambda store: store.reads.flush())
    assert [one.why for one in ask.hub.store.reads.readers(fact["uid"])] == ["automobile"]


@pytest.mark.skipif(not local_model.is_model_installed(), reason="the local model is not installed")
async def test_the_local_model_finds_the_company_car(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HERMES_MEMORY_EMBED_URL", raising=False)
    fact = "V[company.car]: a blue Opel, parked at the office"
    async with filling(tmp_path / "memory.db", lambda *_: local_model.LocalModel.load()) as (hub, meaning):
        ask = Desk(hub)
        await remember(ask, fact, TEA, RAIN)
        await filled(meaning, 3)
        answer = await ask("memory_search", query="automobile")
        assert (notations(answer)[:1], answer.data["ranked_by"]) == ([fact], "words and all-MiniLM-L6-v2")
