"""Connecting hosts: nothing of theirs is lost, twice is once, and taking out undoes putting in."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_bridge.connect import host_config_files, jsonc_edit
from hermes_memory_bridge.connect.host_check import check_configured_command
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment, to_started_command
from hermes_memory_bridge.provider import provider_settings
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.host_files.memory_files import hermes_home
from hermes_memory_store.system.filesystem import default_store_path
from hermes_memory_tui.system import inspector_settings
from tests.bridge.running import run_command

EXISTING = {
    "json": """{
  // my servers, do not touch
  "theme": "One Dark", /* dark */
  "%s": {
    "other": { "command": "npx", "args": ["-y", "other"], }, // keep me
  },
  "last": true
}
""",
    "toml": '# mine\nmodel = "o3" # the good one\n\n[%s.other]\ncommand = "npx"\nargs = ["-y"]\n\n[tui]\ntheme = "dark"\n',
    "yaml": "# mine\nmodel: fast  # the good one\n%s:\n    other:\n        command: npx   # keep me\n"
    "        args: ['-y']\n\nlast: true\n",
    "yaml-list": "# mine\nname: me\n%s:\n  - name: other   # keep me\n    command: npx\n    args: ['-y']\nlast: true\n",
}


def connect(home: Path, *words: str, cwd: Path | None = None, typed: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a home of its own, within this process."""
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("HERMES_HOME", "XDG_CONFIG_HOME"):
            patch.delenv(variable, raising=False)
        patch.chdir(cwd or home)
        return run_command("connect", *words, typed=typed, HOME=str(home), HERMES_MEMORY_LINGER="0.1")


def connect_here(home: Path, *words: str) -> int:
    """Run the command and print what it prints."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for variable in ("HERMES_HOME", "XDG_CONFIG_HOME"):
            if os.environ.get(variable, "").strip():
                patch.delenv(variable)
        return run_bridge_command(["connect", *words])


def file_of(name: str, home: Path) -> Path:
    """Where a host keeps its servers."""
    return HOSTS[name].file(HostEnvironment(home, sys.platform, {}))


def read(name: str, text: str) -> Any:
    """A host's file as data, by an independent parser where there is one."""
    kind = HOSTS[name].kind
    return (
        tomllib.loads(text)
        if kind == "toml"
        else yaml.safe_load(text)
        if "yaml" in kind
        else jsonc_edit.parse_jsonc(text).value
    )


