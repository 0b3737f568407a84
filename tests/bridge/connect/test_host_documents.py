"""Configurations as people and programs write them: the bridge is put in, put in again, and taken out without a trace."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_memory_bridge.connect import jsonc_edit
from hermes_memory_bridge.connect.host_config_files import HostFileError
from hermes_memory_bridge.connect.host_entries import to_changed_config
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Host

COMMAND = ("/opt/my tools/hermes-memory-bridge", ["--db", "/home/ü/memory.db"])
BOM = "\ufeff"

TOML = [
    "",
    "\n",
    "# mine",
    'model = "o3"\n\n\n',
    "KEY = {}\n",
    "KEY = { }",
    'KEY = { other = { command = "npx" } }\n',
    'model = "o3"\nKEY = { other = { command = "npx", args = ["-y"] } }  # mine\n\n[tui]\ntheme = "dark"\n',
    '"KEY" = { "a b" = {command="x"} }',
    'KEY.other.command = "npx"\nmodel = "o3"\n',
    'KEY.other = { command = "npx" } # mine\n\n[tui]\na = 1\n',
    "[KEY]\n",
    '[KEY]\nother = { command = "npx" }\n',
    '[KEY]\nother.command = "npx"\n\n# about the screen\n[tui]\n',
    '[KEY.other]\ncommand = "x"',
    '["KEY".other]\ncommand = "x"\n',
    '[KEY.a]\ncommand = "x"\n[tui]\na = 1\n[KEY.b]\ncommand = "y"\n',
    "text = '''\n[KEY.hermes-memory]\n'''\n",
    BOM + 'model = "o3"\n',
    BOM + 'model = "o3"\r\n[KEY.a]\r\ncommand = "x"\r\n',
    'model = "o3"\r\n[KEY.a]\ncommand = "x"\r\n',
]
JSON = [
    "",
    "{}",
    '{"KEY": null}',
    '{\n  "KEY": null,\n  "x": 1\n}\n',
    '{\n  // servers\n  "KEY": null // none yet\n}\n',
    '{"KEY": {}}',
    '{"a": 1,}',
    '{ // mine\n "KEY": { /* none */ } }',
    "{ /* none yet */ }",
    '{\n  "KEY": {\n    // my servers go here\n  }\n}\n',
    '{\n\t"KEY": {\n\t\t"a": {"command": "x"},\n\t},\n}\n',
    BOM + '{"a": 1}',
    BOM + '{\r\n  "KEY": {}\r\n}\r\n',
    BOM,
]
YAML = [
    "",
    "# mine\n",
    "a: 1",
    "KEY:\n",
    "KEY: {}\n",
    "KEY: { }  # none\n",
    "KEY: {\n}\n",
    "KEY: {\n  # none yet\n}\n",
    "KEY: ~ # none\n",
    "a: 1\nKEY: null",
    "KEY: {a: {cmd: x}}\n",
    "KEY: {a: {cmd: x}, b: {cmd: y z}}  # mine\nb: 1\n",
    "KEY: {\n  a: {cmd: x},  # mine\n}\nb: 1\n",
    '"KEY":\n  a:\n    cmd: x\n',
    "KEY: &servers\n  a:\n    cmd: x\n",
    "KEY:   # mine\n\n  # the first\n  a:\n    cmd: x\nb: 1\n",
    '{"KEY": {"a": {"cmd": "x"}}}\n',
    '{"KEY": {}, "b": 1}\n',
    '{"b": 1}\n',
    "--- # mine\na: 1\nKEY:\n  a:\n    cmd: x\n",
    "a: |\n  KEY:\n    no\n",
    "x:\n  KEY:\n   a: 1\n",
    "base: &base\n  cmd: x\nKEY:\n  a:\n    <<: *base\n",
    "a: 1\na: 2\n",
    BOM + "a: 1\r\nKEY:\r\n  x:\r\n    cmd: y\r\n",
    "a: 1\r\nKEY:\r\n  x:\n    cmd: y\n",
]
YAML_LIST = [
    "",
    "KEY:\n",
    "KEY: []\n",
    "KEY: [{name: a, command: x}]\n",
    "KEY: [\n  {name: a, command: x},\n]  # mine\n",
    "KEY:\n- name: a\n  command: x\n",
    "KEY:\n  # mine\n  - uses: a/b\n",
    "KEY:\n    -   command: x\n        name: a\nb: 1\n",
    "{KEY: [], b: 1}\n",
    BOM + "name: x\r\nKEY:\r\n- name: a\r\n  command: y",
]
DOCUMENTS = {"toml": TOML, "json": JSON, "yaml": YAML, "yaml-list": YAML_LIST}

CASES = [
    pytest.param(host, document.replace("KEY", host.key), id=f"{host.name}-{number}")
    for host in HOSTS.values()
    for number, document in enumerate(DOCUMENTS[host.kind])
]


@pytest.mark.parametrize(("host", "before"), CASES)
def test_connecting_adds_the_entry_alone_and_disconnecting_gives_the_bytes_back(
    host: Host, before: str, tmp_path: Path
) -> None:
    file, entry = tmp_path / "config", host.entry(*COMMAND)
    after = to_changed_config(host, file, before, entry)
    assert others(host, after) == others(host, before)
    assert host.find_entry(after) is not None
    assert after.startswith(BOM) == before.startswith(BOM)
    assert to_changed_config(host, file, after, entry) == after
    assert to_changed_config(host, file, after, None) == before
    moved = to_changed_config(host, file, after, host.entry("/elsewhere/bridge", []))
    assert to_changed_config(host, file, moved, None) == before


@pytest.mark.parametrize(
    ("name", "before", "left"),
    [
        ("codex", 'KEY = { NAME = { command = "old" } }\n', "KEY = {}\n"),
        ("codex", 'KEY = { a = { b = 1 }, NAME = { command = "old" } } # mine\n', None),
        ("codex", '[KEY]\nNAME = { command = "old" } # ours\na.command = "x"\n', '[KEY]\na.command = "x"\n'),
        ("codex", 'KEY.NAME.command = "old"\nKEY.NAME.args = [\n  "-v",\n]\nmodel = "o3"\n', 'model = "o3"\n'),
        ("goose", "KEY: {NAME: {cmd: old}, a: {cmd: x}}\n", "KEY: {a: {cmd: x}}\n"),
        ("goose", 'KEY:\n  "NAME":\n    cmd: old\n  a:\n    cmd: x\n', "KEY:\n  a:\n    cmd: x\n"),
        ("goose", "KEY:\n  NAME:\n  a:\n    cmd: x\n", "KEY:\n  a:\n    cmd: x\n"),
        ("goose", "KEY:\n  NAME: {cmd: old}\n  a:\n    cmd: x\n", "KEY:\n  a:\n    cmd: x\n"),
        ("continue", "KEY:\n  - command: old\n    name: NAME\n  - name: a\n", "KEY:\n  - name: a\n"),
        ("continue", "KEY:\n  - {name: NAME, command: old}\n  - name: a\n", "KEY:\n  - name: a\n"),
        ("cursor", '{"KEY": {"NAME": null, "a": {}}}', None),
        *(
            (
                name,
                '{\n  "KEY": {\n    // my servers\n    "NAME": {"command": "/opt/bridge", "args": []}\n  }\n}\n',
                '{\n  "KEY": {\n    // my servers\n  }\n}\n',
            )
            for name, host in HOSTS.items()
            if host.kind == "json"
        ),
    ],
)
def test_an_entry_in_another_layout_is_replaced_and_taken_out_and_nothing_else(
    name: str, before: str, left: str | None, tmp_path: Path
) -> None:
    host, file = HOSTS[name], tmp_path / "config"
    before = before.replace("KEY", host.key).replace("NAME", NAME)
    entry = host.entry(*COMMAND)
    replaced = to_changed_config(host, file, before, entry)
    assert host.find_entry(replaced) is not None
    assert others(host, replaced) == others(host, before)
    bare = host.remove_entry(before)
    assert host.find_entry(bare) is None
    assert others(host, bare) == others(host, before)
    assert left is None or bare == left.replace("KEY", host.key)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("codex", "a = 1\nKEY = []\n", 2),
        ("codex", "[[KEY]]\na = 1\n", 1),
        ("codex", "KEY = { other = { a = 1 }, }\n", 1),
        ("goose", "a: 1\nother: &x {a: {cmd: x}}\nKEY: *x\n", 3),
        ("goose", "a: 1\n...\n", 2),
        ("goose", "a: 1\n---\nb: 1\n", 2),
        ("goose", "KEY:\n  - a\n", 1),
        ("goose", "a: 1\n? KEY\n: a:\n    cmd: x\n", 2),
        ("cursor", '{\n  "KEY": []\n}\n', 2),
        ("cursor", "[1]", 1),
        ("cursor", "null", 1),
        ("cursor", '{"KEY": 5}', 1),
        ("cursor", '{"KEY": {"NAME": 5}}', 1),
    ],
)
def test_what_cannot_be_proven_is_refused_with_its_line(name: str, text: str, line: int, tmp_path: Path) -> None:
    host = HOSTS[name]
    text = text.replace("KEY", host.key).replace("NAME", NAME)
    with pytest.raises(HostFileError, match=rf"left alone: [\s\S]*(?:line {line}\b|its \w+ (?:is|has)|it holds)"):
        to_changed_config(host, tmp_path / "config", text, host.entry(*COMMAND))


def others(host: Host, text: str) -> Any:
    """What the file says besides the bridge, by a parser that `connect` does not use where there is one."""
    bare = text.removeprefix(BOM)
    document: Any = (
        tomllib.loads(bare)
        if host.kind == "toml"
        else jsonc_edit.parse_jsonc(bare).value
        if host.kind == "json"
        else yaml.safe_load(bare)
    ) or {}
    held = document.pop(host.key, None) or {}
    left = (
        [one for one in held if one.get("name") != NAME]
        if isinstance(held, list)
        else {name: value for name, value in held.items() if name != NAME}
    )
    return document, left or None
