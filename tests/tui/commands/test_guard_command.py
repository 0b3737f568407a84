"""`guard` on the command line, and the hooks before tools that follow it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_bridge.connect.host_hooks import HOOKS
from hermes_memory_bridge.connect.hosts import find_here
from hermes_memory_bridge.connect.plugins.host_plugins import find_script_plugin
from tests.tui.commands.conftest import Ask, Tell

FACT = "C[release]: the changelog comes first"
HOSTS = ["claude-code", "gemini", "copilot", "qwen"]


@pytest.fixture
def uid(home: Path, db: Path, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PATH", str(home / "empty"))
    for variable in ("CLAUDE_CONFIG_DIR", "COPILOT_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return str(tell("write", FACT)["uid"])


def connect(db: Path, host: str) -> None:
    assert run_bridge_command(["connect", host, "--yes", "--db", str(db)]) == 0


def calls_guard(host: str) -> bool:
    return "hermes-memory-hook" in (text := HOOKS[host].file(find_here()).read_text()) and f"{host} guard" in text


@pytest.mark.parametrize("host", HOSTS)
def test_a_hook_before_tools_stands_there_while_there_is_a_guard(ask: Ask, db: Path, uid: str, host: str) -> None:
    connect(db, host)
    assert not calls_guard(host)
    before = HOOKS[host].file(find_here()).read_bytes()
    ask("guard", "add", uid, "git push*", "--yes")
    assert calls_guard(host)
    connect(db, host)
    assert calls_guard(host), "connecting again leaves it there"
    ask("guard", "add", uid, "git tag*", "--yes")
    ask("guard", "remove", uid, "git push*", "--yes")
    assert calls_guard(host)
    ask("guard", "remove", uid, "--yes")
    assert HOOKS[host].file(find_here()).read_bytes() == before


def test_without_a_yes_nothing_is_written_and_every_place_says_so(ask: Ask, db: Path, uid: str) -> None:
    connect(db, "claude-code")
    assert "run hermes-memory-tui connect claude-code" in ask("guard", "add", uid, "git push*").err
    assert not calls_guard("claude-code")
    assert "not as it should be" in ask("guard").out
    doctor = ask("doctor")
    assert (doctor.code, "no hook at PreToolUse" in doctor.out) == (1, True)
    connect(db, "claude-code")
    assert "Claude Code: asks, installed\n" in ask("guard").out
    ask("undo")
    assert "a hook at PreToolUse without a guard" in ask("doctor").out


def test_the_plugin_of_opencode_refuses_while_there_is_a_guard(ask: Ask, db: Path, uid: str) -> None:
    connect(db, "opencode")
    plugin = find_script_plugin("opencode", find_here())
    assert "const GUARDED = [] " in plugin.read_text()
    ask("guard", "add", uid, "git push*", "--yes")
    assert 'const GUARDED = ["bash", "edit",' in plugin.read_text()
    assert "opencode: refuses, since it cannot ask, installed\n" in ask("guard").out


def test_a_guard_is_tried_listed_and_taken_away(ask: Ask, tell: Tell, uid: str) -> None:
    tell("guard", "add", uid, "git push*")
    tell("guard", "add", uid, "docs/*.md", "--deny")
    asked = ask("guard", "test", "cd web && git push --force")
    assert (asked.code, asked.out) == (0, f"ask   git push*  {FACT}  ({uid[-8:]})\n")
    assert ask("guard", "test", "git pull").code == 1
    [refused] = tell("guard", "test", "docs/a.md")["guards"]
    assert refused == {"uid": uid, "kind": "edit", "pattern": "docs/*.md", "answer": "deny", "notation": FACT}
    assert ask("guard", "test", "docs/a.md", "--command").code == 1
    tell("write", "C[release]: whenever it is ready")
    assert ask("guard", "test", "git push").code == 1
    assert "asks no more, its fact is superseded" in ask("guard").out
    assert "asks no more" in ask("doctor").out
    assert ask("guard", "remove", uid, "git tag*").code == 1
    tell("guard", "remove", uid)
    assert tell("guard")["guards"] == []
