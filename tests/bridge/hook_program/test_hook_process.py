"""The hook program beside a bridge that answers, refuses, hangs, or is none."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.hook_program.hook_event import HOOK_EVENTS
from hermes_memory_bridge.hook_program.host_dialects import format_host_answer
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import StoreError
from hermes_memory_store.hosts import waiting_records
from hermes_memory_store.hosts.capture_settings import (
    allow_capture,
    open_capture_switch,
    pause_capture,
    resume_capture,
)
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.store import Store
from tests.bridge.hook_program.conftest import RUN, Hook, HookRun, LineBridge
from tests.bridge.running import until

Listen = Callable[..., LineBridge]

START = {"session_id": "s-1", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup"}
PROMPT = {
    "session_id": "s-1",
    "cwd": "/w",
    "hook_event_name": "UserPromptSubmit",
    "prompt_id": "t-1",
    "prompt": "the port",
}

BUSY_S = 20.0
"""How long a process may take on a busy machine; how long the program itself takes is told by its own output."""


def records(store: Path) -> list[dict[str, Any]]:
    return [waiting_records.read_record(path) or {} for path in waiting_records.list_waiting(store)]


def has_heard_end(store: Path) -> bool:
    try:
        with Store.open(store, read_only=True) as reading:
            return any(session.heard_event == "end" for session in reading.host_sessions.list())
    except StoreError:
        return False  # there is none yet


def is_silent(run: HookRun, said: str = "") -> bool:
    return (run.code, run.said, run.errors) == (0, said, "")


def test_an_event_reaches_the_bridge_and_its_answer_the_host(hook: Hook, line_bridge: Listen) -> None:
    bridge = line_bridge({"hermes-memory": 1, "text": "Memory\n| C[port]: 5432", "tokens": 9})
    run = hook("claude-code", "start", START)
    given = {"hookEventName": "SessionStart", "additionalContext": "Memory\n| C[port]: 5432"}
    assert json.loads(run.said) == {"hookSpecificOutput": given}
    assert (run.code, run.errors) == (0, "")
    [line] = bridge.lines
    assert (line["hermes-memory"], line["command"]) == (1, "hook")
    event = line["arguments"]
    assert (event["host"], event["event"], event["session"], event["source"]) == (
        "claude-code",
        "start",
        "s-1",
        "startup",
    )
    assert os.getpid() in event["pids"]
    assert event["capture"] is False


def test_the_person_sees_what_was_given_unless_he_said_no(hook: Hook, line_bridge: Listen, store: Path) -> None:
    line_bridge({"hermes-memory": 1, "text": "T", "notice": "memory: 1 fact (db.id)"})
    assert json.loads(hook("codex", "start", START).said)["systemMessage"] == "memory: 1 fact (db.id)"
    with open_capture_switch(store) as switch:
        switch.notices = False
    assert "systemMessage" not in json.loads(hook("codex", "start", START).said)


def test_vs_code_which_reads_the_hooks_of_claude_code_is_left_to_its_own(
    hook: Hook, line_bridge: Listen, store: Path
) -> None:
    allow_capture(store, "claude-code", True)
    bridge = line_bridge({"hermes-memory": 1, "text": "Memory", "tokens": 1})
    run = hook("claude-code", "start", {"hookEventName": "SessionStart", "sessionId": "s", "cwd": "/"})
    assert is_silent(run, format_host_answer("vscode", "start", ""))
    assert bridge.lines == []
    assert records(store) == []


def test_an_event_that_the_bridge_took_does_not_wait(hook: Hook, line_bridge: Listen, store: Path) -> None:
    allow_capture(store, "claude-code", True)
    bridge = line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    hook("claude-code", "end", START)
    assert bridge.lines[0]["arguments"]["capture"] is True
    assert records(store) == []


@pytest.mark.parametrize("host", find_hosts_with("answers"))
def test_each_host_gets_a_valid_empty_answer(hook: Hook, line_bridge: Listen, host: str) -> None:
    line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    assert is_silent(hook(host, "start", {"session_id": "s"}), format_host_answer(host, "start", ""))


@pytest.mark.parametrize(
    "payload",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"session_id": "s", "prompt": "half', b"[" * 100_000, b'{"a": ' * 3_000],
    ids=["empty", "brace", "list", "null", "bytes", "half", "deep list", "deep object"],
)
@pytest.mark.parametrize("event", ["start", "turn"])
def test_any_input_ends_well(hook: Hook, line_bridge: Listen, event: str, payload: bytes) -> None:
    line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    assert is_silent(hook("codex", event, payload))


def test_fifty_megabytes_end_well(hook: Hook, line_bridge: Listen) -> None:
    bridge = line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    assert is_silent(
        hook("codex", "turn", b'{"session_id": "s", "last_assistant_message": "' + b"x" * 50_000_000 + b'"}')
    )
    assert bridge.heard.wait(BUSY_S)
    assert bridge.lines[0]["arguments"]["session"] == "s"


@pytest.mark.parametrize(
    ("host", "event"), [("", ""), ("claude-code", ""), ("netscape", "start"), ("codex", "sneeze"), ("--db", "start")]
)
def test_an_unknown_host_or_event_is_met_with_silence(hook: Hook, host: str, event: str, store: Path) -> None:
    assert is_silent(hook(host, event, START))
    assert not store.parent.joinpath("memory.db.waiting").exists()


def test_a_terminal_as_input_is_not_read(store: Path, line_bridge: Listen) -> None:
    line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    main, terminal = pty.openpty()
    try:
        command = [sys.executable, "-c", RUN, "codex", "start", "--db", str(store)]
        done = subprocess.run(command, stdin=terminal, capture_output=True, timeout=BUSY_S, check=False)
    finally:
        os.close(main)
        os.close(terminal)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_descriptor_ends_well(store: Path, line_bridge: Listen, closed: int) -> None:
    line_bridge({"hermes-memory": 1, "text": "T", "tokens": 0})
    command = f'exec "$0" -c "$1" codex start --db "$2" {closed}{"<" if closed == 0 else ">"}&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, RUN, str(store)], input=b"{}", timeout=BUSY_S, check=False
    )
    assert done.returncode == 0


def test_steps_are_told_when_asked_for(hook: Hook, line_bridge: Listen) -> None:
    line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    run = hook("codex", "start", START, HERMES_MEMORY_HOOK_DEBUG="1")
    assert run.code == 0
    assert all(line.startswith("hermes-memory-hook: ") and " ms: " in line for line in run.errors.splitlines())
    assert "answered" in run.errors


def test_the_theme_is_that_of_the_option_then_of_the_environment(hook: Hook, line_bridge: Listen) -> None:
    bridge = line_bridge({"hermes-memory": 1, "text": "", "tokens": 0})
    hook("codex", "start", START, "--theme", "ops", HERMES_MEMORY_THEME="other")
    hook("codex", "start", START, HERMES_MEMORY_THEME="other")
    hook("codex", "start", START)
    assert [line["arguments"]["theme"] for line in bridge.lines] == ["ops", "other", ""]


@pytest.mark.parametrize(
    "answer", [b"no json\n", b"[]\n", b"", b'{"hermes-memory": 1, "error": {"code": "x"}}\n', b'{"text": 7}\n']
)
def test_an_answer_of_another_shape_gives_nothing(hook: Hook, line_bridge: Listen, answer: bytes) -> None:
    line_bridge(answer)
    assert is_silent(hook("codex", "start", START))


@pytest.mark.parametrize("event", [event for event in HOOK_EVENTS if event not in ("tool", "guard")])
def test_a_bridge_that_hangs_holds_nobody_up(hook: Hook, line_bridge: Listen, store: Path, event: str) -> None:
    allow_capture(store, "codex", True)
    bridge = line_bridge(None)
    run = hook("codex", event, START | {"prompt": "p", "last_assistant_message": "r"})
    assert is_silent(run)
    assert run.seconds < BUSY_S
    [record] = until(lambda: records(store), "the record")
    assert record["event"] == event
    if event != "prompt":  # on a busy machine a prompt's time may be over before its line is sent
        assert bridge.heard.wait(BUSY_S)
        assert record == bridge.lines[0]["arguments"]  # sent although its answer never came


TOOL = START | {
    "hook_event_name": "PostToolUse",
    "tool_name": "WebFetch",
    "tool_input": {"url": "https://example.org/a", "prompt": "what is it"},
    "tool_response": {"code": 200, "result": "all about the port", "parts": [{"text": "and a harbour"}]},
}


def test_what_a_tool_returned_is_sent_where_that_is_allowed_and_never_waited_for_or_kept(
    hook: Hook, line_bridge: Listen, store: Path
) -> None:
    assert is_silent(hook("codex", "tool", TOOL)), "no bridge is started for it"
    assert not Path(BridgePaths.of(store).starting).exists()
    bridge = line_bridge(None)
    allow_capture(store, "codex", True)
    assert is_silent(hook("codex", "tool", TOOL))
    allow_capture(store, "codex", True, of_tools=True)
    pause_capture(store)
    assert is_silent(hook("codex", "tool", TOOL))
    assert bridge.lines == []
    resume_capture(store)
    assert is_silent(hook("codex", "tool", TOOL))
    assert bridge.heard.wait(BUSY_S)
    event = bridge.lines[0]["arguments"]
    assert (event["tool"], event["page"], event["call"]) == (
        "WebFetch",
        "https://example.org/a",
        "https://example.org/a\nwhat is it",
    )
    assert event["text"] == "all about the port\nand a harbour"
    assert records(store) == []


def test_what_may_not_be_kept_never_reaches_the_disk(hook: Hook, store: Path) -> None:
    hook("codex", "prompt", PROMPT)
    hook("codex", "end", PROMPT | {"reason": "other"})
    allow_capture(store, "codex", True)
    pause_capture(store)
    hook("codex", "prompt", PROMPT)
    hook("codex", "turn", PROMPT | {"last_assistant_message": "the port"})
    # A bridge that the first of them started may have taken the record up.
    until(lambda: records(store) or has_heard_end(store), "the record")
    assert {record["event"] for record in records(store)} <= {"end"}
    held = [file for file in store.parent.rglob("*") if file.is_file() and b"the port" in file.read_bytes()]
    assert held == []


def test_a_full_socket_holds_nobody_up(hook: Hook, store: Path) -> None:
    allow_capture(store, "codex", True)
    paths = BridgePaths.of(store)
    paths.make_folder()
    waiting: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(paths.line)
        listener.listen(0)
        try:
            while True:
                one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                waiting.append(one)
                one.setblocking(False)
                one.connect(paths.line)
        except BlockingIOError:
            run = hook("codex", "turn", PROMPT | {"last_assistant_message": "r"})
        finally:
            for one in waiting:
                one.close()
    assert is_silent(run)
    assert [record["text"] for record in until(lambda: records(store), "the record")] == ["r"]


def test_a_line_larger_than_the_socket_takes_waits(hook: Hook, line_bridge: Listen, store: Path) -> None:
    allow_capture(store, "codex", True)
    paths = BridgePaths.of(store)
    paths.make_folder()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:  # accepts by its backlog, and never reads
        listener.bind(paths.line)
        listener.listen(8)
        run = hook("codex", "turn", {"session_id": "s", "last_assistant_message": "é" * 150_000})
    assert is_silent(run)
    assert [len(record["text"]) for record in until(lambda: records(store), "the record")] == [150_000]


def test_a_socket_in_a_folder_of_others_is_sent_nothing(hook: Hook, line_bridge: Listen, store: Path) -> None:
    bridge = line_bridge({"hermes-memory": 1, "text": "T", "tokens": 1})
    os.chmod(BridgePaths.of(store).folder, 0o777)
    assert is_silent(hook("codex", "start", START))
    assert bridge.lines == []


def test_without_a_bridge_one_is_started_and_not_waited_for(hook: Hook, store: Path) -> None:
    run = hook("codex", "start", START)
    assert is_silent(run)
    assert [record["event"] for record in records(store)] == ["start"]
    until(store.exists, "the store that the bridge makes")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written_to_ends_well(hook: Hook, store: Path) -> None:
    os.chmod(store.parent, 0o500)
    try:
        assert is_silent(hook("codex", "start", START))
    finally:
        os.chmod(store.parent, 0o700)


@pytest.mark.parametrize("place", ["/proc/none/memory.db", "/dev/null/memory.db"])
def test_a_place_where_nothing_can_be_written_ends_well(hook: Hook, place: str) -> None:
    assert is_silent(hook("codex", "start", START, "--db", place))


def test_no_home_ends_well(hook: Hook) -> None:
    assert is_silent(hook("codex", "start", START, HOME="/nonexistent", HERMES_HOME=""))


def test_a_stopped_bridge_is_told_once_it_goes_on(hook: Hook, store: Path, tmp_path: Path) -> None:
    """A real process that is stopped accepts connections by its backlog and says nothing."""
    paths = BridgePaths.of(store)
    paths.make_folder()
    told = tmp_path / "told"
    listen = (
        "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen(8)\nprint('up', flush=True)\n"
        "c = s.accept()[0]\nopen(sys.argv[2], 'wb').write(c.makefile('rb').readline())"
    )
    process = subprocess.Popen([sys.executable, "-c", listen, paths.line, str(told)], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGSTOP)
        assert is_silent(hook("codex", "start", START))
        process.send_signal(signal.SIGCONT)
        process.wait(BUSY_S)
    assert json.loads(told.read_bytes())["arguments"]["session"] == "s-1"


def test_two_hooks_at_once_leave_two_records(store: Path, hook: Hook) -> None:
    allow_capture(store, "codex", True)
    BridgePaths.of(store).make_folder()
    os.close(os.open(BridgePaths.of(store).starting, os.O_CREAT | os.O_RDWR, 0o600))
    command = [sys.executable, "-c", RUN, "codex", "turn", "--db", str(store)]
    environ = os.environ | {"HERMES_MEMORY_LINGER": "0.1", "HOME": str(store.parent), "HERMES_HOME": str(store.parent)}
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)
        for _ in range(2)
    ]
    for process in both:
        process.communicate(json.dumps(PROMPT | {"last_assistant_message": "r"}).encode(), BUSY_S)
    assert [process.returncode for process in both] == [0, 0]
    found = until(lambda: len(records(store)) == 2 and records(store), "both records")
    assert {record["turn"] for record in found} == {"t-1"}


def test_an_input_that_never_ends_is_not_waited_for(store: Path) -> None:
    command = [sys.executable, "-c", RUN, "gemini", "prompt", "--db", str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"session_id": "s", "prompt": "half')
        process.stdin.flush()
        assert process.stdout.read() == b"{}"
        assert process.wait(BUSY_S) == 0


def test_a_program_that_hangs_leaves_the_record_behind(hook: Hook, store: Path) -> None:
    """What starts the bridge waits for a reader of the log, for ever: the hook ends all the same."""
    paths = BridgePaths.of(store)
    paths.make_folder()
    os.mkfifo(paths.log)
    try:
        assert is_silent(hook("codex", "start", START))
        assert [record["session"] for record in until(lambda: records(store), "the record")] == ["s-1"]
    finally:
        reader = os.open(paths.log, os.O_RDONLY | os.O_NONBLOCK)  # the bridge starts now, and the fixture ends it
        until(store.exists, "the store that the bridge makes")
        os.close(reader)
        os.unlink(paths.log)


PUSH = {"session_id": "s-1", "cwd": "/w", "tool_name": "Bash", "tool_input": {"command": "cd x && git push"}}


@pytest.fixture
def guarded(store: Path) -> str:
    with Store.open(store) as opened:
        uid = opened.facts.write("default", "C[release]: the changelog comes first").fact.uid
        opened.guards.add(uid, "git push*")
    return uid


def test_a_guard_asks_without_a_bridge_and_with_one_that_hangs(
    hook: Hook, line_bridge: Listen, store: Path, guarded: str
) -> None:
    expected = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "memory guard (git push*): C[release]: the changelog comes first",
    }
    assert json.loads(hook("claude-code", "guard", PUSH).said) == {"hookSpecificOutput": expected}
    bridge = line_bridge(None)
    assert json.loads(hook("claude-code", "guard", PUSH).said) == {"hookSpecificOutput": expected}
    assert bridge.heard.wait(BUSY_S)
    [line] = bridge.lines
    assert line["arguments"]["given"] == {"uids": [guarded], "tokens": 0, "kind": "guard"}
    assert records(store) == []


@pytest.mark.parametrize(
    "payload",
    [
        PUSH | {"tool_input": {"command": "git pull"}},
        PUSH | {"tool_input": {"command": "echo 'git push'"}},
        PUSH | {"tool_name": "Read", "tool_input": {"file_path": "git push"}},
        PUSH | {"tool_input": {"command": 7}},
        {},
    ],
    ids=["other", "quoted", "read", "number", "nothing"],
)
def test_what_no_guard_is_about_goes_on_unheard(
    hook: Hook, line_bridge: Listen, guarded: str, payload: dict[str, Any]
) -> None:
    bridge = line_bridge(None)
    assert is_silent(hook("claude-code", "guard", payload))
    assert bridge.lines == []


@pytest.mark.parametrize(
    ("host", "tool", "decision"),
    [
        ("codex", "Bash", "deny"),
        ("gemini", "run_shell_command", "deny"),
        ("copilot", "bash", "ask"),
        ("qwen", "run_shell_command", "ask"),
        ("opencode", "bash", "text"),
    ],
)
def test_a_host_that_cannot_ask_refuses_and_says_how_to_go_on(
    hook: Hook, guarded: str, host: str, tool: str, decision: str
) -> None:
    said = hook(host, "guard", PUSH | {"tool_name": tool, "folder": "/w"}).said
    assert "C[release]: the changelog comes first" in said
    assert f'"{decision}"' in said
    assert (f"guard remove {guarded}" in said) is (decision != "ask")


def test_a_guard_holds_where_its_store_cannot_be_read(hook: Hook, store: Path, guarded: str) -> None:
    store.write_bytes(b"no store")
    assert "its fact cannot be read now" in hook("claude-code", "guard", PUSH).said
