"""What one session's events record is recorded in their order, and given once, however long the record of one takes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.hook_service.hook_service import HookService
from hermes_memory_bridge.hook_service.transcripts import transcript_filling
from hermes_memory_bridge.runtime.followed_answer import FollowedAnswer
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, to_event

HELD_S = 0.6
"""How long what is slow takes: longer than a hook waits for the record of a turn."""


def transcript_line(role: str, text: str, at: float) -> str:
    moment = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({"type": role, "timestamp": moment, "message": {"role": role, "content": text}}) + "\n"


class Talk:
    """A session of Claude Code whose events a service takes in this process, and its transcript."""

    def __init__(self, worker: StoreWorker, transcript: Path) -> None:
        self.worker = worker
        self.service = HookService(worker, lambda: ())
        self.transcript = transcript
        self.began = time.time() - 60
        transcript.write_text("", encoding="utf-8")

    async def tell(self, name: str, second: float, text: str = "", *, capture: bool = True) -> dict[str, Any]:
        """Tell an event; return its answer. Whoever is answered before the record must follow it."""
        at = round((self.began + second) * 1000)
        event = to_event(name, text=text, at=at, capture=capture, transcript=str(self.transcript))
        return await self.service.answer(event)

    async def start(self, second: float) -> None:
        answer = await self.tell("start", second)
        assert isinstance(answer, FollowedAnswer)
        answer.follow(True)

    async def prompt(self, second: float, text: str, *, capture: bool = True) -> str:
        answer = await self.tell("prompt", second, text, capture=capture)
        assert isinstance(answer, FollowedAnswer)
        answer.follow(True)
        return str(answer["text"])

    def write(self, role: str, text: str, second: float) -> None:
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(transcript_line(role, text, self.began + second))

    @contextlib.asynccontextmanager
    async def slow_disk(self) -> AsyncIterator[None]:
        """Hold up what is written until the block ends, and `HELD_S` longer."""
        is_held, let = threading.Event(), threading.Event()
        self.worker.write_in_background(lambda _: (is_held.set(), let.wait()))
        await asyncio.to_thread(is_held.wait)
        try:
            yield
            await asyncio.sleep(HELD_S)
        finally:
            let.set()

    async def said(self) -> list[str]:
        """Wait until nothing is under way; return what was kept, in the order of the alphabet."""
        while self.worker._tasks:
            await asyncio.gather(*self.worker._tasks)
        return await self.worker.read(lambda store: sorted(turn.content for turn in store.turns.list("default")))


@pytest.fixture
async def talk(db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Talk]:
    monkeypatch.setattr(transcript_filling, "SECOND_LOOKS_S", ())
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
    allow_capture(db, "claude-code")
    worker = StoreWorker(db)
    yield Talk(worker, tmp_path / "session.jsonl")
    await asyncio.to_thread(worker.close)


async def test_a_turn_waits_for_the_record_of_its_prompt_by_which_the_transcript_is_read(talk: Talk) -> None:
    async with talk.slow_disk():
        await talk.start(-1)
        await talk.prompt(0, "a question")
        talk.write("user", "a question", 0.1)
        talk.write("assistant", "on the way", 0.2)
        answering = asyncio.create_task(talk.tell("turn", 0.4, "the answer"))
    await answering
    assert await talk.said() == ["a question", "on the way", "the answer"]


async def test_a_pause_holds_however_long_its_record_takes(talk: Talk) -> None:
    async with talk.slow_disk():
        await talk.prompt(0, "a question")
        await talk.prompt(1, "paused words", capture=False)
        talk.write("user", "paused words", 1)
        talk.write("assistant", "paused too", 2)
        answering = asyncio.create_task(talk.tell("turn", 3, "heard late"))
    await answering
    await talk.prompt(4, "another question")
    talk.write("assistant", "on the way", 5)
    await talk.tell("turn", 6, "the answer")
    assert await talk.said() == ["a question", "another question", "heard late", "on the way", "the answer"]


async def test_a_pause_that_is_heard_while_a_piece_of_the_transcript_is_being_kept_holds(talk: Talk) -> None:
    await talk.prompt(0, "a question")
    await talk.said()
    talk.write("user", "paused words", 1)
    async with talk.slow_disk():
        filling = asyncio.create_task(talk.service.transcripts.fill("claude-code", "s1"))
        while not talk.worker.queue_length:
            await asyncio.sleep(0.01)
        await talk.prompt(1, "paused words", capture=False)
    await filling
    assert await talk.said() == ["a question"]


async def test_a_pause_is_on_the_disk_without_its_words_before_its_prompt_is_answered(talk: Talk, db: Path) -> None:
    async with talk.slow_disk():
        await talk.prompt(0, "a question")
        await talk.prompt(1, "paused words", capture=False)
        waiting = [waiting_records.read_record(path) or {} for path in waiting_records.list_waiting(db)]
        assert [(one["text"], one["capture"]) for one in waiting] == [("a question", True), ("", False)]
    assert await talk.said() == ["a question"]
    assert waiting_records.list_waiting(db) == []
    await talk.prompt(2, "paused on", capture=False)
    assert waiting_records.list_waiting(db) == [], "no time is open that it could end"


async def test_a_session_has_ended_however_long_the_record_of_its_prompt_takes(talk: Talk) -> None:
    async with talk.slow_disk():
        await talk.start(-1)
        await talk.prompt(0, "a question")
        ending = asyncio.create_task(talk.tell("end", 3))
        talk.write("assistant", "the answer", 2)
        talk.write("user", "said without hooks", 5)
    await ending
    assert await talk.said() == ["a question", "the answer"]


@pytest.mark.parametrize("is_delivered", [True, False])
async def test_a_hook_called_twice_at_once_is_given_a_fact_once_however_long_the_first_takes(
    talk: Talk, is_delivered: bool
) -> None:
    first = await talk.tell("prompt", 0, "a question about db.id")
    second = asyncio.create_task(talk.tell("prompt", 0, "a question about db.id"))
    await asyncio.wait([second], timeout=HELD_S)
    assert isinstance(first, FollowedAnswer)
    first.follow(is_delivered)
    answer = await second
    assert isinstance(answer, FollowedAnswer)
    answer.follow(True)
    assert ["C[db.id]" in one["text"] for one in (first, answer)] == [True, not is_delivered]
    assert await talk.said() == ["a question about db.id"]
