"""Without a bridge the hook program reads the store itself, and leaves what it gave for the next one."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.hook_program.hook_event import HookEvent
from hermes_memory_bridge.hook_program.without_bridge import find_given, leave_record, needs_record, read_own_answer
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.store import Store
from tests.bridge.hook_program.conftest import Hook, HookRun, LineBridge

pytest.importorskip("hermes_memory_store.context.hot_context")

START = {"session_id": "s-1", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup"}

FACT = "C[port]: Postgres listens on 5433"


@pytest.fixture(autouse=True)
def no_start(hook: Hook, store: Path) -> Iterator[None]:
    """Nobody starts a bridge: it would take up what waits."""
    paths = BridgePaths.of(store)
    paths.make_folder()
    lock = os.open(paths.starting, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    yield
    os.close(lock)
    os.unlink(paths.starting)


@pytest.fixture
def fact(store: Path, no_start: None) -> str:
    with Store.open(store) as opened:
        return opened.facts.write("default", FACT).fact.uid


def in_time(run: Callable[[], HookRun]) -> HookRun:
    """Run until there is an answer: on a busy machine a hook's time may be over before its first line."""
    for _ in range(10):
        done = run()
        if done.said:
            return done
    raise AssertionError("no answer in ten runs")


def given_text(run: HookRun) -> str:
    return str(json.loads(run.said)["hookSpecificOutput"]["additionalContext"])


def newest_record(store: Path) -> dict[str, Any]:
    return waiting_records.read_record(waiting_records.list_waiting(store)[-1]) or {}


def test_a_start_gives_the_hot_facts_and_says_so_to_the_next_bridge(hook: Hook, store: Path, fact: str) -> None:
    run = in_time(lambda: hook("claude-code", "start", START))
    assert given_text(run).endswith(f"| {FACT}")
    assert json.loads(run.said)["systemMessage"] == "memory: 1 fact (port)"
    record = newest_record(store)
    assert record["given"]["uids"] == [fact]
    assert record["given"]["kind"] == "start"
    assert record["given"]["tokens"] > 0
    assert (record["session"], record["text"]) == ("s-1", "")


def test_a_start_beside_a_bridge_that_hangs_gives_the_hot_facts(
    hook: Hook, line_bridge: Callable[..., LineBridge], fact: str
) -> None:
    line_bridge(None)
    assert FACT in given_text(in_time(lambda: hook("claude-code", "start", START)))


def test_a_start_beside_a_bridge_that_refuses_gives_the_hot_facts(
    hook: Hook, line_bridge: Callable[..., LineBridge], fact: str
) -> None:
    line_bridge({"hermes-memory": 1, "error": {"code": "argument.invalid", "message": "'hook' is no command"}})
    assert FACT in given_text(in_time(lambda: hook("claude-code", "start", START)))


def test_a_purge_between_two_starts_leaves_nothing_to_give(hook: Hook, store: Path, fact: str) -> None:
    in_time(lambda: hook("claude-code", "start", START))
    with Store.open(store) as opened:
        opened.purge.execute_facts(fact)
    assert hook("claude-code", "start", START).said == ""


def test_a_prompt_gives_the_hot_facts_once_a_window(store: Path, fact: str) -> None:
    prompt = HookEvent("qwen", "prompt", session="q-1", folder="/w", text="which port?")
    path = str(store)
    text, _, prompt.given = read_own_answer(path, prompt)
    assert FACT in text
    assert leave_record(path, prompt)
    assert read_own_answer(path, prompt) == ("", "", None)
    other = HookEvent("qwen", "prompt", session="q-2", folder="/w")
    assert FACT in read_own_answer(path, other)[0]
    nameless = HookEvent("qwen", "prompt", folder="/w")
    assert FACT in read_own_answer(path, nameless)[0]
    assert leave_record(path, HookEvent("qwen", "start", session="q-1", source="clear"))
    assert FACT in read_own_answer(path, prompt)[0]


