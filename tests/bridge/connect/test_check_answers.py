"""What `connect --check` says of a host and of what its model may do, where the host itself is asked and where it is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes_memory_bridge.connect.host_check import find_own_memory
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_tui.cli.command_runner import run_command_line
from tests.bridge.connect.test_connect import connect

FORMS = {"claude-code": "Status: ✔ Connected", "qwen": "✓ hermes-memory: python -EP bridge (stdio) - Connected"}


@pytest.fixture(autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH: no host is installed but those that a test puts there."""
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put_program(folder: Path, name: str, printed: str) -> None:
    """A host that prints a line, and keeps its place in a file beside it."""
    file = folder / name
    file.write_text(f"#!{sys.executable}\nimport os, sys\nopen({str(folder / 'place')!r}, 'w').write(os.getcwd())\n"
                    f"print({printed!r}, file=sys.stderr)\n")  # fmt: skip
    file.chmod(0o755)


@pytest.mark.parametrize("name", FORMS)
def test_a_host_is_asked_in_a_folder_without_a_project(name: str, tmp_path: Path, programs: Path) -> None:
    put_program(programs, find_hosts_with("probe")[name]["command"][0], f"\x1b[32m{FORMS[name]}\x1b[0m")
    connect(tmp_path, name, "--yes")
    shown = connect(tmp_path, name, "--check").stdout
    assert "itself reaches the memory, says" in shown
    assert "no model was asked" in shown
    assert not (programs / "place").read_text().startswith(str(tmp_path))


def test_a_host_that_does_not_reach_the_memory_fails_the_check(tmp_path: Path, programs: Path) -> None:
    put_program(programs, "claude", "hermes-memory:\n  Status: ✘ Failed to connect")
    connect(tmp_path, "claude-code", "--yes")
    checked = connect(tmp_path, "claude-code", "--check")
    assert "mcp get hermes-memory` does not show that it reaches the memory" in checked.stdout
    assert "Failed to connect" in checked.stdout
    assert checked.returncode == 1


def test_a_host_that_is_not_there_is_said_not_to_be_asked(tmp_path: Path) -> None:
    connect(tmp_path, "claude-code", "--yes")
    assert "was not asked itself" in connect(tmp_path, "claude-code", "--check").stdout


OWN_MEMORIES: list[tuple[str, str, str, dict[str, str], bool]] = [
    ("claude-code", ".claude/settings.json", "", {}, True),
    ("claude-code", ".claude/settings.json", '{"autoMemoryEnabled": false} // mine', {}, False),
    ("claude-code", ".claude/settings.json", "{}", {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}, False),
    ("claude-code", ".claude/settings.json", "{ broken", {}, True),
    ("claude-code", "work/.claude/settings.local.json", '{"autoMemoryEnabled": false}', {}, False),
    ("codex", ".codex/config.toml", "", {}, False),
    ("codex", ".codex/config.toml", "[features]\nmemories = true\n", {}, True),
    ("codex", ".codex/config.toml", "features = 3\n", {}, False),
    ("gemini", ".gemini/settings.json", '{"experimental": {"autoMemory": true}}', {}, True),
    ("gemini", ".gemini/settings.json", '{"experimental": {"autoMemory": "yes"}}', {}, False),
    ("qwen", ".qwen/settings.json", "", {}, True),
    ("qwen", ".qwen/settings.json", '{"memory": {"enableManagedAutoMemory": false}}', {}, False),
]


@pytest.mark.parametrize(("name", "path", "text", "environ", "is_on"), OWN_MEMORIES)
def test_a_memory_of_the_hosts_own_is_on_or_off_as_its_settings_say(
    name: str,
    path: str,
    text: str,
    environ: dict[str, str],
    is_on: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    own = find_own_memory(HOSTS[name], HostEnvironment(tmp_path, "linux", environ))
    assert own is not None
    assert own[0] is is_on


def test_no_own_memory_is_said_of_a_host_that_is_not_known_to_have_one(tmp_path: Path) -> None:
    assert find_own_memory(HOSTS["opencode"], HostEnvironment(tmp_path, "linux", {})) is None


def test_a_program_is_told_the_same_by_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    connect(tmp_path, "claude-code", "--yes")
    connect(tmp_path, "cursor", "--yes", "--no-hooks")

    def check(*words: str) -> list[dict[str, Any]]:
        run_command_line(["connect", *words, "--check", "--json"])
        hosts: list[dict[str, Any]] = json.loads(capfd.readouterr().out)["hosts"]
        return hosts

    claude, cursor = check()
    assert claude == {
        "host": "claude-code",
        "ok": False,
        "works": True,
        "called": None,
        "given": False,
        "after_tools": False,
        "reads": True,
        "writes": True,
        "own_memory": True,
    }
    assert (cursor["reads"], cursor["writes"], cursor["given"]) == (None, None, False)
    assert [host["host"] for host in check("cursor")] == ["cursor"]
