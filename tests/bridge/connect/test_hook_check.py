"""Whether hooks run: `connect --check` and `doctor` say what is wrong with them, and when they were last heard."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_memory_bridge.connect.hooks.hook_check import HookFinding, examine_hooks, format_elapsed
from hermes_memory_bridge.connect.hosts import HOSTS, HostEnvironment
from hermes_memory_store.store import Store
from tests.bridge.connect.stand_in_codex import write_codex
from tests.bridge.connect.test_connect import connect, connect_here

PROGRAM = Path(sys.executable).with_name("hermes-memory-hook")


@pytest.fixture(autouse=True)
def programs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty PATH; the folder it names."""
    folder = tmp_path_factory.mktemp("programs")
    monkeypatch.setenv("PATH", str(folder))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return folder


def examine(home: Path) -> list[HookFinding]:
    place = HostEnvironment(home, "linux", {"HOME": str(home), "PATH": os.environ["PATH"]})
    return examine_hooks(place, home / ".hermes" / "memory.db")


def test_a_home_without_hooks_has_no_findings(tmp_path: Path) -> None:
    assert examine(tmp_path) == []
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text("{broken")
    assert examine(tmp_path) == []


@pytest.mark.parametrize("name", ["claude-code", "gemini", "copilot", "qwen", "droid"])
def test_hooks_that_stand_as_they_were_installed_are_in_order(name: str, tmp_path: Path) -> None:
    for options in ((), ("--capture",), ("--no-hooks", "--capture")):
        assert connect_here(tmp_path, name, "--yes", *options) == 0
        assert [finding for finding in examine(tmp_path) if not finding.ok] == []
        assert examine(tmp_path)


def damage(text: str, change: Callable[[dict], object]) -> str:
    document = json.loads(text)
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(str(PROGRAM), "/gone/hermes-memory-hook"), "/gone/hermes-memory-hook is gone"),
        (lambda text: text.replace(str(PROGRAM), "hermes-memory-hook"), "no whole path"),
        (lambda text: damage(text, lambda said: said.update(disableAllHooks=True)), "`disableAllHooks` is true"),
        (lambda text: damage(text, lambda said: said["hooks"].pop("UserPromptSubmit")), "no hook at UserPromptSubmit"),
        (lambda text: damage(text, lambda said: said.pop("hooks")), "were taken out of"),
        (lambda text: text[:-20], "cannot be read"),
    ],
)
def test_what_is_wrong_is_named_with_the_command_that_mends_it(
    change: Callable[[str], str], said: str, tmp_path: Path
) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    file = tmp_path / ".claude" / "settings.json"
    file.write_text(change(file.read_text()))
    (finding,) = examine(tmp_path)
    assert not finding.ok
    assert said in finding.detail
    assert "`hermes-memory-bridge connect claude-code`" in finding.detail


def test_a_project_that_switches_hooks_off_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    assert [finding.ok for finding in examine(tmp_path)] == [True]
    monkeypatch.chdir(project)
    (finding,) = examine(tmp_path)
    assert f"`disableAllHooks` is true in {project}" in finding.detail


def test_a_program_of_another_installation_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other" / "hermes-memory-hook"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    file = tmp_path / ".claude" / "settings.json"
    file.write_text(file.read_text().replace(str(PROGRAM), str(other)))
    (finding,) = examine(tmp_path)
    assert f"{other} is of another installation" in finding.detail
    other.chmod(0o644)
    (finding,) = examine(tmp_path)
    assert "cannot be run" in finding.detail


def test_hooks_of_codex_that_are_not_trusted_any_more_are_named(programs: Path, tmp_path: Path) -> None:
    write_codex(programs)
    assert connect_here(tmp_path, "codex", "--yes") == 0
    assert [finding.ok for finding in examine(tmp_path)] == [True]
    hooks, config = HOSTS["codex"].file(HostEnvironment(tmp_path, "linux", {})).with_name("hooks.json"), None
    hooks.write_text(hooks.read_text().replace('"timeout": 5', '"timeout": 7'))
    (finding,) = examine(tmp_path)
    assert "2 of 6 hooks are not trusted" in finding.detail
    config = hooks.with_name("config.toml")
    config.write_text(config.read_text() + "\n[features]\nhooks = false\n")
    (finding,) = examine(tmp_path)
    assert "`features.hooks` is false" in finding.detail


def test_a_check_proves_that_a_hook_ran(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    silent = connect(tmp_path, "claude-code", "--check")
    assert silent.returncode == 1
    assert "never heard since they were installed" in silent.stdout
    assert "restart Claude Code" in silent.stdout
    assert f"{PROGRAM} starts" in silent.stdout
    with Store.open(tmp_path / ".hermes" / "memory.db") as store:
        noted = store.host_sessions.note("claude-code", "s1", "start")
        store.host_sessions.note(
            "claude-code", "s1", "start", given_at=noted.heard_at, given_facts=9, given_tokens=142, given_seq=1
        )
    heard = connect(tmp_path, "claude-code", "--check")
    assert heard.returncode == 0, heard.stdout
    assert re.search(r"last start heard \d+ s ago, 9 facts in 142 tokens given \d+ s ago", heard.stdout)
    assert connect_here(tmp_path, "claude-code", "--yes", "--remove") == 0
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    again = connect(tmp_path, "claude-code", "--check")
    assert again.returncode == 1, "what was heard before the hooks were installed anew proves nothing"
    assert "never heard since they were installed" in again.stdout


def test_a_check_leaves_no_session_behind(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    connect(tmp_path, "claude-code", "--check")
    with Store.open(tmp_path / ".hermes" / "memory.db") as store:
        assert store.host_sessions.list() == []


def test_doctor_tells_of_hooks_that_point_nowhere(tmp_path: Path) -> None:
    assert connect_here(tmp_path, "claude-code", "--yes") == 0
    with Store.open(tmp_path / ".hermes" / "memory.db"):
        pass
    assert doctor(tmp_path).returncode == 0
    file = tmp_path / ".claude" / "settings.json"
    file.write_text(file.read_text().replace(str(PROGRAM), "/gone/hermes-memory-hook"))
    found = doctor(tmp_path)
    assert found.returncode == 1
    (check,) = [one for one in json.loads(found.stdout)["checks"] if one["name"].startswith("hooks")]
    assert check["name"] == "hooks of claude-code"
    assert not check["ok"]
    assert "is gone" in check["detail"]


def doctor(home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hermes_memory_tui", "--json", "doctor"],
        env=os.environ | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("millis", "said"),
    [
        (-5, "0 s"),
        (59_999, "59 s"),
        (61_000, "1 min"),
        (7_200_000, "2 h"),
        (90_000_000, "25 h"),
        (200_000_000, "2 days"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(millis: int, said: str) -> None:
    assert format_elapsed(millis) == said
