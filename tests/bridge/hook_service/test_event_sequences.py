"""Random sequences of events, with doubles, late records and restarts: nothing is given never, each message is kept once."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_memory_bridge.hook_service.hook_service import HookService
from hermes_memory_bridge.runtime.followed_answer import FollowedAnswer
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, to_event

FACTS = {"C[db.id]: UUID always", "D[cache]: redis", "V[port]: 5433"}

STEPS = (
    "startup", "resume", "clear", "compact", "compaction without a start", "prompt", "prompt", "prompt twice", "late prompt",
    "turn", "turn twice", "late turn", "restart", "lost answer", "end",
)  # fmt: skip


class Host:
    """A host's session, what its model has before it, and what was said."""

    def __init__(self, db: Path) -> None:
        self.db = db
        self.seen: set[str] = set()
        self.said: Counter[str] = Counter()
        self.number = 0
        self.at = 0
        self.is_complete = False
        """Whether the model must have every fact before it: it was asked something in this window."""
        self.open_bridge()

    def open_bridge(self) -> None:
        self.worker = StoreWorker(self.db)
        self.service = HookService(self.worker, lambda: ())

    async def close_bridge(self) -> None:
        await self.settle()
        await asyncio.to_thread(self.worker.close)

    async def settle(self) -> None:
        while self.worker._tasks:
            await asyncio.gather(*self.worker._tasks)
        if self.service.waiting._draining is not None:
            await self.service.waiting._draining
        await self.worker.write(lambda _: None)

    async def send(self, event: dict[str, Any], *, is_lost: bool = False) -> None:
        answer = await self.service.answer(event)
        if isinstance(answer, FollowedAnswer):
            answer.follow(not is_lost)
        if not is_lost:
            self.seen |= {line.removeprefix("| ") for line in answer["text"].splitlines()} & FACTS

    def event(self, name: str, **said: Any) -> dict[str, Any]:
        self.number += 1
        self.at += 10_000
        text = {"prompt": f"question number {self.number}", "turn": f"answer number {self.number}"}.get(name, "")
        self.said[text] += bool(text)
        now = self.worker.store.clock() - 3_600_000 + self.at
        return to_event(
            name, text=text, turn=f"t{self.number}" if self.number % 2 else "", at=now, capture=True, **said
        )

    async def step(self, name: str) -> None:
        if name in ("startup", "clear", "compact"):
            self.seen = set()
            await self.send(self.event("start", source=name))
            self.is_complete = True
        elif name == "resume":
            await self.send(self.event("start", source="resume"))
        elif name == "compaction without a start":
            await self.send(self.event("compacting"))
            await self.send(self.event("compacted"))
            self.seen, self.is_complete = set(), False
        elif name in ("prompt", "prompt twice", "lost answer"):
            event = self.event("prompt")
            await self.send(event, is_lost=name == "lost answer")
            if name == "prompt twice":
                await self.send(event)
            self.is_complete = self.is_complete or name != "lost answer"
        elif name in ("turn", "turn twice"):
            event = self.event("turn")
            for _ in range(1 + (name == "turn twice")):
                await self.send(event)
        elif name.startswith("late"):
            event = self.event(name.removeprefix("late "))
            for _ in range(2):
                waiting_records.append(str(self.db), event)
        elif name == "restart":
            await self.close_bridge()
            self.open_bridge()
        elif name == "end":
            await self.send(self.event("end"))


async def run_steps(db: Path, steps: list[str]) -> None:
    host = Host(db)
    for name in steps:
        await host.step(name)
        if name != "prompt twice":
            await host.settle()
        assert not host.is_complete or host.seen == FACTS, name
    await host.send(host.event("turn"))
    await host.close_bridge()
    with Store.open(db) as store:
        kept = Counter(turn.content for turn in store.turns.list("default", limit=1_000))
    assert kept == +host.said


@settings(deadline=None)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=12))
def test_nothing_is_given_never_and_each_message_is_kept_once(steps: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "memory.db"
        with Store.open(db) as store:
            for notation in FACTS:
                store.facts.write("default", notation)
        allow_capture(db, "claude-code")
        asyncio.run(run_steps(db, steps))
