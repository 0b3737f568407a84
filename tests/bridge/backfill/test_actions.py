"""What agents ran, read and edited comes from the sessions on the disk, each action once, and only after a yes of its own."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.backfill.catch_up import bring_piece, read_unheard
from hermes_memory_bridge.backfill.disk_sessions import find_disk_sessions
from hermes_memory_bridge.backfill.history import History, Wanted
from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.runtime.connection_registry import purge_expired_data
from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.diagnostics.doctor import examine_store
from hermes_memory_store.errors import StoreError
from hermes_memory_store.hosts.capture_settings import keep_history, open_capture_switch, switch_capture
from hermes_memory_store.hosts.capture_switch import to_capture_path
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.hosts.host_sessions import HostTurns
from hermes_memory_store.items.action_rows import MOST_ERROR_BYTES, Action, keep_actions, list_actions
from hermes_memory_store.store import Store
from hermes_memory_store.upkeep.backup import create_backup
from hermes_memory_themes import Policies
from tests.bridge.backfill.test_backfill import (
    AT,
    ID,
    age,
    bring,
    claude_lines,
    folder,
    plan_for,
    store,
    write_lines,
    write_opencode,
)
from tests.bridge.running import until
from tests.store.conftest import HandClock

__all__ = ["folder", "store"]

MISSING = "ls: cannot access '/nowhere': No such file or directory"

COMMAND = "ls /nowhere; exit 3"


def allow_actions(db: Path, answer: bool = True) -> None:
    with open_capture_switch(db) as switch:
        switch.actions = answer


def done(store: Store) -> list[Action]:
    """Return all actions, oldest first."""
    sessions = store.sessions.list()
    return sorted(
        (one for session in sessions for one in list_actions(store.db, session)[::-1]), key=lambda one: one.at
    )


def shown(store: Store) -> list[tuple[Any, ...]]:
    return [(one.kind, one.what, one.exit_code, one.error) for one in done(store)]


def claude_call(number: int, tool: str, result: str, failed: bool = False, **given: str) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}
    answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result}
    answer |= {"is_error": True} if failed else {}
    shared = {"sessionId": ID.format(1), "timestamp": AT.format(number)}
    return [
        {"type": "assistant", "message": {"role": "assistant", "id": f"c{number}", "content": [call]}, **shared},
        {"type": "user", "message": {"role": "user", "content": [answer]}, **shared},
    ]


def write_claude_calls(home: Path, folder: str, *calls: list[dict[str, Any]], name: str = ID.format(1)) -> Path:
    lines = claude_lines(folder, "do a few things in the shop", "it was all done there", name=name)
    lines += [line | {"cwd": folder, "sessionId": name} for call in calls for line in call]
    return write_lines(home / ".claude" / "projects" / "-src" / f"{name}.jsonl", lines)


def write_claude(home: Path, folder: str) -> None:
    unsure = claude_call(14, "Bash", "", command="grep nothing app.py")
    unsure[1]["toolUseResult"] = {"stdout": "", "returnCodeInterpretation": "No matches found"}
    aside = [line | {"isSidechain": True} for line in claude_call(15, "Bash", "", command="a subagent's")]
    write_claude_calls(
        home,
        folder,
        claude_call(10, "Bash", f"Exit code 3\n{MISSING}", failed=True, command=COMMAND),
        claude_call(11, "Read", "1\tone", file_path=f"{folder}/app.py"),
        claude_call(12, "Edit", "updated", file_path=f"{folder}/app.py", old_string="one", new_string="two"),
        claude_call(13, "Bash", "two", command="cat app.py"),
        unsure,
        aside,
        claude_call(16, "WebFetch", "a page", url="https://example.com"),
        claude_call(
            17, "Write", "<tool_use_error>File has not been read</tool_use_error>", failed=True, file_path="/etc/x"
        ),
    )


CLAUDE = [
    ("run", COMMAND, 3, f"Exit code 3\n{MISSING}"),
    ("read", "app.py", None, None),
    ("edit", "app.py", None, None),
    ("run", "cat app.py", 0, None),
    ("run", "grep nothing app.py", None, None),
    ("edit", "/etc/x", None, "<tool_use_error>File has not been read</tool_use_error>"),
]


def write_codex(home: Path, folder: str) -> None:
    def item(number: int, **members: Any) -> dict[str, Any]:
        payload = {"type": "item_completed", "item": members}
        return {"type": "event_msg", "timestamp": AT.format(number), "payload": payload}

    def response(number: int, **members: Any) -> dict[str, Any]:
        return {"type": "response_item", "timestamp": AT.format(number), "payload": members}

    patch = "*** Begin Patch\n*** Update File: app.py\n@@\n-one\n+two\n*** Add File: new/b.py\n+x\n*** End Patch\n"
    run = ["/bin/bash", "-lc", COMMAND]
    shell = json.dumps({"command": ["python", "-c", "print(1)"], "workdir": f"{folder}/sub"})
    failed = json.dumps({"output": "no such thing", "metadata": {"exit_code": 2, "duration_seconds": 0.1}})
    lines = [
        {"type": "session_meta", "timestamp": AT.format(1), "payload": {"session_id": ID.format(2), "cwd": folder}},
        response(
            10, type="function_call", id="f", name="exec_command", call_id="a", arguments=json.dumps({"cmd": COMMAND})
        ),
        item(
            *(10,),
            type="CommandExecution",
            id="a",
            command=run,
            cwd=f"file://{folder}",
            status="failed",
            exit_code=3,
            aggregated_output=MISSING,
            duration={"secs": 1, "nanos": 500_000_000},
        ),
        response(
            10, type="function_call_output", call_id="a", output=f"Process exited with code 3\nOutput:\n{MISSING}"
        ),
        response(11, type="custom_tool_call", name="apply_patch", call_id="b", input=patch),
        item(11, type="FileChange", id="b", changes={f"{folder}/app.py": {}}, status="completed"),
        response(11, type="custom_tool_call_output", call_id="b", output="Exit code: 0\nSuccess."),
        response(12, type="function_call", name="shell", call_id="c", arguments=shell),
        response(12, type="function_call_output", call_id="c", output=failed),
        response(13, type="function_call", name="update_plan", call_id="d", arguments="{}"),
        item(14, type="FileChange", id="e", changes=[{"path": "moved.py", "kind": "update"}], status="failed"),
        response(15, type="function_call", name="exec_command", call_id="f", arguments=json.dumps({"cmd": "sleep 9"})),
    ]
    write_lines(home / ".codex" / "archived_sessions" / "rollout-1.jsonl", lines)


CODEX = [
    ("run", COMMAND, 3, MISSING),
    ("edit", "app.py", None, None),
    ("edit", "new/b.py", None, None),
    (
        "run",
        "python -c 'print(1)'",
        2,
        '{"output": "no such thing", "metadata": {"exit_code": 2, "duration_seconds": 0.1}}',
    ),
    ("edit", "moved.py", None, "failed"),
]


def write_gemini(home: Path, folder: str) -> None:
    def message(number: int, tool: str, output: str, status: str = "success", **given: str) -> list[dict[str, Any]]:
        entry = {"id": f"m{number}", "timestamp": AT.format(number), "type": "gemini", "content": ""}
        response = {"functionResponse": {"id": "x", "response": {"error" if status == "error" else "output": output}}}
        call = {"id": f"{tool}_{number}", "name": tool, "args": given, "result": [response], "status": status}
        return [entry, entry | {"toolCalls": [call | {"timestamp": AT.format(number)}]}]

    output = f"Output: {MISSING}\nExit Code: 3\nProcess Group PGID: 7"
    lines = [
        {"sessionId": ID.format(3), "projectHash": "x", "startTime": AT.format(1), "kind": "main"},
        *message(10, "run_shell_command", output, command=COMMAND, dir_path="sub"),
        *message(11, "read_file", "one", file_path=f"{folder}/app.py"),
        *message(12, "replace", "no occurrences found", "error", file_path=f"{folder}/app.py"),
        *message(13, "run_shell_command", "Output: two", command="cat app.py"),
    ]
    lines.append({"$set": {"messages": lines[1:]}})
    write_lines(home / ".gemini" / "tmp" / "shop" / "chats" / "session-1.jsonl", lines)
    (home / ".gemini" / "projects.json").write_text(json.dumps({"projects": {folder: "shop"}}))


GEMINI = [
    ("run", COMMAND, 3, f"Output: {MISSING}\nExit Code: 3\nProcess Group PGID: 7"),
    ("read", "app.py", None, None),
    ("edit", "app.py", None, "no occurrences found"),
    ("run", "cat app.py", 0, None),
]


def write_copilot(home: Path, folder: str) -> None:
    def call(number: int, tool: str, result: dict[str, Any], **given: str) -> list[dict[str, Any]]:
        named, at = {"toolCallId": f"call_{number}"}, {"timestamp": AT.format(number)}
        return [
            {"type": "tool.execution_start", "data": {**named, "toolName": tool, "arguments": given}, **at},
            {"type": "tool.execution_complete", "data": {**named, **result}, **at},
        ]

    failed = {
        "success": True,
        "shellExecution": {"exitCode": 3},
        "result": {"content": f"{MISSING}\n<exit code 3>\n\nHint"},
    }
    failed["result"] = {"content": "with hints", "detailedContent": MISSING}
    lines = [
        {
            "type": "session.start",
            "timestamp": AT.format(1),
            "data": {"sessionId": ID.format(4), "context": {"cwd": folder}},
        },
        *call(10, "bash", failed, command=COMMAND),
        *call(11, "view", {"success": True, "result": {"content": "one"}}, path=f"{folder}/app.py"),
        *call(12, "create", {"success": True, "result": {"content": "Created"}}, path=f"{folder}/b.py", file_text="x"),
        *call(13, "edit", {"success": False, "error": {"message": "No match found"}}, path=f"{folder}/b.py"),
    ]
    write_lines(home / ".copilot" / "session-state" / "d9" / "events.jsonl", lines)


COPILOT = [
    ("run", COMMAND, 3, MISSING),
    ("read", "app.py", None, None),
    ("edit", "b.py", None, None),
    ("edit", "b.py", None, "No match found"),
]


def write_qwen(home: Path, folder: str) -> None:
    shared = {"sessionId": ID.format(5), "cwd": folder, "version": "0.24"}

    def call(
        number: int, tool: str, result: dict[str, Any], answer: dict[str, str], **given: str
    ) -> list[dict[str, Any]]:
        name, at = f"call_{number}", shared | {"timestamp": AT.format(number)}
        asked = {"functionCall": {"id": name, "name": tool, "args": given}}
        event = {"event.name": "qwen-code.tool_call", "call_id": name, "duration_ms": 2115}
        answered = {"functionResponse": {"id": name, "name": tool, "response": answer}}
        return [
            {"type": "assistant", "message": {"parts": [asked]}, **at},
            {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": event}, **at},
            {
                "type": "tool_result",
                "message": {"parts": [answered]},
                "toolCallResult": {"callId": name, **result},
                **at,
            },
        ]

    shell = {"status": "error", "resultDisplay": {"type": "shell_result", "exitCode": 3, "output": MISSING}}
    lines = [
        *call(10, "run_shell_command", shell, {"error": "Command: …"}, command=COMMAND),
        *call(11, "read_file", {"status": "success", "resultDisplay": ""}, {"output": "one"}, file_path="app.py"),
        *call(12, "edit", {"status": "error"}, {"error": "no match"}, file_path=f"{folder}/app.py"),
        *call(
            13,
            "write_file",
            {"status": "success", "resultDisplay": {"fileDiff": "+x"}},
            {"output": "ok"},
            file_path="b.py",
        ),
    ]
    write_lines(home / ".qwen" / "projects" / "x" / "chats" / "1.jsonl", lines)


QWEN = [
    ("run", COMMAND, 3, MISSING),
    ("read", "app.py", None, None),
    ("edit", "app.py", None, "no match"),
    ("edit", "b.py", None, None),
]


def write_opencode_calls(home: Path, folder: str) -> None:
    conn = write_opencode(home, folder)
    states: list[tuple[str, dict[str, Any]]] = [
        ("bash", {"status": "completed", "input": {"command": COMMAND}, "output": MISSING, "metadata": {"exit": 3}}),
        ("read", {"status": "completed", "input": {"filePath": f"{folder}/app.py"}, "output": "one"}),
        (
            "edit",
            {"status": "error", "input": {"filePath": f"{folder}/app.py"}, "error": "You must read the file first"},
        ),
        ("webfetch", {"status": "completed", "input": {"url": "https://example.com"}, "output": "a page"}),
        (
            "bash",
            {
                "status": "completed",
                "input": {"command": "cat app.py"},
                "output": "x" * 200_000,
                "metadata": {"exit": 0},
            },
        ),
        ("write", {"status": "running", "input": {"filePath": f"{folder}/c.py"}}),
    ]
    for number, (tool, state) in enumerate(states):
        state["time"] = {"start": 1772366402000 + number, "end": 1772366402000 + number + 1_500}
        part = {"type": "tool", "tool": tool, "callID": "call_0", "state": state}
        conn.execute("INSERT INTO part VALUES (?, ?, ?)", (f"q{number}", "m2", json.dumps(part)))
    conn.commit()
    conn.close()


OPENCODE_CALLS = [
    ("run", COMMAND, 3, MISSING),
    ("read", "app.py", None, None),
    ("edit", "app.py", None, "You must read the file first"),
    ("run", "cat app.py", 0, None),
]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (write_claude, CLAUDE),
        (write_codex, CODEX),
        (write_gemini, GEMINI),
        (write_copilot, COPILOT),
        (write_qwen, QWEN),
        (write_opencode_calls, OPENCODE_CALLS),
    ],
)
def test_every_host_tells_what_was_run_read_and_edited(
    store: Store, tmp_path: Path, folder: str, write: Callable[[Path, str], None], expected: list[tuple[Any, ...]]
) -> None:
    write(tmp_path, folder)
    allow_actions(store.path)
    assert bring(store, tmp_path).actions == len(expected)
    assert shown(store) == expected
    assert (bring(store, tmp_path).actions, shown(store)) == (0, expected)
    assert {one.folder for one in done(store)} <= {folder, f"{folder}/sub"}
    assert all(check.ok for check in examine_store(store))


def test_times_folders_and_durations_stand_beside(store: Store, tmp_path: Path, folder: str) -> None:
    write_codex(tmp_path, folder)
    write_qwen(tmp_path, folder)
    allow_actions(store.path)
    bring(store, tmp_path)
    found = {(one.what, one.duration_ms, one.folder, one.at) for one in done(store) if one.kind == "run"}
    assert found == {
        (COMMAND, 1_500, folder, 1772366410000),
        (COMMAND, 2_115, folder, 1772366410000),
        ("python -c 'print(1)'", None, f"{folder}/sub", 1772366412000),
    }
    (session,) = [session for session in store.sessions.list() if "qwen" in str(session.client)]
    assert (session.project, session.status.value) == ("shop", "closed")


def holds_anywhere(store: Store, word: str) -> bool:
    """Check whether a file of the store, its log or its backups hold a word."""
    folder = store.path.parent
    return any(word.encode() in file.read_bytes() for file in folder.glob("memory.db*") if file.is_file())


@pytest.mark.parametrize("answer", [None, False])
def test_without_a_yes_nothing_of_it_is_on_the_disk(
    store: Store, tmp_path: Path, folder: str, answer: bool | None
) -> None:
    write_claude_calls(tmp_path, folder, claude_call(10, "Bash", "Exit code 1\nNEVERKEPT", True, command="NEVERKEPT"))
    if answer is not None:
        allow_actions(store.path, answer)
    assert bring(store, tmp_path).messages == 2
    sessions, _ = find_disk_sessions(HostEnvironment(tmp_path, "linux", {}), find_hosts_with("sessions"))
    history = History(store, Wanted(), sessions, reads_actions=True)
    plan = history.plan()  # the question that a person then answered with no
    assert (plan.actions, history.bring(plan).actions) == (1, 0)
    assert not holds_anywhere(store, "NEVERKEPT")
    assert done(store) == []
    allow_actions(store.path)
    assert bring(store, tmp_path).actions == 1
    assert holds_anywhere(store, "NEVERKEPT")


def test_what_stops_capture_stops_it(store: Store, tmp_path: Path, folder: str) -> None:
    closed = Path(folder) / "closed"
    closed.mkdir()
    (closed / ".hermes-memory-off").touch()
    write_claude_calls(
        tmp_path,
        folder,
        claude_call(10, "Read", "x", file_path=f"{closed}/key.pem"),
        claude_call(11, "Read", "x", file_path=f"{folder}/app.py"),
    )
    allow_actions(store.path)
    switch_capture(store.path, off=True)
    assert bring(store, tmp_path).actions == 0
    switch_capture(store.path, off=False)
    assert bring(store, tmp_path).actions == 1
    assert [one.what for one in done(store)] == ["app.py"]
    switch = Path(to_capture_path(store.path))
    switch.write_text(json.dumps(json.loads(switch.read_text()) | {"stops": [[1772366422000, 1772366423500]]}))
    write_claude_calls(
        tmp_path, folder, *(claude_call(20 + number, "Bash", "", command=f"echo {number}") for number in range(5))
    )
    bring(store, tmp_path)
    assert [one.what for one in done(store) if one.kind == "run"] == ["echo 0", "echo 1", "echo 4"]


def test_secrets_are_masked_in_commands_paths_and_errors(store: Store, tmp_path: Path, folder: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    write_claude_calls(
        tmp_path,
        folder,
        claude_call(
            10, "Bash", f"Exit code 1\nbad token {secret[:40]}", True, command=f"curl -H 'token {secret[:40]}' x"
        ),
        claude_call(11, "Read", "x", file_path=f"{folder}/{secret[:40]}.txt"),
    )
    allow_actions(store.path)
    assert bring(store, tmp_path).actions == 2
    assert not holds_anywhere(store, secret[:40])
    texts = [(one.what, one.error) for one in done(store)]
    assert all("‹secret›" in str(text) for text in (*texts[0], texts[1][0]))


def test_a_huge_binary_or_damaged_result_is_no_error(store: Store, tmp_path: Path, folder: str) -> None:
    failed = claude_call(11, "Bash", "Exit code 1\nFIRST LINE\n" + "é\0\x1b[31m\ud800" * 300_000 + "\nLAST LINE", True)
    failed[0]["message"]["content"][0]["input"] = {"command": "cat \udcff\0 image.png"}
    path = write_claude_calls(
        tmp_path,
        folder,
        claude_call(10, "Bash", "y" * 50_000_000, command="yes"),
        failed,
        claude_call(12, "Read", "x", file_path="\0\ud800"),
        claude_call(13, "Bash", "", command=["no", {"text": 1}], description=None),  # type: ignore[arg-type]
        claude_call(14, "Bash", "done", command="true"),
    )
    with path.open("ab") as file:
        file.write(b'{"type": "user", "message": {"content": [7, {"tool_use_id": ["x"]}]}}\n\xff\xfe\x00bytes\n')
        file.write(b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "z", "name": []}]}}\n')
    age(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    allow_actions(store.path)
    history, plan = plan_for(store, tmp_path)
    assert (plan.skipped, history.bring(plan).actions) == ([], 5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250_000
    first, second, *_, last = done(store)
    assert (first.what, first.exit_code, last.what, last.exit_code) == ("yes", None, "true", 0)
    assert second.what == "cat \\udcff image.png"
    error = second.error or ""
    assert error.startswith("Exit code 1\nFIRST LINE\n")
    assert error.endswith("LAST LINE")
    assert len(error.encode()) <= MOST_ERROR_BYTES


def test_what_was_purged_is_nowhere_and_does_not_come_back(store: Store, tmp_path: Path, folder: str) -> None:
    write_claude_calls(tmp_path, folder, claude_call(10, "Bash", "Exit code 1\nGONEWORD", True, command="GONEWORD"))
    allow_actions(store.path)
    bring(store, tmp_path)
    create_backup(store, store.path.with_name("memory.db.copy.bak"))
    assert holds_anywhere(store, "GONEWORD")
    assert store.turns.erase("shop") == (2, ())
    assert not holds_anywhere(store, "GONEWORD")
    assert (done(store), bring(store, tmp_path).actions) == ([], 0)
    assert all(check.ok for check in examine_store(store))


def test_a_purge_of_a_fact_takes_the_actions_with_its_words(store: Store, tmp_path: Path, folder: str) -> None:
    write_claude_calls(
        tmp_path,
        folder,
        claude_call(10, "Bash", "ok", command="deploy --to k7Rw2Qp9x.example.com"),
        claude_call(11, "Bash", "ok", command="deploy --to elsewhere"),
    )
    allow_actions(store.path)
    bring(store, tmp_path)
    create_backup(store, store.path.with_name("memory.db.copy.bak"))
    fact = store.facts.write("shop", "V[host]: k7Rw2Qp9x.example.com", scope="deploy").fact
    assert store.purge.preview_facts(fact.uid).records == 1
    store.purge.execute("shop", scope="deploy")
    assert not holds_anywhere(store, "k7Rw2Qp9x")
    assert [one.what for one in done(store)] == ["deploy --to elsewhere"]
    assert bring(store, tmp_path).actions == 0


def test_the_newest_run_is_taken_back_with_its_actions(store: Store, tmp_path: Path, folder: str) -> None:
    write_claude(tmp_path, folder)
    assert bring(store, tmp_path).messages == 2
    allow_actions(store.path)
    assert bring(store, tmp_path).actions == len(CLAUDE)  # an earlier yes to messages did not cover it
    run, _ = store.turns.find_newest_run() or (0, 0)
    assert store.turns.describe_run(run).startswith(f"0 messages and {len(CLAUDE)} actions of 1 session that")
    assert store.turns.take_back(run) == (len(CLAUDE), ())
    assert done(store) == []
    before, _ = store.turns.find_newest_run() or (0, 0)
    assert store.turns.describe_run(before).startswith("2 messages of 1 session that")
    assert not holds_anywhere(store, COMMAND)
    found, _ = find_disk_sessions(HostEnvironment(tmp_path, "linux", {}), find_hosts_with("sessions"))
    assert History(store, Wanted(), found, is_asked_for=False).plan().actions == 0
    assert bring(store, tmp_path).actions == len(CLAUDE)
    assert shown(store) == CLAUDE


def test_they_stay_as_long_as_messages_that_came_the_same_way(tmp_path: Path, folder: str) -> None:
    clock = HandClock()
    write_claude_calls(tmp_path, folder, claude_call(10, "Bash", "ok", command="from the disk"))
    allow_actions(tmp_path / "memory.db")
    with Store.open(tmp_path / "memory.db", clock=clock) as store:
        bring(store, tmp_path)
        session = store.sessions.list()[0]
        heard = Action(b"h" * 16, "run", "heard by a hook", folder, store.clock(), 0, None, None)
        assert keep_actions(store.db, session, "claude-code", [heard], None, store.clock()) == 1
        clock.now += 89 * DAY_MS
        purge_expired_data(store)
        assert len(done(store)) == 2
        clock.now += 2 * DAY_MS
        purge_expired_data(store)
        assert [one.what for one in done(store)] == ["from the disk"]
        assert not holds_anywhere(store, "heard by a hook")


def test_the_daily_reading_brings_actions_of_sessions_whose_messages_hooks_bring(
    store: Store, tmp_path: Path, folder: str
) -> None:
    write_claude(tmp_path, folder)
    (disk,), _ = find_disk_sessions(HostEnvironment(tmp_path, "linux", {}), ["claude-code"])
    keep_history(store.path, ["claude-code"], 1)
    with open_capture_switch(store.path) as switch:
        switch.hosts["claude-code"] = True
    store.host_sessions.note("claude-code", disk.name, "prompt")
    assert read_unheard(str(store.path), disk) == []
    allow_actions(store.path)
    pieces = read_unheard(str(store.path), disk)
    bring_piece(disk, pieces, 1, store)
    assert shown(store) == CLAUDE
    assert store.turns.count("shop") == 0


def test_each_is_there_once_after_any_number_of_kills(tmp_path: Path, folder: str) -> None:
    for number in range(20):
        calls = [claude_call(place, "Bash", "ok", command=f"echo {number} {place}") for place in range(10, 40)]
        write_claude_calls(tmp_path, folder, *calls, name=ID.format(number))
    environ = os.environ | {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path), "HERMES_MEMORY_LINGER": "0.1"}
    db = tmp_path / "memory.db"
    command = [sys.executable, "-m", "hermes_memory_tui", "backfill", "--yes", "--actions", "--json", "--db", str(db)]
    for kills in range(1, 4):
        with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:

            def is_under_way(least: int = 100 * kills) -> bool:
                if process.poll() is not None:
                    return True
                try:
                    with Store.open(db, read_only=True) as reading:
                        return bool(reading.db.value("SELECT count(*) FROM actions") >= least)
                except StoreError:
                    return False  # it is in the making

            until(is_under_way, "actions")
            process.send_signal(signal.SIGKILL)
    subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    with Store.open(db) as store:
        commands = [one.what for one in done(store)]
        assert len(commands) == len(set(commands)) == 20 * 30
        assert all(check.ok for check in examine_store(store))


def test_what_was_refused_when_it_was_asked_for_stays_out(store: Store, tmp_path: Path, folder: str) -> None:
    lines = claude_lines(folder, *(f"message number {number} of them" for number in range(6)))
    for number, line in enumerate(lines):
        line["timestamp"] = AT.format(5 * number)
    path = write_claude_calls(tmp_path, folder)
    for second in (6, 16, 26):
        lines += claude_call(second, "Bash", "ok", command=f"at {second}")
    write_lines(path, lines)
    allow_actions(store.path)
    session = store.host_sessions.note("claude-code", ID.format(1), "prompt", theme="shop")
    HostTurns(store.db).note_heard(session, "user", None, at=1772366400000 + 15_000)
    bring(store, tmp_path)
    assert sorted(one.what for one in done(store)) == ["at 26", "at 6"]


def test_a_theme_that_takes_no_messages_takes_no_actions(tmp_path: Path, folder: str) -> None:
    write_claude(tmp_path, folder)
    allow_actions(tmp_path / "memory.db")
    (tmp_path / "policies.toml").write_text('[defaults]\nturns = "none"\n')
    with Store.open(tmp_path / "memory.db", policies=Policies.load(tmp_path / "policies.toml")) as store:
        assert bring(store, tmp_path).actions == 0
    with Store.open(tmp_path / "memory.db") as store:
        assert bring(store, tmp_path).actions == len(CLAUDE)
