"""Hooks in files of hosts: ours are added and taken out, and nothing else in any file changes by a byte."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.connect.hooks.hook_edit import Hook, list_own_hooks, read_hook_document, to_hooked_config
from hermes_memory_bridge.connect.host_config_files import HostFileError
from hermes_memory_bridge.connect.host_hooks import HOOKS, find_hook_program

FILE = Path("settings.json")
LONG = json.dumps({"list": [{"n": number, "text": "x" * 40} for number in range(2000)]}, indent=2)
OTHERS = {"type": "command", "command": "other program", "timeout": 7}


def hooks_of(name: str, *, keeps: bool = True) -> list[Hook]:
    """What connecting a host installs."""
    return HOOKS[name].to_hooks(name, ["--theme", "me"], gives=True, keeps=keeps)


def texts_of(event: str) -> list[str]:
    """Files as people and programs leave them; in some, other hooks stand at one of our events."""
    group = json.dumps({"hooks": [OTHERS]})
    return [
        "",
        "\n",
        "{}",
        "{}\n",
        "{ }",
        "\ufeff{}",
        "\ufeff",
        "// mine\n",
        '{"a": 1,}',
        '{"hooks": {}}',
        '{"hooks": null}',
        '{"hooks": {/* none yet */}}\n',
        f'{{"hooks": {{"{event}": []}}}}',
        f'{{"hooks": {{"{event}": [{group}]}}}}',
        f'{{"hooks": {{"{event}": [{group},]}}, "a": 1}}',
        f'{{\n\t"hooks": {{\n\t\t"{event}": [\n\t\t\t{group}, // theirs\n\t\t],\n\t}},\n\t"last": true\n}}\n',
        f'{{\r\n  "hooks": {{\r\n    "{event}": [\r\n      {group}\r\n    ]\r\n  }}\r\n}}',
        f'{{"a": {{"hooks": {{"{event}": [1]}}}}}}\n\n',
        '{\n  // mine\n  "model": "x" // the good one\n}',
        '{\n    "permissions": {\n        "allow": ["Bash(ls)"]\n    }\n}\n',
        '{"deep": ' + "[" * 60 + "]" * 60 + "}",
        LONG,
    ]


CASES = [
    pytest.param(name, text, id=f"{name}-{number}")
    for name in HOOKS
    for number, text in enumerate(texts_of(HOOKS[name].lines[0].native))
]


@pytest.mark.parametrize(("name", "text"), CASES)
def test_taking_the_hooks_out_gives_the_file_back_byte_for_byte(name: str, text: str) -> None:
    hooks, version = hooks_of(name), HOOKS[name].version
    after = to_hooked_config(FILE, text, hooks, version=version)
    assert len(list_own_hooks(read_hook_document(after))) == len(hooks)
    assert to_hooked_config(FILE, after, hooks, version=version) == after
    assert to_hooked_config(FILE, after, [], version=version) == text
    fewer = to_hooked_config(FILE, after, hooks_of(name, keeps=False), version=version)
    assert to_hooked_config(FILE, fewer, [], version=version) == text


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "null",
        '"text"',
        '{"hooks": []}',
        '{"hooks": "x"}',
        '{"hooks": {"SessionStart": null}}',
        '{"hooks": {"SessionStart": {}}}',
        '{"hooks": {"A": []}, "hooks": {"SessionStart": []}}',
        '{"hooks": {"SessionStart": [], "SessionStart": [1]}}',
        '{"a": 1',
        '{"a" 1}',
        "{'a': 1}",
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        "{}{}",
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_alone_with_the_reason(text: str) -> None:
    with pytest.raises(HostFileError, match=r"settings\.json was left alone: "):
        to_hooked_config(FILE, text, hooks_of("claude-code"))


@pytest.mark.parametrize("name", HOOKS)
def test_hooks_are_taken_out_of_a_file_that_another_program_wrote_anew(name: str) -> None:
    theirs: dict[str, Any] = {"model": "x", "hooks": {"Notification": [{"hooks": [OTHERS]}]}}
    hooked = json.loads(to_hooked_config(FILE, json.dumps(theirs), hooks_of(name)))
    for written in (json.dumps(hooked, indent=3), json.dumps(hooked), json.dumps(hooked, sort_keys=True, indent="\t")):
        assert json.loads(to_hooked_config(FILE, written, [])) == theirs
    alone = json.loads(to_hooked_config(FILE, '{"model": "x"}', hooks_of(name)))
    assert json.loads(to_hooked_config(FILE, json.dumps(alone, indent=3), [])) == {"model": "x"}


def test_what_a_person_adds_around_the_hooks_stays_as_he_wrote_it() -> None:
    before = '{\n  "model": "x"\n}\n'
    after = to_hooked_config(FILE, before, hooks_of("claude-code"))
    top = after.replace('  "model": "x",', '  "model": "x",\n  "tui": {"a": 1}, // new')
    assert to_hooked_config(FILE, top, []) == '{\n  "model": "x",\n  "tui": {"a": 1} // new\n}\n'
    below = after.removesuffix("\n  }\n}\n") + '\n  },\n  "last": true\n}\n'
    assert to_hooked_config(FILE, below, []) == '{\n  "model": "x",\n  "last": true\n}\n'
    event = after.replace('"Stop": [', '"Notification": [\n      {"hooks": []}\n    ],\n    "Stop": [')
    assert json.loads(to_hooked_config(FILE, event, [])) == {"model": "x", "hooks": {"Notification": [{"hooks": []}]}}


def test_a_handler_that_was_moved_into_a_group_of_another_is_found_and_taken_out_alone() -> None:
    document = json.loads(to_hooked_config(FILE, "{}", hooks_of("claude-code")))
    group = document["hooks"]["SessionStart"][0]
    group["hooks"].insert(0, OTHERS)
    group["matcher"] = "startup"
    text = json.dumps(document, indent=2)
    assert to_hooked_config(FILE, text, hooks_of("claude-code")) == text
    assert json.loads(to_hooked_config(FILE, text, [])) == {
        "hooks": {"SessionStart": [{"hooks": [OTHERS], "matcher": "startup"}]}
    }


@pytest.mark.parametrize(
    "handler",
    [
        {"command": "/old place/hermes-memory-hook", "args": ["claude-code", "start"]},
        {"command": "'/old place/hermes-memory-hook' claude-code start"},
        {"command": "hermes-memory-hook claude-code start"},
        {"command": r'"C:\Program Files\venv\Scripts\hermes-memory-hook.exe" claude-code start'},
        {"bash": "/x/hermes-memory-hook copilot start"},
        {"powershell": r"C:\venv\hermes-memory-hook.exe copilot start"},
    ],
)
def test_a_hook_of_another_installation_is_ours_and_replaced(handler: dict[str, Any]) -> None:
    text = json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", **handler}]}]}})
    after = read_hook_document(to_hooked_config(FILE, text, hooks_of("claude-code")))
    assert {own.words[0] for own in list_own_hooks(after)} == {str(find_hook_program())}


def test_a_hook_that_only_names_our_program_is_not_ours() -> None:
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo hermes-memory-hook"}]}]}}
    text = json.dumps(theirs, indent=1)
    assert to_hooked_config(FILE, to_hooked_config(FILE, text, hooks_of("claude-code")), []) == text


@pytest.mark.parametrize("name", HOOKS)
def test_without_leave_to_keep_no_hook_is_there_that_only_keeps(name: str) -> None:
    given_alone = {event for event, _ in hooks_of(name, keeps=False)}
    assert not given_alone & {line.native for line in HOOKS[name].lines if not line.gives}
    kept_alone = HOOKS[name].to_hooks(name, [], gives=False, keeps=True)
    assert {event for event, _ in kept_alone} == {line.native for line in HOOKS[name].lines if line.keeps}


KEYS = st.sampled_from(["a", "hooks", "Stop", "SessionStart", "ü"])
HANDLERS = st.lists(st.just({"hooks": [OTHERS]}), max_size=2)
EVENTS = st.dictionaries(st.sampled_from(["SessionStart", "Stop", "SessionEnd", "Own"]), HANDLERS, max_size=3)


@given(
    others=st.dictionaries(
        KEYS.filter(lambda key: key != "hooks"), st.integers() | st.lists(st.text(max_size=3)), max_size=3
    ),
    events=st.none() | EVENTS,
    is_last=st.booleans(),
    indent=st.sampled_from([None, None, 2, 4, "\t", 0]),
    line=st.sampled_from(["\n", "\r\n"]),
)
def test_any_settings_come_back(others: Any, events: Any, is_last: bool, indent: Any, line: str) -> None:
    document = others if events is None else {**others, "hooks": events} if is_last else {"hooks": events, **others}
    text = json.dumps(document, indent=indent).replace("\n", line)
    for name in ("claude-code", "copilot"):
        assert to_hooked_config(FILE, to_hooked_config(FILE, text, hooks_of(name)), []) == text


def test_a_program_that_is_gone_blocks_no_prompt_of_a_host_that_refuses_prompts_whose_hook_fails() -> None:
    for _, element in HOOKS["gemini"].to_hooks("gemini", [], gives=True, keeps=True, platform="linux"):
        command = element["hooks"][0]["command"].replace("hermes-memory-hook", "gone")
        assert subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0


EDITS = [
    lambda text: text if text.startswith("\ufeff") else "// new\n" + text,
    lambda text: text + "// end\n",
    lambda text: text.replace('"a"', '"renamed"'),
    lambda text: text.replace('"a": 1', '"a": [2, {}]'),
    lambda text: text.replace("other program", "another program"),
]


EDITED_CASES = [
    pytest.param(
        edit,
        name,
        text,
        id=f"{kind}-{name}-{number}",
        marks=() if (number + kind) % len(HOOKS) == row else pytest.mark.fuzz,
    )
    for kind, edit in enumerate(EDITS)
    for row, name in enumerate(HOOKS)
    for number, text in enumerate(texts_of(HOOKS[name].lines[0].native))
]
"""In the fast tier every edit meets every text, at one host, and every host, with several texts."""


@pytest.mark.parametrize(("edit", "name", "text"), EDITED_CASES)
def test_taking_the_hooks_out_of_a_file_that_was_edited_around_them_gives_the_edited_file(
    edit: Callable[[str], str], name: str, text: str
) -> None:
    version = HOOKS[name].version
    if "{" not in text or len(text) > 10_000:
        return  # where nothing stood, an empty object may stay: hosts cannot read comments alone
    hooked = to_hooked_config(FILE, text, hooks_of(name), version=version)
    assert to_hooked_config(FILE, edit(hooked), [], version=version) == edit(text)