@pytest.mark.parametrize("name", HOSTS)
def test_what_stands_there_is_kept_and_taking_out_undoes_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(name, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    before = EXISTING[HOSTS[name].kind] % HOSTS[name].key
    file.write_text(before)
    file.chmod(0o640)
    assert connect_here(tmp_path, name, "--yes", "--no-hooks", "--no-allow", "--theme", "me") == 0
    after = file.read_text()
    assert HOSTS[name].find_entry(after) is not None
    kept = [line for line in after.splitlines() if line in before.splitlines()]
    assert [line for line in before.splitlines() if line not in kept] in ([], before.splitlines()[3:4])
    assert read(name, after).items() >= {k: v for k, v in read(name, before).items() if k != HOSTS[name].key}.items()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    (backup,) = file.parent.glob(f"{file.name}.*.bak")
    assert backup.read_text() == before
    capsys.readouterr()
    connect_here(tmp_path, name, "--yes", "--no-hooks", "--no-allow", "--theme", "me")
    assert "nothing to change" in capsys.readouterr().out
    assert file.read_text() == after
    assert connect_here(tmp_path, name, "--remove", "--yes") == 0
    assert file.read_text() == before


@pytest.mark.parametrize("name", HOSTS)
def test_a_host_without_a_file_gets_one_and_the_entry_can_be_changed(name: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, name, "--yes") == 0
    file = file_of(name, tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert connect_here(tmp_path, name, "--yes", "--theme", "other") == 0
    entry = HOSTS[name].find_entry(file.read_text())
    assert entry is not None
    command = to_started_command(entry)
    assert command[-2:] == ["--theme", "other"]
    assert Path(command[0]).is_absolute()
    assert connect_here(tmp_path, name, "--remove", "--yes") == 0
    assert HOSTS[name].find_entry(file.read_text()) is None


@pytest.mark.parametrize("name", ["cursor", "codex", "goose", "continue"])
def test_a_file_that_cannot_be_read_is_left_alone_with_the_line(name: str, tmp_path: Path) -> None:
    file = file_of(name, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{\n  [broken\n")
    answer = connect(tmp_path, name, "--yes")
    assert answer.returncode == 1
    assert "left alone" in answer.stderr
    assert "line" in answer.stderr
    assert file.read_text() == "{\n  [broken\n"


def test_two_changes_within_a_second_keep_two_backups(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    kept = []
    for number in range(5):
        file.write_text(str(number))
        kept.append(host_config_files.replace_host_config(file, "new"))
    assert [copy.read_text() for copy in kept if copy is not None] == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("said", ["", "  "])
@pytest.mark.parametrize("name", HOSTS)
def test_a_blank_variable_is_an_unset_one(name: str, said: str, tmp_path: Path) -> None:
    variables = (
        *("HERMES_HOME", "XDG_CONFIG_HOME", "APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"),
        *("GEMINI_CLI_HOME", "QWEN_HOME", "CLINE_MCP_SETTINGS_PATH"),
    )
    for platform in ("linux", "darwin", "win32"):
        blank = HOSTS[name].file(HostEnvironment(tmp_path, platform, dict.fromkeys(variables, said)))
        assert blank == HOSTS[name].file(HostEnvironment(tmp_path, platform, {}))
        assert blank.is_absolute()


@pytest.mark.parametrize("said", ["", "   "])
def test_no_part_of_the_program_takes_a_blank_variable_for_a_path(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / ".hermes"
    for variable in ("HERMES_HOME", "HERMES_MEMORY_DB", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(variable, said)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert BridgePaths.of().store == str(home / "memory.db") == provider_settings.load_provider_settings(str(home)).db
    assert default_store_path() == home / "memory.db"
    assert Path(provider_settings.find_hermes_home()) == inspector_settings.inspector_folder() == hermes_home() == home
    assert connect_here(tmp_path, "hermes-agent", "--yes") == 0
    assert [one.name for one in tmp_path.iterdir()] == [".hermes"]


def test_a_relative_variable_is_refused_by_name(tmp_path: Path) -> None:
    for variable, name, platform in (
        ("HERMES_HOME", "hermes-agent", "linux"),
        ("XDG_CONFIG_HOME", "vscode", "linux"),
        ("APPDATA", "claude-desktop", "win32"),
    ):
        with pytest.raises(ArgumentError, match=f"{variable} is 'here/it', a relative path"):
            HOSTS[name].file(HostEnvironment(tmp_path, platform, {variable: "here/it"}))


@pytest.mark.parametrize("name", HOSTS)
def test_a_file_of_windows_and_one_that_is_empty_come_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    file = file_of(name, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    for before in ((EXISTING[HOSTS[name].kind] % HOSTS[name].key).replace("\n", "\r\n").encode(), b""):
        file.write_bytes(before)
        put = connect_here(tmp_path, name, "--yes")
        assert "hermes-memory" in file.read_text()
        assert (put, connect_here(tmp_path, name, "--remove", "--yes")) == (0, 0)
        assert file.read_bytes() == before


def test_the_diff_is_shown_and_without_an_answer_nothing_changes(tmp_path: Path) -> None:
    asked = connect(tmp_path, "cursor")
    assert asked.returncode == 1
    assert '+    "hermes-memory": {' in asked.stdout
    assert not file_of("cursor", tmp_path).exists()
    assert connect(tmp_path, "cursor", "--dry-run").returncode == 0
    assert not file_of("cursor", tmp_path).exists()


def test_a_link_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    link = file_of("cursor", tmp_path)
    link.parent.mkdir()
    link.symlink_to(real)
    connect(tmp_path, "cursor", "--yes")
    assert link.is_symlink()
    assert "hermes-memory" in real.read_text()


def test_a_project_has_a_file_of_its_own(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    assert connect(tmp_path, "claude-code", "--project", "--yes", cwd=project).returncode == 0
    assert "hermes-memory" in json.loads((project / ".mcp.json").read_text())["mcpServers"]
    assert "no configuration inside a project" in connect(tmp_path, "goose", "--project").stderr


def test_an_unknown_host_is_told_with_the_nearest(tmp_path: Path) -> None:
    assert "did you mean cursor" in connect(tmp_path, "cusror").stderr
    assert "cursor" in connect(tmp_path).stdout


def test_what_is_configured_is_tried(tmp_path: Path) -> None:
    db = tmp_path / "memory.db"
    assert connect(tmp_path, "codex", "--check").returncode == 1
    connect(tmp_path, "codex", "--yes", "--db", str(db), "--theme", "me")
    tried = connect(tmp_path, "codex", "--check")
    assert "works: 7 tools, theme me" in tried.stdout, tried.stdout + tried.stderr
    file = file_of("codex", tmp_path)
    file.write_text(file.read_text().replace(f'"{sys.executable}"', f'"{sys.executable}-gone"'))
    assert "cannot be started" in connect(tmp_path, "--check").stdout


REFUSING = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = {"tools": [], "content": [{"type": "text", "text": "error: the store is locked"}], "isError": True}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_a_memory_that_answers_with_a_refusal_does_not_work() -> None:
    result = check_configured_command([sys.executable, "-c", REFUSING], {})
    assert not result.ok
    assert "the store is locked" in result.output


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)


@given(document=OBJECTS, servers=st.none() | OBJECTS, value=VALUES, indent=st.sampled_from([None, 2, "\t"]))
def test_setting_a_member_changes_that_member_only(document: Any, servers: Any, value: Any, indent: Any) -> None:
    document.pop("s", None)
    if servers is not None:
        servers.pop("new", None)
        document = {**document, "s": servers}
    text = json.dumps(document, indent=indent)
    after = jsonc_edit.set_jsonc_member(text, ("s", "new"), value)
    expected = {**document, "s": {**(servers or {}), "new": value}}
    assert jsonc_edit.parse_jsonc(after).value == json.loads(after) == expected
    assert jsonc_edit.remove_jsonc_member(after, ("s", "new")) == text


@given(text=st.text(max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        jsonc_edit.parse_jsonc(text)
    except jsonc_edit.JsoncSyntaxError as error:
        assert "line" in str(error)
