"""What is connected inside a project belongs to no machine, and taking it out leaves nothing behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hermes_memory_bridge.connect.hosts import HOSTS, to_started_command
from tests.bridge.connect.test_connect import EXISTING, connect_here
from tests.bridge.connect.test_hook_installation import own_events

WITH_PROJECT = [name for name, host in HOSTS.items() if host.project is not None]


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of work; no host is installed, so that none is asked."""
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("empty")))
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, backups included."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", WITH_PROJECT)
@pytest.mark.parametrize("words", [(), ("--capture", "--theme", "shop")])
def test_no_file_of_a_project_names_anything_of_this_machine(
    name: str, words: tuple[str, ...], tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert connect_here(tmp_path, name, "--project", "--yes", *words) == 0
    assert contents(project)
    for place, content in contents(project).items():
        for path in (sys.prefix, str(Path(sys.executable).parent), str(tmp_path), str(Path.home())):
            assert path.encode() not in content, place
    host = HOSTS[name]
    entry = host.find_entry((project / str(host.project)).read_text())
    assert entry is not None
    assert to_started_command(entry)[0] == "hermes-memory-bridge"
    assert "is not on your PATH" in capsys.readouterr().out


@pytest.mark.parametrize("name", WITH_PROJECT)
def test_taking_a_project_out_leaves_nothing_behind(name: str, tmp_path: Path, project: Path) -> None:
    for words in ((), ("--capture",), ("--theme", "shop")):
        assert connect_here(tmp_path, name, "--project", "--yes", *words) == 0
    assert connect_here(tmp_path, name, "--project", "--remove", "--yes") == 0
    assert list(project.iterdir()) == []
    assert project.is_dir()


@pytest.mark.parametrize("name", WITH_PROJECT)
def test_a_file_that_a_project_had_comes_back_and_no_backup_lies_beside_it(
    name: str, tmp_path: Path, project: Path
) -> None:
    host = HOSTS[name]
    file = project / str(host.project)
    file.parent.mkdir(exist_ok=True)
    file.write_text(EXISTING[host.kind] % host.key)
    before = contents(project)
    for words in ((), ("--theme", "shop")):
        assert connect_here(tmp_path, name, "--project", "--yes", *words) == 0
        assert not list(project.rglob("*.bak"))
    assert connect_here(tmp_path, name, "--project", "--remove", "--yes") == 0
    assert contents(project) == before


def test_hooks_of_a_project_are_taken_out_from_anywhere_without_a_backup(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = project / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Read"]}}\n')
    assert connect_here(tmp_path, "claude-code", "--project", "--yes") == 0
    assert own_events(settings)
    assert "mcp__hermes-memory__memory_write" in json.loads(settings.read_text())["permissions"]["allow"]
    monkeypatch.chdir(tmp_path)
    assert connect_here(tmp_path, "--all", "--remove", "--yes") == 0
    assert settings.read_text() == '{"permissions": {"allow": ["Read"]}}\n'
    assert not list(project.rglob("*.bak"))


def test_a_store_of_this_machine_is_refused_for_a_project(
    tmp_path: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert connect_here(tmp_path, "claude-code", "--project", "--yes", "--db", str(tmp_path / "own.db")) != 0
    assert "--db names a file of this machine" in capsys.readouterr().err
    assert contents(project) == {}


def test_a_project_that_an_earlier_version_connected_is_renewed(tmp_path: Path, project: Path) -> None:
    entry = {
        "command": "/home/me/.venv/bin/hermes-memory-bridge",
        "args": ["--db", "/home/me/m.db", "--theme", "shop"],
    }
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"hermes-memory": entry}}, indent=2) + "\n")
    assert connect_here(tmp_path, "claude-code", "--project", "--yes", "--no-hooks") == 0
    renewed = json.loads((project / ".mcp.json").read_text())["mcpServers"]["hermes-memory"]
    assert (renewed["command"], renewed["args"]) == ("hermes-memory-bridge", ["--theme", "shop"])
