"""Each host's own words become the same event, and the answer has the host's own form."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.hook_program.hook_event import (
    MARK_ROOM,
    MOST_TEXT,
    TEXT_FIELDS,
    HookEvent,
    parse_hook_event,
)
from hermes_memory_bridge.hook_program.host_dialects import EVENT_NAME_KEYS, find_speaking_host, format_host_answer
from hermes_memory_bridge.hook_program.host_payload import MOST_INPUT, HostInput, find_text, to_hook_event
from hermes_memory_store.compact_json import parse_half_object, parse_whole_object, parse_wire_message, to_json
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host
from tests.bridge.hook_program.host_payloads import CASES, Case, case_id

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=6)


def to_event(host: str, event: str, payload: dict[str, object], **environ: str) -> HookEvent:
    speaker = find_speaking_host(host, payload)
    return to_hook_event(speaker, event, payload, environ, theme="", at=7, pids=[os.getppid()])


def read_bytes(said: bytes) -> dict[str, object]:
    """What is read of an input; the writer goes on until it is done or the reader has gone."""
    reading, writing = os.pipe()

    def write() -> None:
        left = memoryview(said)
        try:
            while left:
                left = left[os.write(writing, left) :]
        except BrokenPipeError:
            pass
        finally:
            os.close(writing)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return HostInput(reading).read()
    finally:
        os.close(reading)
        writer.join()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_what_a_host_says_becomes_an_event(case: Case) -> None:
    event = to_event(case.host, case.event, read_bytes(json.dumps(case.payload).encode()))
    assert (event.host, event.event, event.at, event.folder) == (case.speaker or case.host, case.event, 7, "/w")
    assert {name: getattr(event, name) for name in case.expected} == case.expected
    assert event.pids[0] == os.getppid()


@pytest.mark.parametrize(
    ("command", "record", "outcome"),
    [
        ("make", {"status": "failed", "exit_code": 3, "duration": {"secs": 1, "nanos": 5_000_000}}, (3, True, 1_005)),
        ("make", {"status": "completed", "exit_code": 0, "duration": {"secs": 0, "nanos": 0}}, (0, False, 0)),
        ("make", None, (None, False, None)),
    ],
)
def test_how_a_command_of_codex_ended_is_read_from_the_end_of_its_record(
    tmp_path: Path, command: str, record: dict[str, object] | None, outcome: tuple[object, ...]
) -> None:
    item = {"type": "CommandExecution", "id": "call_1", "command": ["/bin/bash", "-lc", command]}
    lines = [{"payload": {"item": item | {"id": "call_0", "exit_code": 9}}}, {"payload": {"text": "é" * 300_000}}]
    lines += [{"payload": {"item": item | record}}] if record is not None else []
    transcript = tmp_path / "rollout.jsonl"
    transcript.write_text(
        "".join(f"{json.dumps(line)}\n" for line in lines) + '{"payload": {"item": {"id": "call_1", "ex'
    )
    payload = {"transcript_path": str(transcript), "tool_name": "Bash", "tool_use_id": "call_1", "cwd": "/w"}
    event = to_event("codex", "tool", payload | {"tool_input": {"command": command}, "tool_response": "Exit code: 7"})
    assert (event.act, event.subject) == ("run", command)
    assert (event.exit, event.failed, event.duration) == outcome


def test_what_an_edit_takes_out_is_no_word_of_its_call() -> None:
    edit = {"file_path": "/w/db.py", "old_string": "PORT = 5432", "new_string": "PORT = 5433"}
    event = to_event("claude-code", "tool", {"session_id": "s", "cwd": "/w", "tool_name": "Edit", "tool_input": edit})
    assert (event.act, event.call) == ("edit", "/w/db.py\nPORT = 5433")


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_answer_has_the_form_of_the_host(case: Case) -> None:
    host = case.speaker or case.host
    native = find_text(case.payload, EVENT_NAME_KEYS)
    said = format_host_answer(host, case.event, "T", native=native)
    if case.form is None:
        assert said == load_host(host)["answers"].get("empty", "")
    else:
        assert said == case.form if isinstance(case.form, str) else json.loads(said) == case.form


@pytest.mark.parametrize("host", ["gemini", "copilot", "cursor", "cline", "opencode", "goose", "vscode", "qwen"])
def test_a_host_that_demands_json_gets_json_when_there_is_nothing_to_say(host: str) -> None:
    assert isinstance(json.loads(format_host_answer(host, "prompt", "")), dict)


def test_an_answer_is_named_after_the_event_that_the_host_knows() -> None:
    said = json.loads(format_host_answer("codex", "start", "T"))
    assert said["hookSpecificOutput"]["hookEventName"] == "SessionStart"


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "qwen"])
def test_the_person_sees_a_line_that_stands_beside_what_the_model_is_given(host: str) -> None:
    for event in ("start", "prompt"):
        said = json.loads(format_host_answer(host, event, "T", "memory: 1 fact (db.id)"))
        assert said.pop("systemMessage") == "memory: 1 fact (db.id)"
        assert said == json.loads(format_host_answer(host, event, "T"))


@pytest.mark.parametrize("host", [*find_hosts_with("answers")])
def test_a_line_for_the_person_is_never_alone_and_never_where_the_host_has_no_place_for_it(host: str) -> None:
    assert format_host_answer(host, "start", "", "memory: 1 fact (db.id)") == format_host_answer(host, "start", "")
    if "notice" not in load_host(host)["answers"]:
        assert format_host_answer(host, "start", "T", "memory: 1 fact") == format_host_answer(host, "start", "T")


def test_a_variable_of_claude_code_does_not_make_another_host_one() -> None:
    event = to_event("gemini", "start", {"session_id": "g"}, CLAUDE_PROJECT_DIR="/claude", GEMINI_CWD="/gemini")
    assert (event.host, event.folder) == ("gemini", "/gemini")


def test_without_a_folder_the_working_folder_counts() -> None:
    assert to_event("codex", "start", {"cwd": "not/absolute"}).folder == os.getcwd()


def test_a_message_in_parts_is_put_together() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image", "data": "…"}, {"type": "text", "text": "two"}]
    assert to_event("claude-code", "prompt", {"prompt": parts}).text == "one\ntwo"


@pytest.mark.parametrize(
    "payload",
    [
        {"session_id": 7, "cwd": ["/w", 3], "prompt": {"text": "x"}, "source": None, "transcript_path": False},
        {"session_id": ["a"], "cwd": {}, "prompt": None},
        {},
    ],
)
def test_values_of_other_types_are_taken_as_not_said(payload: dict[str, object]) -> None:
    event = to_event("claude-code", "prompt", payload)
    assert event.to_wire() == parse_hook_event(event.to_wire()).to_wire()
    assert event.transcript == ""


def test_a_message_that_is_too_long_says_how_much_of_it_is_missing() -> None:
    assert to_event("codex", "prompt", {"prompt": "x" * MOST_TEXT}).text == "x" * MOST_TEXT
    event = to_event("codex", "prompt", {"prompt": "x" * (MOST_TEXT + 9)})
    kept, _, mark = event.text.partition("\n")
    assert mark == f"[cut off: {MOST_TEXT + 9 - len(kept)} more characters were not captured]"
    assert len(event.text) <= MOST_TEXT
    assert len(kept) >= MOST_TEXT - MARK_ROOM
    assert parse_hook_event(event.to_wire()).text == event.text


@pytest.mark.parametrize("event", ["prompt", "turn", "compacted"])
def test_what_follows_a_nul_is_part_of_the_message(event: str) -> None:
    keys = {"prompt": "prompt", "turn": "last_assistant_message", "compacted": "compact_summary"}
    said = "\0the words before\0 and\0all after\0"
    found = to_event("claude-code", event, {"cwd": "/w", keys[event]: said})
    assert (found.text, found.folder) == ("the words before andall after", "/w")
    parts = to_event("claude-code", event, {keys[event]: [{"text": "one\0"}, *["more"] * 1_200, "last"]})
    assert parts.text == "\n".join(["one", *["more"] * 1_200, "last"])


def read_mark(size: int) -> str:
    """What stands behind a text that breaks off."""
    return f"\n[cut off: {size:,} bytes of the host's input were read]"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (b"", {}),
        (b"   \n", {}),
        (b"null", {}),
        (b"[1, 2]", {}),
        (b'"text"', {}),
        (b"{", {}),
        (b"not json at all", {}),
        (b"\xff\xfe\x00", {}),
        (b"\xef\xbb\xbf" + b'{"session_id": "s"}', {"session_id": "s"}),
        (b'{"session_id": "s"} trailing', {"session_id": "s"}),
        (b'{"session_id": "s", "prompt": "half a mess', {"session_id": "s", "prompt": f"half a mess{read_mark(42)}"}),
        (b'{"session_id": "s", "prompt": "half \\u00', {"session_id": "s", "prompt": f"half {read_mark(40)}"}),
        (b'{"session_id": "s", "list": [1, 2', {"session_id": "s"}),
        (b'{"session_id": "s", "prompt"', {"session_id": "s"}),
        (b'{"session_id": "s"; "prompt": 1}', {"session_id": "s"}),
        (b'{"n": ' + b"9" * 5_000 + b', "session_id": "s"}', {}),
        (b'{"session_id": "s", "n": ' + b"9" * 5_000 + b"}", {"session_id": "s"}),
        (b'{"session_id": "s", "deep": ' + b"[" * 200_000, {"session_id": "s"}),
        (b'{"prompt": "line\nbreak"}', {"prompt": "line\nbreak"}),
    ],
)
def test_whatever_comes_in_what_is_whole_is_read(said: bytes, found: dict[str, object]) -> None:
    assert read_bytes(said) == found


def test_of_fifty_megabytes_the_beginning_is_read() -> None:
    found = read_bytes(b'{"session_id": "s", "prompt": "' + b"x" * 50_000_000 + b'"}')
    assert found["session_id"] == "s"
    assert found["prompt"] == "x" * (MOST_TEXT - MARK_ROOM) + read_mark(MOST_INPUT)


def test_a_pipe_that_stays_open_is_not_waited_for() -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"session_id": "s"}\n')
    try:
        assert HostInput(reading).read() == {"session_id": "s"}
    finally:
        os.close(reading)
        os.close(writing)


@given(OBJECTS, st.data())
def test_half_an_object_says_nothing_that_the_whole_one_does_not(whole: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(whole, ensure_ascii=data.draw(st.booleans()))
    found = parse_half_object(text[: data.draw(st.integers(0, len(text)))], 1_000)
    for name, value in found.items():
        known = whole[name]
        assert value == known or (
            isinstance(value, str)
            and isinstance(known, str)
            and known.encode("utf-16", "surrogatepass").startswith(value.encode("utf-16", "surrogatepass"))
        ) or (isinstance(known, int) and str(known).startswith(str(value)))  # fmt: skip


@given(VALUES)
def test_what_is_sent_is_json(value: object) -> None:
    assert json.loads(to_json(value)) == value
    assert parse_whole_object(to_json({"value": value})) == {"value": value}


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "[", '"', "{]", '{"a"', '{"a":', '{"a": 1', '{"a": 1,', '{"a": 1,}', '{"a" 1}', "{1: 2}", "{'a': 1}",
        '{"a": "b',
        '{"a": "\\', '{"a": "\\x"}', '{"a": "\\u12"}', '{"a": "\\ud800', '{"a": tru}', '{"a": -}', "[1 2]", "[1,", "nul",
        "NaN", "-",
        '{"a": ' + "9" * 5_000 + "}", '{"a": ' + "[" * 100_000, "[" * 100_000, '{"a":' * 100_000, "\ufeff{}", "\x00", "\ud800",
    ],
    ids=repr,
)  # fmt: skip
def test_invalid_json_is_survived(text: str) -> None:
    assert parse_wire_message(text.encode("utf-8", "surrogatepass")) is None
    assert parse_whole_object(text) is None
    assert parse_half_object(text, 100).keys() <= {"a"}


@given(st.binary() | st.text().map(str.encode) | VALUES.map(json.dumps).map(str.encode))
def test_a_line_is_parsed_as_the_standard_library_does(line: bytes) -> None:
    try:
        wanted = json.loads(line.decode("utf-8"))
    except ValueError:
        wanted = None
    assert parse_wire_message(line) == (wanted if isinstance(wanted, dict) else None)


@given(OBJECTS)
def test_any_object_makes_an_event(payload: dict[str, object]) -> None:
    for host in find_hosts_with("answers"):
        wire = to_event(host, "prompt", payload).to_wire()
        assert parse_hook_event(json.loads(to_json(wire))).to_wire() == wire


@given(st.dictionaries(st.sampled_from([*TEXT_FIELDS, "at", "capture", "given", "pids"]), VALUES))
def test_any_line_is_an_event_or_refused_by_its_name(said: dict[str, object]) -> None:
    try:
        event = parse_hook_event(said)
    except ValueError as error:
        assert "host" in str(error) or "event" in str(error)
    else:
        assert event.to_wire() == parse_hook_event(event.to_wire()).to_wire()
