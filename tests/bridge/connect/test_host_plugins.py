"""Files that are ours as a whole: installed once, removed without a trace, and never over a file of somebody else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_memory_bridge.cli.bridge_commands import run_bridge_command
from hermes_memory_bridge.connect.hooks.hook_check import examine_hooks
from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.connect.plugins.host_plugins import OWN_BEGINNING
from hermes_memory_bridge.hook_service.rules_file import refresh_rules_file
from hermes_memory_store.hosts.capture_switch import may_capture
from hermes_memory_store.hosts.rules_files import may_write_rules
from hermes_memory_store.store import Store
from tests.bridge.connect.real_hosts import host_environment, require_host

HEARD = ("opencode", "cline", "cursor", "goose")

PLUGINS = {
    "opencode": Path(".config", "opencode", "plugins", "hermes-memory.js"),
    "cline": Path(".cline", "plugins", "hermes-memory.js"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HERMES_HOME", "HERMES_MEMORY_DB", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR", "CLINE_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


def connect(*words: str) -> int:
    return run_bridge_command(["connect", *words, "--yes"])


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder but backups, and what they hold."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.suffix != ".bak"
    }


@pytest.mark.parametrize("host", HEARD)
def test_removing_leaves_what_was_there_before(home: Path, host: str) -> None:
    others = {
        ".cursor/hooks.json": b'{"version": 1, "hooks": {"stop": [{"command": "theirs"}]}}\n',
        ".agents/plugins/other/plugin.json": b"{}\n",
        ".config/opencode/plugins/other.js": b"export default 1\n",
        ".cline/plugins/other.js": b"export default 1\n",
        ".cursor/mcp.json": b'{"mcpServers": {"a": {"command": "b"}}}',
        ".config/opencode/opencode.json": b"{}",
        ".config/goose/config.yaml": b"extensions:\n  a:\n    cmd: b\n",
        ".cline/data/settings/cline_mcp_settings.json": b"{}\n",
    }
    for name, content in others.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    assert connect(host, "--capture", "--rules") == 0
    first = tree(home)
    assert first != others
    assert connect(host, "--capture", "--rules") == 0
    assert tree(home) == first
    assert connect(host, "--remove") == 0
    assert tree(home) == others


@pytest.mark.parametrize("host", HEARD)
def test_in_an_empty_home_nothing_of_ours_is_left(home: Path, host: str) -> None:
    assert connect(host, "--capture", "--rules") == 0
    assert connect(host, "--remove") == 0
    left = tree(home)
    assert all("hermes" not in name and b"hermes" not in content for name, content in left.items()), left
    assert not (home / ".agents").exists()


@pytest.mark.parametrize("host", PLUGINS)
def test_a_plugin_knows_the_answer_about_keeping(home: Path, host: str) -> None:
    store = home / "memory.db"
    for answer in (False, True):
        assert connect(host, "--capture" if answer else "--no-capture", "--db", str(store)) == 0
        text = (home / PLUGINS[host]).read_text()
        assert text.startswith(OWN_BEGINNING)
        assert f"const CAPTURE = {str(answer).lower()} " in text
        assert f'"--db", "{store}"' in text
        assert may_capture(store, host, str(home)).allowed is answer
    assert connect(host, "--no-hooks", "--no-capture", "--db", str(store)) == 0
    assert not (home / PLUGINS[host]).exists()


@pytest.mark.parametrize("host", PLUGINS)
def test_a_file_of_somebody_else_under_our_name_stays(
    home: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / PLUGINS[host]
    file.parent.mkdir(parents=True)
    file.write_text("export default 1\n")
    assert connect(host) == 1
    assert "was not written by connect" in capsys.readouterr().err
    assert connect(host, "--remove") == 1
    assert tree(home) == {str(PLUGINS[host]): b"export default 1\n"}


@pytest.mark.parametrize("host", PLUGINS)
def test_a_project_has_a_plugin_of_its_own(home: Path, host: str) -> None:
    if host == "cline":
        pytest.skip("Cline has no servers inside a project, so nothing there is connected")
    project = home / "project"
    project.mkdir()
    os.chdir(project)
    assert connect(host, "--project") == 0
    assert (project / ".opencode" / "plugins" / "hermes-memory.js").exists()
    assert connect(host, "--project", "--remove") == 0
    assert not (project / ".opencode").exists()


@pytest.mark.parametrize("host", ["cursor", "goose"])
def test_rules_files_need_an_answer_of_their_own_and_go_when_the_host_is_taken_out(home: Path, host: str) -> None:
    store = home / "memory.db"
    assert connect(host, "--capture", "--db", str(store)) == 0
    assert not may_write_rules(store, host)
    assert connect(host, "--rules", "--db", str(store)) == 0
    assert may_write_rules(store, host)

    workspace = home / "shop"
    workspace.mkdir()
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    with Store.open(store) as memory:
        memory.facts.write("default", "C[shop.port]: harbour")
        before = tree(workspace)
        refresh_rules_file(memory, host, "start", str(workspace), "default", lambda: "Memory:\n| C[shop.port]: harbour")
    assert len(tree(workspace)) == len(before) + 1
    assert connect(host, "--db", str(store)) == 0  # an answer of before stands
    assert may_write_rules(store, host)
    assert connect(host, "--remove", "--db", str(store)) == 0
    assert not may_write_rules(store, host)
    assert tree(workspace) == before
    assert "harbour" not in "".join(file.read_text(errors="replace") for file in workspace.rglob("*.bak"))


def test_a_damaged_answer_about_rules_files_is_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = home / "memory.db"
    answers = home / "memory.db.rules.json"
    answers.write_text("[")
    assert connect("cursor", "--rules", "--db", str(store)) == 1
    assert str(answers) in capsys.readouterr().err
    assert tree(home) == {answers.name: b"["}


@pytest.mark.hosts
def test_claude_code_accepts_and_installs_the_plugin(home: Path) -> None:
    program, folder = require_host("claude"), home / "plugin"
    assert connect("claude-code", "--plugin", str(folder)) == 0
    assert "valid" in run_host(program, home, "plugin", "validate", str(folder)).lower()
    run_host(program, home, "plugin", "marketplace", "add", str(folder))
    run_host(program, home, "plugin", "install", "hermes-memory@hermes-memory")
    assert "enabled" in run_host(program, home, "plugin", "list")


@pytest.mark.hosts
def test_codex_installs_the_plugin(home: Path) -> None:
    program, folder = require_host("codex"), home / "plugin"
    assert connect("codex", "--plugin", str(folder)) == 0
    run_host(program, home, "plugin", "marketplace", "add", str(folder))
    run_host(program, home, "plugin", "add", "hermes-memory@hermes-memory")
    assert "installed, enabled" in run_host(program, home, "plugin", "list")


@pytest.mark.hosts
def test_gemini_validates_and_installs_the_extension(home: Path) -> None:
    program, folder = require_host("gemini"), home / "extension"
    assert connect("gemini", "--plugin", str(folder)) == 0
    assert "successfully validated" in run_host(program, home, "extensions", "validate", str(folder))
    run_host(program, home, "extensions", "install", str(folder), "--consent")
    assert "hermes-memory" in run_host(program, home, "extensions", "list")


def run_host(program: str, home: Path, *words: str) -> str:
    done = subprocess.run(
        [program, *words],
        cwd=home,
        env=host_environment(home),
        input="y\n",
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_plugin_that_may_not_keep_has_no_hook_that_only_keeps(home: Path) -> None:
    assert connect("claude-code", "--plugin", str(home / "plugin")) == 0
    assert (
        (home / "plugin" / "skills" / "distil" / "SKILL.md").read_text().startswith("---\nname: distil\ndescription: ")
    )
    hooks = json.loads((home / "plugin" / "hooks" / "hooks.json").read_text())["hooks"]
    assert "SessionStart" in hooks
    assert "Stop" not in hooks
    for answer in ("--capture",), ():  # an answer of before stands
        assert connect("claude-code", "--plugin", str(home / "plugin"), *answer) == 0
        assert "Stop" in json.loads((home / "plugin" / "hooks" / "hooks.json").read_text())["hooks"]


@pytest.mark.parametrize("host", ["cursor", "opencode"])
def test_a_host_without_such_plugins_says_so(home: Path, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert connect(host, "--plugin", str(home / "plugin")) != 0
    assert "takes none" in capsys.readouterr().err


def test_a_folder_that_holds_something_else_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "plugin").mkdir()
    (home / "plugin" / "letter.txt").write_text("mine")
    assert connect("claude-code", "--plugin", str(home / "plugin")) != 0
    assert "holds something else" in capsys.readouterr().err


@pytest.mark.parametrize("host", PLUGINS)
def test_a_check_says_what_is_wrong_with_a_plugin(home: Path, host: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = home / PLUGINS[host]
    place = HostEnvironment(home, sys.platform, {})
    store = home / ".hermes" / "memory.db"

    def found() -> list[tuple[bool, str]]:
        return [(finding.ok, finding.detail) for finding in examine_hooks(place, store, host)]

    assert found() == []
    assert connect(host) == 0
    assert found() == [(True, f"the plugin {file}")]
    text = file.read_text()
    for before, after, wanted in (
        ("hermes-memory-hook", "hermes-memory-hook-gone", "is gone"),
        ("const MAX_CHARS", "const MOST_CHARS", "of another version"),
        ("const COMMAND", "const NOTHING", "no plugin of ours"),
    ):
        file.write_text(text.replace(before, after))
        [(ok, said)] = found()
        assert not ok
        assert wanted in said
        assert f"`hermes-memory-bridge connect {host}` mends it" in said
    file.unlink()
    assert [ok for ok, _ in found()] == [False]


def test_a_plugin_that_was_never_heard_fails_the_check(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert connect("opencode") == 0
    capsys.readouterr()
    assert run_bridge_command(["connect", "opencode", "--check"]) == 1
    said = capsys.readouterr().out
    assert "hermes-memory.js" in said
    assert "never heard since they were installed" in said
