"""What a person, or the host itself, added to our entry outlives `connect`, in every format."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import HOSTS, NAME, Entry, to_started_command
from hermes_memory_bridge.connect.plugins.host_plugins import SCRIPTS
from hermes_memory_tui.system.discovery import connect_discovered_host
from tests.bridge.connect.test_connect import connect_here, file_of

ADDITIONS: dict[str, Any] = {
    "env": {"HERMES_MEMORY_THEME": "shop", "HTTP_PROXY": 'a "b"'},
    "trust": True,
    "default_tools_approval_mode": "approve",
    "alwaysAllow": ["memory_write", "memory_edit"],
    "timeout": 60000,
    "startup_timeout_sec": 20.5,
    "tools": {"memory_edit": {"approval_mode": "approve"}, "of mine": {}},
    "headers": [{"a": 1}],
}


@pytest.fixture(autouse=True)
def no_programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No host is installed, so that none is asked and none is found by its program."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))


def entry_of(name: str, home: Path) -> Entry:
    """The entry in a host's file."""
    entry = HOSTS[name].find_entry(file_of(name, home).read_text())
    assert entry is not None
    return entry


@pytest.mark.parametrize("name", HOSTS)
def test_what_was_added_to_the_entry_stays_when_the_command_changes(name: str, tmp_path: Path) -> None:
    host = HOSTS[name]
    assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0
    entry = {**entry_of(name, tmp_path), **ADDITIONS}
    file_of(name, tmp_path).write_text(host.add_entry(file_of(name, tmp_path).read_text(), entry))
    with_additions = file_of(name, tmp_path).read_text()

    assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0
    assert file_of(name, tmp_path).read_text() == with_additions

    assert connect_here(tmp_path, name, "--yes", "--no-hooks", "--theme", "shop") == 0
    after = entry_of(name, tmp_path)
    assert {key: after[key] for key in ADDITIONS} == ADDITIONS
    assert to_started_command(after)[-2:] == ["--theme", "shop"]

    assert connect_here(tmp_path, name, "--yes", "--remove") == 0
    assert NAME not in file_of(name, tmp_path).read_text()


@pytest.mark.parametrize("name", [name for name, host in HOSTS.items() if host.kind == "json"])
def test_comments_within_the_entry_stay_when_the_command_changes(name: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0
    file = file_of(name, tmp_path)
    file.write_text(file.read_text().replace('"command": ', '// mine\n      "trust": true, /* too */ "command": '))
    before = file.read_text()

    assert connect_here(tmp_path, name, "--yes", "--no-hooks", "--theme", "shop") == 0

    assert "// mine" in file.read_text()
    assert "/* too */" in file.read_text()
    assert entry_of(name, tmp_path)["trust"] is True
    assert file.read_text() != before


@pytest.mark.parametrize("between", ["", "[tui]\ntheme = 'dark'\n", "\n# mine\n[tui]\ntheme = 'dark'\n\n"])
def test_a_table_of_one_tool_stops_neither_a_change_nor_the_removal(between: str, tmp_path: Path) -> None:
    file = file_of("codex", tmp_path)
    file.parent.mkdir()
    file.write_text('model = "o3"\n')
    assert connect_here(tmp_path, "codex", "--yes", "--no-hooks") == 0
    table = f'[mcp_servers.{NAME}.tools.memory_edit]\napproval_mode = "approve"\n'
    file.write_text(f"{file.read_text()}{between}\n{table}")

    assert connect_here(tmp_path, "codex", "--yes", "--no-hooks", "--theme", "shop") == 0

    assert entry_of("codex", tmp_path)["tools"]["memory_edit"] == {"approval_mode": "approve"}
    assert "shop" in to_started_command(entry_of("codex", tmp_path))
    assert connect_here(tmp_path, "codex", "--yes", "--remove") == 0
    assert file.read_text() == f'model = "o3"\n{between}'
    assert tomllib.loads(file.read_text())["model"] == "o3"


@pytest.mark.parametrize("name", HOSTS)
def test_a_store_and_a_theme_stand_until_others_are_named(name: str, tmp_path: Path) -> None:
    store = str(tmp_path / "own.db")
    assert connect_here(tmp_path, name, "--yes", "--db", store, "--theme", "shop") == 0

    assert connect_here(tmp_path, name, "--yes") == 0
    assert to_started_command(entry_of(name, tmp_path))[-4:] == ["--db", store, "--theme", "shop"]

    assert connect_here(tmp_path, name, "--yes", "--theme", "other") == 0
    assert to_started_command(entry_of(name, tmp_path))[-4:] == ["--db", store, "--theme", "other"]


def tools_of(name: str, home: Path) -> str:
    """The selection of tools that a host's entry names; "" for the usual one."""
    words = to_started_command(entry_of(name, home))
    return words[words.index("--tools") + 1] if "--tools" in words else ""


@pytest.mark.parametrize("name", [name for name in HOSTS if name in HOOKS or name in SCRIPTS])
def test_a_host_with_hooks_is_offered_the_essential_tools_from_the_next_connect_on(name: str, tmp_path: Path) -> None:
    assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0
    assert tools_of(name, tmp_path) == ""
    for options, tools in (
        ((), "essential"),
        (("--tools", "all"), "all"),
        ((), "all"),
        (("--tools", "essential"), "essential"),
        (("--no-hooks",), ""),
    ):
        assert connect_here(tmp_path, name, "--yes", *options) == 0
        assert tools_of(name, tmp_path) == tools, options


def test_a_variable_of_the_entry_that_chooses_tools_stands(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes", "--no-hooks") == 0
    entry = {**entry_of("claude-code", tmp_path), "env": {"HERMES_MEMORY_TOOLS": "all"}}
    file = file_of("claude-code", tmp_path)
    file.write_text(HOSTS["claude-code"].add_entry(file.read_text(), entry))
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    assert tools_of("claude-code", tmp_path) == ""


def test_tools_that_do_not_exist_are_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes", "--tools", "memory_serch") == 1
    assert "did you mean memory_search?" in capsys.readouterr().err
    assert not file_of("claude-code", tmp_path).exists()


@pytest.mark.parametrize("name", ["cursor", "gemini", "claude-code"])
def test_an_entry_that_starts_no_program_is_replaced(name: str, tmp_path: Path) -> None:
    host, file = HOSTS[name], file_of(name, tmp_path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(host.add_entry("", {"url": "http://127.0.0.1:8765/mcp", "type": "http"}))

    assert connect_here(tmp_path, name, "--yes", "--no-hooks") == 0

    assert entry_of(name, tmp_path).keys() <= {"command", "args", "alwaysLoad"}
    assert os.access(to_started_command(entry_of(name, tmp_path))[0], os.X_OK)


@pytest.mark.parametrize("name", ["claude-code", "codex", "opencode", "goose"])
@pytest.mark.parametrize("is_usual", [True, False])
def test_the_inspector_writes_what_the_command_line_writes(
    name: str, is_usual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Path(".hermes" if is_usual else "own") / "memory.db"
    entries = []
    for face in ("inspector", "command line"):
        home = tmp_path / face
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("HERMES_HOME", raising=False)
        if face == "inspector":
            succeeded, printed = connect_discovered_host(name, home / store, dry_run=False)
            assert succeeded, printed
            assert "without asking each time" in printed or name in ("goose", "opencode", "codex")
        else:
            assert connect_here(home, name, "--yes", *([] if is_usual else ["--db", str(home / store)])) == 0
        entries.append(file_of(name, home).read_text().replace(str(home), "HOME"))
    assert entries[0] == entries[1]
