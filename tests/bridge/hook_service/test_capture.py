"""Capture of what hooks bring: where it is allowed, each message once, without our own words."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.daemon.control import ask_bridge
from hermes_memory_bridge.hook_service.transcripts.transcript_file import TranscriptPiece, read_transcript
from hermes_memory_bridge.hook_service.turn_capture import split_message, to_spoken_text
from hermes_memory_bridge.runtime.connection_registry import purge_expired_data
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.model import Turn, Way
from hermes_memory_store.store import Store
from tests.bridge.bridge_forks import fork_bridge
from tests.bridge.hook_service.hook_line import allow_capture, send_event, to_event
from tests.bridge.running import bridge, environment, until


def captured(db: Path) -> list[Turn]:
    with Store.open(db, read_only=True) as store:
        return store.turns.list("default")[::-1]


def said(db: Path) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in captured(db)]


def wait_for(db: Path, *wanted: tuple[str, str]) -> None:
    until(lambda: said(db) == list(wanted), f"{wanted}, not {said(db)}")


@pytest.fixture
def allowed(db: Path) -> Path:
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
    allow_capture(db, "claude-code", "codex", "gemini", "copilot", "qwen")
    return db


def tell(places: BridgePaths, event: str, text: str, **more: Any) -> str:
    return send_event(places, event, text=text, capture=True, **more)


def test_a_prompt_and_its_answer_are_captured_once_each(allowed: Path) -> None:
    with bridge(allowed) as places:
        tell(places, "prompt", "Which database do we use here?", turn="p1")
        tell(places, "turn", "We use SQLite, with UUIDs.", turn="p1")
        tell(places, "turn", "We use SQLite, with UUIDs.", turn="p1")
        wait_for(allowed, ("user", "Which database do we use here?"), ("assistant", "We use SQLite, with UUIDs."))
        user, answer = captured(allowed)
    assert user.origin.way is Way.HOOK
    assert user.origin.client == "claude-code"
    assert user.session == answer.session


def test_nothing_is_captured_where_it_was_not_allowed(db: Path) -> None:
    with Store.open(db) as store:
        store.facts.write("default", "C[db.id]: UUID always")
    with bridge(db) as places:
        tell(places, "prompt", "the secret of the unallowed")
        tell(places, "turn", "the answer of the unallowed")
        tell(places, "compacted", "the summary of the unallowed")
        allow_capture(db, "claude-code")
        send_event(places, "prompt", session="s2", text="the hook of the unallowed", capture=False)
        send_event(places, "end")
    assert said(db) == []
    beside = [path for path in db.parent.rglob("*") if path.is_file() and b"unallowed" in path.read_bytes()]
    assert beside == []


def test_a_prompt_counts_a_turn_of_the_session_even_where_nothing_is_kept(db: Path) -> None:
    with bridge(db) as places:
        send_event(places, "prompt", text="first of all", turn="1")
        send_event(places, "prompt", text="and then", turn="2")
        send_event(places, "prompt", text="and then", turn="2")
        send_event(places, "turn", text="fine")
    with Store.open(db, read_only=True) as store:
        assert [session.turn for session in store.sessions.list("default")] == [2]


def test_the_same_words_said_twice_are_two_messages(allowed: Path) -> None:
    now = round(time.time() * 1000)
    with bridge(allowed) as places:
        tell(places, "prompt", "try that again please, with logs", at=now - 60_000)
        tell(places, "prompt", "try that again please, with logs", at=now)
        wait_for(allowed, *[("user", "try that again please, with logs")] * 2)


def test_a_hook_called_twice_at_once_is_captured_once(allowed: Path) -> None:
    at = round(time.time() * 1000)
    with bridge(allowed) as places:
        texts: list[str] = []
        calls = [
            threading.Thread(target=lambda: texts.append(tell(places, "prompt", "a question about db.id", at=at)))
            for _ in range(4)
        ]
        for call in calls:
            call.start()
        for call in calls:
            call.join()
        tell(places, "turn", "the only answer", at=at + 1)
        wait_for(allowed, ("user", "a question about db.id"), ("assistant", "the only answer"))
    assert sum("C[db.id]" in text for text in texts) == 1


@pytest.mark.parametrize(
    "wrapped",
    [
        "<hook_context>{}</hook_context>\n\nWhat about the cache?",
        "What about the cache?\n\n<system_reminder>\n{}\n</system_reminder>",
        "<system-reminder>\nUserPromptSubmit hook additional context: {}\n</system-reminder>\nWhat about the cache?",
        "{}\r\nWhat about the cache?",
        "What about the cache?\n\n{}",
    ],
)
def test_our_own_words_are_taken_out_however_a_host_wraps_them(allowed: Path, wrapped: str) -> None:
    with bridge(allowed) as places:
        ours = send_event(places, "start", source="startup")
        assert "C[db.id]" in ours
        tell(places, "prompt", wrapped.format(ours))
        tell(places, "turn", ours)
        wait_for(allowed, ("user", "What about the cache?"))


def test_a_summary_of_the_host_is_kept_without_lines_that_its_session_was_given(allowed: Path) -> None:
    with bridge(allowed) as places:
        assert "C[db.id]: UUID always" in send_event(places, "start", source="startup")
        assert send_event(places, "compacting", trigger="auto") == ""
        tell(places, "compacted", "We spoke of orders.\n- C[db.id]: UUID always\n| C[db.id]: UUID always\nNext: tests.")
        wait_for(allowed, ("system", "We spoke of orders.\nNext: tests."))


def test_secrets_are_masked(allowed: Path) -> None:
    token = "ghp_" + "Ab3" * 12
    with bridge(allowed) as places:
        tell(places, "turn", f"the token is {token}, keep it")
    assert token not in said(allowed)[0][1]


def test_records_that_waited_come_in_with_their_time_and_are_erased(allowed: Path) -> None:
    now = round(time.time() * 1000)
    for number, (event, text) in enumerate(
        [("prompt", "asked without a bridge"), ("turn", "answered without a bridge")]
    ):
        record = to_event(event, text=text, capture=True, at=now - DAY_MS + number, turn="w1")
        waiting_records.append(str(allowed), record)
        waiting_records.append(str(allowed), record)
    given = to_event("start", source="startup", at=now - DAY_MS - 5, given={"uids": [], "tokens": 0, "kind": "start"})
    with Store.open(allowed) as store:
        given["given"]["uids"] = [fact.uid for fact in store.context.ranked_facts("default")]
    waiting_records.append(str(allowed), given)
    waiting_records.append(str(allowed), {"host": "nonsense"})
    with bridge(allowed):
        until(lambda: not waiting_records.list_waiting(str(allowed)), "the records")
    assert [(turn.content, turn.at) for turn in captured(allowed)] == [
        ("asked without a bridge", now - DAY_MS), ("answered without a bridge", now - DAY_MS + 1),
    ]  # fmt: skip
    with Store.open(allowed) as store:
        assert [(one.kind, len(one.facts)) for one in store.context_records.list()] == [("start", 1)]


def claude_line(role: str, text: str, at_s: float, **more: Any) -> str:
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at_s)) + f".{round(at_s * 1000) % 1000:03d}Z"
    return json.dumps({"type": role, "message": {"role": role, "content": text}, "timestamp": stamp, **more}) + "\n"


def test_a_transcript_fills_in_what_hooks_missed_and_nothing_from_before(allowed: Path, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    now = time.time()
    path.write_text(claude_line("user", "said before anybody allowed it", now - 100))
    with bridge(allowed) as places:
        tell(places, "prompt", "first question, heard", transcript=str(path), at=round(now * 1000))
        with path.open("a") as file:
            file.write(claude_line("user", "first question, heard", now + 0.1))
            file.write(claude_line("assistant", "looking at the files", now + 0.2))
            file.write(
                json.dumps({"type": "user", "message": {"content": [{"type": "tool_result", "content": "out"}]}}) + "\n"
            )
            file.write(claude_line("assistant", "a subagent speaks", now + 0.3, isSidechain=True))
            file.write(claude_line("assistant", "first answer", now + 0.4))
            file.write(claude_line("user", "second question, missed", now + 0.5))
            file.write(claude_line("assistant", "half a li", now + 0.6).rstrip("\n")[:40])
        tell(places, "turn", "first answer", transcript=str(path), at=round(now * 1000) + 450)
        wanted = [
            ("user", "first question, heard"), ("assistant", "looking at the files"), ("assistant", "first answer"),
            ("user", "second question, missed"),
        ]  # fmt: skip
        until(lambda: sorted(said(allowed)) == sorted(wanted), f"{wanted}, not {said(allowed)}")


def test_what_was_said_during_a_pause_is_never_read_from_the_transcript(allowed: Path, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("")
    now = time.time()
    more = {"transcript": str(path)}
    with bridge(allowed) as places:
        tell(places, "prompt", "first", at=round(now * 1000), **more)
        send_event(places, "prompt", text="paused words", capture=False, at=round(now * 1000) + 10, **more)
        path.write_text(
            claude_line("user", "paused words", now + 0.01) + claude_line("assistant", "paused too", now + 0.02)
        )
        tell(places, "turn", "paused too, and heard late", at=round(now * 1000) + 30, **more)
        tell(places, "prompt", "second", at=round(now * 1000) + 40, **more)
        with path.open("a") as file:
            file.write(claude_line("assistant", "read", now + 0.05))
        tell(places, "end", "", at=round(now * 1000) + 60, **more)
        until(lambda: ("assistant", "read") in said(allowed), "the fill")
    assert not any("paused words" in text or text == "paused too" for _, text in said(allowed))


def test_links_and_devices_are_no_transcripts(allowed: Path, tmp_path: Path) -> None:
    real = tmp_path / "real.jsonl"
    now = time.time()
    real.write_text("")
    link = tmp_path / "link.jsonl"
    link.symlink_to(real)
    with bridge(allowed) as places:
        for number, path in enumerate((link, Path("/dev/zero"), tmp_path)):
            tell(places, "prompt", f"q {number}", session=f"x{number}", transcript=str(path), at=round(now * 1000))
            real.write_text(claude_line("assistant", "through a link", now + 1))
            tell(places, "turn", f"a {number}", session=f"x{number}", transcript=str(path), at=round(now * 1000) + 10)
        tell(places, "end", "")
    assert not any("through a link" in text for _, text in said(allowed))


def test_a_message_of_more_than_a_megabyte_is_read_whole_and_half_a_line_is_waited_for(tmp_path: Path) -> None:
    path, now = tmp_path / "session.jsonl", round(time.time() * 1000)
    text = "all of this was said; " * 60_000 + "the end\0 and what follows"
    line = claude_line("user", text, now / 1000 - 1).encode()
    path.write_bytes(line[:-20])
    assert read_transcript(str(path), "claude-code", 0, now) == TranscriptPiece((), 0, True)
    path.write_bytes(line + claude_line("assistant", "read", now / 1000 - 1).encode())
    first = read_transcript(str(path), "claude-code", 0, now)
    assert [message.text for message in first.messages] == [text]
    assert "".join(split_message(to_spoken_text(text))) == text.replace("\0", "")
    second = read_transcript(str(path), "claude-code", first.offset, now)
    assert [message.text for message in second.messages] == ["read"]
    assert second.is_last


@pytest.mark.parametrize("field", ["session", "turn", "text", "transcript", "trigger", "reason", "version", "folder"])
def test_half_a_character_in_any_field_loses_no_message(field: str, allowed: Path) -> None:
    """JSON can spell it, and a path that is no UTF-8 is spelled so."""
    odd = {field: f"{allowed.parent}/caf\udce9" if field in ("folder", "transcript") else "half \udc88 of it"}
    with bridge(allowed) as places:
        for event, text in (("start", ""), ("prompt", "which port?"), ("turn", "8443 it is"), ("end", "")):
            send_event(places, event, **({"text": text, "turn": "t1", "capture": True} | odd))
        log = Path(places.log).read_text()
    with Store.open(allowed, read_only=True) as store:
        turns = [turn.content for theme in store.names.all_themes() for turn in store.turns.list(theme)]
    assert sorted(turns) == (["half \\udc88 of it"] * 2 if field == "text" else ["8443 it is", "which port?"])
    assert "surrogates" not in log


@pytest.mark.parametrize(("policy", "left"), [("", 1), ("hook_turn_days = 0\n", 2), ("turn_days = 200\n", 2)])
def test_messages_of_hooks_leave_after_ninety_days_unless_the_theme_says_otherwise(
    db: Path, policy: str, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(db.parent))
    (db.parent / "memory-themes.toml").write_text(f"[defaults]\n{policy}")
    allow_capture(db, "claude-code")
    with bridge(db) as places:
        send_event(places, "turn", text="an answer of today", capture=True)
    with Store.open(db) as store:
        store.turns.add("default", "user", "captured by a tool, long ago", at=store.clock() - 100 * DAY_MS)
        assert store.turns.count("default") == 2
    later = round(time.time() * 1000) + 91 * DAY_MS
    with Store.open(db, clock=lambda: later) as store:  # type: ignore[arg-type, return-value]
        purge_expired_data(store)
        assert store.turns.count("default") == left


def test_a_purge_of_messages_leaves_no_digest_and_nothing_comes_back(db: Path) -> None:
    allow_capture(db, "claude-code")
    at = round(time.time() * 1000)
    with bridge(db) as places:
        send_event(places, "turn", text="an answer to be erased", capture=True, turn="t1", at=at)
        with Store.open(db) as store:
            assert store.turns.purge("default") == 1
            assert store.db.value("SELECT count(*) FROM host_turns WHERE digest IS NOT NULL") == 0
        send_event(places, "turn", text="an answer to be erased", capture=True, turn="t1", at=at)
        with Store.open(db) as store:
            assert store.turns.count("default") == 0


pytestmark = pytest.mark.crash


@pytest.mark.parametrize("rounds", [12])
def test_every_acknowledged_message_is_kept_once_though_the_bridge_is_killed(db: Path, rounds: int) -> None:
    allow_capture(db, "claude-code")
    places = BridgePaths.of(db)
    acknowledged: list[str] = []
    for number in range(rounds):
        process = fork_bridge(["serve", "--db", str(db)], environment(db.parent), None)
        until(lambda: ask_bridge(places, "status"), "the bridge")
        for message in range(4):
            text = f"round {number} message {message}"
            event = "turn" if message % 2 else "prompt"
            send_event(places, event, text=text, turn=text, capture=True)
            acknowledged.append(text)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
    with bridge(db):
        until(lambda: not waiting_records.list_waiting(str(db)), "what waited")
    with Store.open(db) as store:
        kept = [turn.content for turn in store.turns.list("default", limit=1000)]
    assert sorted(kept) == sorted(acknowledged)
