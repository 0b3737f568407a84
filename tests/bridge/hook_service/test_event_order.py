"""What one session's events record is recorded in their order, however long the record of one takes."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.hook_service import hook_service
from hermes_memory_bridge.hook_service.hook_service import HookService
from hermes_memory_bridge.runtime.followed_answer import FollowedAnswer
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, to_event


def transcript_line(role: str, text: str, at: float) -> str:
    moment = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({"type": role, "timestamp": moment, "message": {"role": role, "content": text}}) + "\n"


async def test_a_turn_waits_for_the_record_of_its_prompt_by_which_the_transcript_is_read(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_service, "SHORT_SETTLING_S", 30.0)
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
    allow_capture(db, "claude-code")
    worker = StoreWorker(db)
    service = HookService(worker, lambda: ())
    is_held, settle = asyncio.Event(), service.waiting.settle

    async def settle_when_let(*most_s: Any) -> bool:
        if not most_s:  # the record of the prompt
            await is_held.wait()
        return await settle(*most_s)

    monkeypatch.setattr(service.waiting, "settle", settle_when_let)
    now, path = time.time(), tmp_path / "session.jsonl"
    path.write_text("", encoding="utf-8")
    said = {"capture": True, "transcript": str(path)}
    prompted = await service.answer(to_event("prompt", text="a question", at=round(now * 1000), **said))
    assert isinstance(prompted, FollowedAnswer)
    prompted.follow(True)
    path.write_text(
        transcript_line("user", "a question", now + 0.1) + transcript_line("assistant", "on the way", now + 0.2),
        encoding="utf-8",
    )
    answering = asyncio.create_task(
        service.answer(to_event("turn", text="the answer", at=round(now * 1000) + 400, **said))
    )
    await asyncio.wait([answering], timeout=0.2)
    is_held.set()
    await answering
    while worker._tasks:
        await asyncio.gather(*worker._tasks)
    await asyncio.to_thread(worker.close)
    with Store.open(db, read_only=True) as store:
        assert sorted(turn.content for turn in store.turns.list("default")) == [
            "a question",
            "on the way",
            "the answer",
        ]
