"""An agent of one theme cannot tell whether another theme exists: every answer is the same with it and without it.

Two stores hold the same memory of `mine`; one of them also holds another theme's facts, scopes, sessions, turns and tokens. The
same probes go to both, many of them naming what only the other theme has. `$HERMES_MEMORY_PROBES` sets how many (10,000 takes
two minutes).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from pathlib import Path
from typing import Any

from hermes_memory_bridge.runtime.call_dispatch import dispatch_call
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.surface import completions, prompts, resources
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired
from hermes_memory_bridge.tools import TOOLS
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store

PROBES = int(os.environ.get("HERMES_MEMORY_PROBES", "1500"))

OURS = ["cache", "queue", "auth", "db.id", "speed", "redis", "kafka"]
THEIRS = ["salary.bob", "payroll", "bonus", "merger", "secret-plan", "acquisition", "hr"]

CHANGING = re.compile(
    r"\b1[5-9]\d{11}\b|\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?(?:-[0-9a-f]*)?"
)
"""Uids and times, which differ between any two stores."""

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7")


def fill(store: Store, theme: str, words: list[str]) -> list[str]:
    session = store.sessions.open(theme, f"{theme}-session")
    names = [session.name]
    for number, word in enumerate(words):
        written = store.facts.write(theme, f"V[{word}]: {word} is {number}", scope=f"{word}-work", session=session)
        names += [written.fact.uid, written.fact.uid[:30], f"{word}-work", word]
        store.turns.add(theme, "user", f"we spoke of {word}", session=session)
    store.facts.write(theme, f"V[{words[0]}]: {words[0]} is another", scope=f"{words[0]}-work")
    store.scopes.close(theme, f"{words[1]}-work")
    return names


def masked(said: Any) -> str:
    """An answer without what differs between any two stores."""
    text = said if isinstance(said, str) else json.dumps(said, sort_keys=True, ensure_ascii=False)
    return re.sub(r'"(seq|id)": \d+', "#", CHANGING.sub("#", text))


class Side:
    """One of the two stores, with an agent of `mine`."""

    def __init__(self, path: Path) -> None:
        self.hub = StoreWorker(path)
        self.connection = Connection(
            self.hub.store, "mine", later=self.hub.write_in_background, resume="probing", tools="all"
        )

    async def probe(self, kind: str, arguments: tuple[Any, ...]) -> str:
        """One probe's answer; an error's words and code are part of it."""
        try:
            if kind == "tool":
                name, given = arguments
                answer = await dispatch_call(self.hub, self.connection, TOOLS[name], given, None)
                return masked(answer.text) + masked(answer.data)
            if kind == "resource":
                return masked(
                    await self.hub.read(
                        lambda store: resources.read_resource(self.connection.with_store(store), *arguments)
                    )
                )
            if kind == "prompt":
                return masked(
                    await self.hub.read(
                        lambda store: prompts.render_prompt(self.connection.with_store(store), *arguments)
                    )
                )
            if kind == "list":
                found, _ = await self.hub.read(
                    lambda store: resources.list_resources(self.connection.with_store(store), *arguments)
                )
                return masked([one.uri + one.description for one in found])
            return masked(
                await self.hub.read(
                    lambda store: completions.complete_argument(self.connection.with_store(store), *arguments)
                )
            )
        except ConsentRequired as needed:
            return masked(needed.message)
        except StoreError as error:
            return masked(f"{error.code} {error.message}")


def lengths_of(word: str) -> list[int]:
    """How short a word may be cut. A uid begins with its millisecond: cut inside those digits it names as many facts as happened
    to be written in one moment, which differs between two stores and tells nothing; before them it names all, behind them one."""
    every = range(1, len(word) + 1)
    return [length for length in every if not UID.match(word) or length <= 5 or length >= 24]


def probe_of(chance: random.Random, names: list[str]) -> tuple[str, tuple[Any, ...]]:
    """A random probe, most of whose words are somebody else's."""

    def word() -> str:
        one = chance.choice(names)
        return one if chance.random() < 0.8 else one[: chance.choice(lengths_of(one))]

    def query() -> str:
        said = [word() for _ in range(chance.randrange(1, 4))]
        filters = [
            "",
            f"scope:{word()}",
            f"by:{word()}",
            f"target:{word()}",
            "tier:superseded",
            "tier:archived",
            f"-{word()}",
        ]
        return " ".join([*said, chance.choice(filters)])

    kind = chance.choice(["tool"] * 6 + ["resource", "prompt", "completion", "list"])
    if kind == "resource":
        theme = chance.choice(["hr", "mine", word()])
        uris = [
            f"memory://fact/{word()}",
            f"memory://theme/{theme}",
            f"memory://scope/{theme}/{word()}",
            "memory://status",
        ]
        return kind, (chance.choice(uris),)
    if kind == "prompt":
        return kind, chance.choice(
            [("memory", {}), ("review_scope", {"scope": word()}), ("decided", {"topic": query()})]
        )
    if kind == "completion":
        return kind, (chance.choice(["scope", "theme", "topic", "target"]), word()[: chance.randrange(0, 4)])
    if kind == "list":
        return kind, (None,)
    name = chance.choice([tool for tool in TOOLS if tool not in ("memory_optimize", "session_open")])
    values: dict[str, Any] = {
        "query": query(), "topic": query(), "scope": word(), "uid": word(), "session_id": word(), "limit": 20,
        "content": f"V[{word()}]: {word()}", "turn": chance.randrange(9), "message": f"the {word()} is merged",
        "role": "user", "status": "all", "everything": True, "resume": word(), "target": "both",
    }  # fmt: skip
    if name == "memory_edit":
        values["content"] = word()
    wanted = [key for key in TOOLS[name].arguments if key in values]
    given = {key: values[key] for key in wanted if key in TOOLS[name].required or chance.random() < 0.4}
    return kind, (name, given)


def test_no_answer_tells_that_another_theme_exists(tmp_path: Path) -> None:
    names: dict[str, list[str]] = {}
    for side in ("with", "without"):
        with Store.open(tmp_path / f"{side}.db") as store:
            fill(store, "mine", OURS)
            if side == "with":
                names["hr"] = fill(store, "hr", THEIRS)
                store.credentials.add("hr-token", "hr", Connection(store, "hr").rights)

    async def run() -> int:
        sides = [Side(tmp_path / f"{side}.db") for side in ("with", "without")]
        chance = random.Random(11)
        known = [*names["hr"], *OURS, *(f"{word}-work" for word in OURS)]
        try:
            for number in range(PROBES):
                kind, arguments = probe_of(chance, known)
                told = [await side.probe(kind, arguments) for side in sides]
                for side in sides:  # what one probe leaves to be written later is there for the next, in both
                    await side.hub.write(lambda _: None)
                assert told[0] == told[1], (number, kind, arguments)
        finally:
            for side in sides:
                await asyncio.to_thread(side.hub.close)
        return PROBES

    assert asyncio.run(run()) == PROBES