def test_a_prompt_whose_window_a_bridge_has_given_something_gets_nothing(store: Path, fact: str) -> None:
    prompt = HookEvent("codex", "prompt", session="x-1", folder="/w")
    with Store.open(store) as opened:
        now = opened.clock()
        opened.host_sessions.note("codex", "x-1", "start", window_at=now, given_at=now)
        assert find_given(str(store), prompt) == set()
        opened.host_sessions.note("codex", "x-1", "start", window_at=now + 1)
        assert find_given(str(store), prompt) is None


def give_and_leave(store: Path, event: HookEvent) -> str:
    text, _, event.given = read_own_answer(str(store), event)
    assert leave_record(str(store), event)
    return text


@pytest.mark.parametrize(
    ("host", "events", "given"),
    [
        ("codex", "start startup, prompt, start resume, prompt, start resume", 1),
        ("claude-code", "start startup, prompt, compacting, start compact, compacted, prompt", 2),
        ("codex", "start startup, compacting, compacted, start resume, start compact, prompt", 2),
        ("codex", "start startup, prompt, compacted, prompt", 2),
        ("claude-code", "start startup, prompt, start clear, prompt, start fork", 3),
        ("copilot", "start startup, prompt, start resume, prompt", 2),
        ("gemini", "start startup, prompt, compacting, turn, start resume, prompt, compacting, prompt", 1),
    ],
)
def test_each_window_is_given_the_facts_once_however_long_no_bridge_answers(
    store: Path, fact: str, host: str, events: str, given: int
) -> None:
    texts = []
    for words in events.split(", "):
        name, _, source = words.partition(" ")
        event = HookEvent(host, name, session="s-1", source=source, folder="/w", transcript="/w/session")
        texts.append(give_and_leave(store, event))
    assert sum(FACT in text for text in texts) == given
    assert not any(FACT in text for text, words in zip(texts, events.split(", "), strict=True) if "compac" in words[:9])


def test_a_resumed_session_is_given_what_is_new_and_a_subagent_all_of_it_once(store: Path, fact: str) -> None:
    assert FACT in give_and_leave(store, HookEvent("codex", "start", session="s-1", source="startup", folder="/w"))
    with Store.open(store) as opened:
        opened.facts.write("default", "V[cache.size]: 40 MB")
    resumed = give_and_leave(store, HookEvent("codex", "start", session="s-1", source="resume", folder="/w"))
    assert resumed.splitlines()[1:] == ["| V[cache.size]: 40 MB"]
    of_agent = [
        give_and_leave(store, HookEvent("codex", "start", session="s-1", agent="a-1", folder="/w")) for _ in range(2)
    ]
    assert [text.count("\n| ") for text in of_agent] == [2, 0]
    fork = HookEvent("claude-code", "start", session="s-1", agent="a-2", source="fork", folder="/w")
    assert give_and_leave(store, fork) == ""
    assert give_and_leave(store, HookEvent("codex", "start", session="s-1", source="resume", folder="/w")) == ""


def test_a_theme_that_is_named_wins(store: Path, fact: str) -> None:
    with Store.open(store) as opened:
        opened.facts.write("ops", "D[runbook]: page the second line")
    text, _, _ = read_own_answer(str(store), HookEvent("codex", "start", theme="ops"))
    assert "page the second line" in text
    assert FACT not in text


def test_what_must_wait_is_what_is_kept_or_was_given_or_tells_of_a_pause(store: Path) -> None:
    allowed = HookEvent("codex", "turn", text="x", capture=True)
    refused = HookEvent("codex", "turn", text="x")
    given = HookEvent("codex", "prompt", given={"uids": [], "tokens": 1, "kind": "prompt"})
    assert [needs_record(event) for event in (allowed, refused, given)] == [True, False, True]
    assert needs_record(HookEvent("codex", "start"))
    assert needs_record(HookEvent("codex", "end"))
    paused = HookEvent("codex", "prompt", text="paused words", transcript="/w/session.jsonl")
    assert needs_record(paused)
    assert leave_record(str(store), paused)
    assert newest_record(store)["text"] == ""
