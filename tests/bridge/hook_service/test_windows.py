"""What comes back after a compaction and when a session goes on, in the order in which each host's events come."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.notation.token_count import count_tokens
from hermes_memory_store.store import Store
from tests.bridge.hook_service.hook_line import allow_capture, send_event
from tests.bridge.running import Shim, bridge, until


@pytest.fixture
def memory(db: Path) -> Path:
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
        store.facts.write("default", "D[cache]: redis")
    return db


def settle(places: BridgePaths, session: str = "s1", host: str = "claude-code") -> None:
    """Wait until what came before is committed: such an event is answered when it is."""
    send_event(places, "turn", session=session, host=host)


def decide(db: Path, session: str, *notations: str) -> None:
    with Store.open(db) as store:
        known = store.host_sessions.find("claude-code", session)
        assert known is not None
        assert known.session is not None
        for notation in notations:
            store.facts.write("default", notation, session=store.sessions.get("default", known.session))


def test_a_resumed_session_is_given_only_what_changed(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", source="startup")
        settle(places)
        assert send_event(places, "start", source="resume") == ""
        with Store.open(memory) as store:
            store.facts.write("default", "V[port]: 5433")
            store.facts.write("default", "D[cache]: memcached")
        text = send_event(places, "start", source="resume")
        assert sorted(text.splitlines()[1:]) == ["| D[cache]: memcached", "| V[port]: 5433"]
        settle(places)
        assert send_event(places, "start", source="resume") == ""


def test_a_resumed_session_hears_what_does_not_hold_any_more_and_nothing_of_what_was_purged(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", source="startup")
        settle(places)
        with Store.open(memory) as store:
            facts = {fact.target: fact.uid for fact in store.context.ranked_facts("default")}
            store.facts.archive([facts["cache"]])
            store.purge.erase([facts["db.id"]])
        text = send_event(places, "start", source="resume")
    assert "db.id" not in text
    assert "UUID" not in text
    assert text.splitlines()[1:] == ["| (1 given before no longer holds)"]


@pytest.mark.parametrize("host", ["copilot", "qwen"])
def test_a_host_that_forgets_on_a_resume_is_given_everything_again(memory: Path, host: str) -> None:
    with bridge(memory) as places:
        assert "C[db.id]" in send_event(places, "start", host=host, source="startup")
        settle(places, host=host)
        assert "C[db.id]" in send_event(places, "start", host=host, source="resume")


def test_a_start_that_is_heard_behind_its_first_prompt_gives_nothing_twice(memory: Path) -> None:
    with bridge(memory) as places:
        assert "C[db.id]" in send_event(places, "prompt", host="copilot", text="hello")
        settle(places, host="copilot")
        assert send_event(places, "start", host="copilot", source="startup") == ""


def test_a_prompt_without_a_text_is_no_message(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", host="qwen", source="startup")
        send_event(places, "prompt", host="qwen", text="which cache?", turn="1")
        assert send_event(places, "prompt", host="qwen", text="", turn="1") == ""
        settle(places, host="qwen")
        with Store.open(memory) as store:
            assert [one.turn for one in store.sessions.list("default")] == [1]


def test_a_resumed_session_that_nobody_knows_is_given_everything(memory: Path) -> None:
    with bridge(memory) as places:
        assert "C[db.id]" in send_event(places, "start", source="resume")


@pytest.mark.parametrize(
    ("host", "events"),
    [
        ("claude-code", (("compacting", ""), ("start", "compact"), ("compacted", ""))),
        ("codex", (("compacting", ""), ("compacted", ""), ("start", "resume"), ("start", "compact"))),
        ("droid", (("compacting", ""), ("start", "compact"))),
        ("copilot", (("compacting", ""),)),
        ("vscode", (("compacting", ""),)),
        ("qwen", (("compacting", ""), ("compacted", ""), ("start", "compact"))),
        ("opencode", (("compacting", ""), ("compacted", ""))),
    ],
)
def test_after_a_compaction_hot_facts_and_the_decisions_of_the_session_come_back_once(
    memory: Path, host: str, events: tuple[tuple[str, str], ...]
) -> None:
    with bridge(memory) as places:
        send_event(places, "start", host=host, source="startup")
        settle(places, host=host)
        with Store.open(memory) as store:
            known = store.host_sessions.find(host, "s1")
            assert known is not None
            assert known.session is not None
            session = store.sessions.get("default", known.session)
            for n in range(8):
                made = store.facts.write("default", f"D[work.step{n}]: decided on the way, number {n}", session=session)
                store.facts.archive([made.fact.uid])
        texts = []
        for event, source in events:
            text = send_event(places, event, host=host, source=source)
            texts += [] if event == "compacting" else [text]
            settle(places, host=host)  # on a busy machine the next event does not wait for this one, and gives it again
        texts.append(send_event(places, "prompt", host=host, text="go on please", turn="9"))
        settle(places, host=host)
        later = send_event(places, "prompt", host=host, text="and on", turn="10")
    back = "\n".join(texts)
    assert back.count("C[db.id]: UUID always") == 1
    assert all(f"D[work.step{n}]" in back for n in range(8))
    assert count_tokens(back) <= 540
    assert later == ""


def test_a_subagent_is_given_the_facts_once_and_what_changed_since_when_it_goes_on(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", source="startup")
        for agent in ("a1", "a2"):
            assert send_event(places, "start", agent=agent).count("C[db.id]: UUID always") == 1
            send_event(places, "turn", agent=agent)
        assert send_event(places, "start", agent="a1") == ""
        send_event(places, "turn", agent="a1")
        assert send_event(places, "prompt", text="which cache do we use?", turn="1") == ""
        settle(places)
        with Store.open(memory) as store:
            rows = {one.name: one for one in store.host_sessions.list()}
            assert rows.keys() == {"s1", "s1 a1", "s1 a2"}
            assert len({one.session for one in rows.values()}) == 1
            assert {len(store.host_sessions.given_facts(one)) for one in rows.values()} == {2}
            store.facts.write("default", "V[port]: 5433")
        assert send_event(places, "start", agent="a1").splitlines()[1:] == ["| V[port]: 5433"]
        assert send_event(places, "start", agent="a3", source="fork") == ""  # it has what its session has
        assert "C[db.id]" in send_event(places, "start", source="compact")


def test_what_a_prompt_gave_stays_where_a_new_process_asks_for_the_rest_again_and_goes_with_a_compaction(
    db: Path,
) -> None:
    with Store.open(db) as store:
        store.facts.write("default", "V[shelf-3]: row 3 of the store")
        for n in range(40):
            store.facts.write("default", f"C[rule-{n}]: never do {n} things of the other kind at once in the harbour")
    said = {"host": "opencode"}
    given = []
    with bridge(db) as places:
        for n, source in enumerate(("startup", "startup", "resume", "compact", "compact", "startup")):
            if n == 3:
                send_event(places, "compacting", **said)
                send_event(places, "compacted", **said)
            text = send_event(places, "start", source=source, **said)
            again = "shelf-3" in text
            assert n >= 3 or not again
            assert bool(text) is (source != "resume")
            settle(places, host="opencode")
            again |= "shelf-3" in send_event(places, "prompt", text="what is in shelf-3?", turn=str(n), **said)
            given.append(again)
            settle(places, host="opencode")
    assert given[:4] == [True, False, False, True]


def test_a_host_whose_starts_come_too_late_is_given_what_is_new_with_the_first_prompt_of_a_resumed_session(
    memory: Path,
) -> None:
    said = {"host": "gemini"}
    with bridge(memory) as places:
        send_event(places, "start", source="startup", **said)
        assert "C[db.id]" in send_event(places, "prompt", text="hello", turn="1", **said)
        settle(places, host="gemini")
        with Store.open(memory) as store:
            store.facts.write("default", "V[port]: 5433")
        assert send_event(places, "start", source="resume", **said) == ""
        with Store.open(memory) as store:
            until(lambda: store.host_sessions.list("gemini")[0].heard_event == "start", "the start")
        assert send_event(places, "prompt", text="go on", turn="2", **said).splitlines()[1:] == ["| V[port]: 5433"]
        settle(places, host="gemini")
        assert send_event(places, "prompt", text="and on", turn="3", **said) == ""


def test_a_prompt_that_a_host_reports_of_a_subagent_by_its_own_name_is_given_nothing(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", host="copilot", source="startup")
        assert "C[db.id]" in send_event(places, "start", host="copilot", agent="a1")
        assert (
            send_event(places, "prompt", host="copilot", session="a1", agent="a1", text="which cache?", turn="1") == ""
        )


@pytest.mark.parametrize(
    "notification",
    [
        "<task-notification>\n<task-id>b1</task-id>\n<summary>which cache? redis</summary>\n</task-notification>",
        "<task-notification><result>a </task-notification> in it, cache redis</result></task-notification>\n"
        "Read the output file to retrieve the result: /tmp/cache/redis.output",
        "<system-reminder>[SYSTEM NOTIFICATION - NOT USER INPUT] cache <task-notification>redis</task-notification>"
        "</system-reminder>",
        "[SYSTEM NOTIFICATION - NOT USER INPUT] A background command finished.\ncache redis",
    ],
)
def test_a_notification_is_no_prompt_of_anybody(memory: Path, notification: str) -> None:
    with Store.open(memory) as store:
        store.facts.write("default", "D[cache]: redis with one replica in each zone of the region")
    allow_capture(memory, "claude-code")
    with bridge(memory) as places:
        send_event(places, "start", source="startup", capture=True)
        with Store.open(memory) as store:
            store.facts.write("default", "V[cache.size]: redis takes 40 MB")  # not given yet
        assert send_event(places, "prompt", text=notification, turn="1", capture=True) == ""
        settle(places)
        with Store.open(memory) as store:
            assert [one.turn for one in store.sessions.list("default")] == [0]
            assert store.turns.count("default") == 0
        answered = send_event(places, "prompt", text=f"{notification}\n\nthanks", turn="2", capture=True)
        assert "cache" not in answered


def test_a_cleared_session_is_given_everything_again(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", source="startup")
        settle(places)
        assert "C[db.id]" in send_event(places, "start", source="clear")
        assert "C[db.id]" in send_event(places, "start", source="fork", session="s2")


def test_gemini_is_given_the_facts_again_when_its_chat_shrank_or_after_twenty_prompts(
    memory: Path, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text("x" * 1000)
    said = {"host": "gemini", "transcript": str(chat)}
    with bridge(memory) as places:
        assert send_event(places, "start", source="startup", **said) == ""
        assert "C[db.id]" in send_event(places, "prompt", text="hello", turn="a", **said)
        for n in range(3):
            send_event(places, "compacting", trigger="auto", **said)
            assert send_event(places, "prompt", text="go on", turn=f"a{n}", **said) == ""
        settle(places, host="gemini")
        chat.write_text("x" * 500)
        assert "C[db.id]" in send_event(places, "prompt", text="go on", turn="b", **said)
        texts = []
        for n in range(45):
            texts.append(send_event(places, "prompt", text="go on", turn=f"c{n}", **said))
            settle(places, host="gemini")
    assert [n for n, text in enumerate(texts) if text] == [20, 41]


def test_windows_are_known_after_a_restart_of_the_bridge(memory: Path) -> None:
    with bridge(memory) as places:
        send_event(places, "start", source="startup")
        settle(places)
    with bridge(memory) as places:
        assert send_event(places, "prompt", text="which cache do we use?", turn="1") == ""
        assert send_event(places, "start", source="resume") == ""


def test_sessions_without_a_name_are_given_the_facts_each_time(memory: Path) -> None:
    with bridge(memory) as places:
        for n in range(3):
            assert "C[db.id]" in send_event(places, "prompt", session="", text="hello", turn=str(n))


def test_a_hook_that_stopped_waiting_was_given_nothing(memory: Path) -> None:
    import json

    from tests.bridge.hook_service.hook_line import to_event
    from tests.bridge.running import dial

    with bridge(memory) as places:
        line = dial(places)
        line.sendall(
            json.dumps({"hermes-memory": 1, "command": "hook", "arguments": to_event("start")}).encode() + b"\n"
        )
        line.close()
        with Store.open(memory) as store:
            until(lambda: store.host_sessions.find("claude-code", "s1"), "the event")
            known = store.host_sessions.find("claude-code", "s1")
        assert known is not None
        assert "C[db.id]" in send_event(places, "prompt", text="hello", turn="1")


def test_the_mcp_connection_of_the_same_host_process_is_the_same_session(memory: Path) -> None:
    with bridge(memory) as places, Shim(memory, "--theme", "default") as shim:
        send_event(places, "start", source="startup", pids=[os.getpid()])
        settle(places)
        shim.open("claude-code")
        send_event(places, "prompt", text="hello", turn="1", pids=[os.getpid()])
        settle(places)
        shim.call("memory_write", content="D[joined]: written by the tool")
        with Store.open(memory) as store:
            known = store.host_sessions.find("claude-code", "s1")
            assert known is not None
            fact = next(one for one in store.context.ranked_facts("default") if one.target == "joined")
            assert fact.actor.name == known.session
            assert len(store.sessions.list("default")) == 1
        assert "D[joined]" in send_event(places, "start", source="compact", pids=[os.getpid()])


def test_a_first_call_before_the_next_hook_belongs_to_the_session_of_the_hooks(memory: Path) -> None:
    with bridge(memory) as places, Shim(memory, "--theme", "default") as shim:
        send_event(places, "start", source="startup", pids=[os.getpid()])
        settle(places)
        shim.open("claude-code")
        shim.call("memory_write", content="D[joined]: written by the tool")
        with Store.open(memory) as store:
            known = store.host_sessions.find("claude-code", "s1")
            assert known is not None
            fact = next(one for one in store.context.ranked_facts("default") if one.target == "joined")
            assert fact.actor.name == known.session
            assert len(store.sessions.list("default")) == 1


def test_two_sessions_of_one_process_are_not_joined(memory: Path) -> None:
    with bridge(memory) as places, Shim(memory, "--theme", "default") as shim:
        for session in ("s1", "s2"):
            send_event(places, "start", source="startup", session=session, pids=[os.getpid()])
            settle(places, session=session)
        shim.open(
            "claude-code"
        )  # the only session of a process would be joined with a connection that is known by then
        send_event(places, "prompt", text="hello", session="s1", pids=[os.getpid()])
        settle(places)
        shim.call("memory_write", content="D[joined]: written by the tool")
        with Store.open(memory) as store:
            names = {one.session for one in store.host_sessions.list()}
            fact = next(one for one in store.context.ranked_facts("default") if one.target == "joined")
        assert len(names) == 2
        assert fact.actor.name not in names
