"""What registries, hosts, systemd and launchd read about the package agrees with the package."""

from __future__ import annotations

import json
import os
import plistlib
import re
import runpy
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from hermes_memory_bridge import __version__
from hermes_memory_bridge.daemon import service

HOUSE = Path(__file__).parents[2]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]


def test_the_registry_is_told_of_this_package_and_version() -> None:
    server = json.loads((HOUSE / "server.json").read_text())
    (package,) = server["packages"]
    assert (package["identifier"], package["version"]) == (PROJECT["name"], __version__)
    assert server["version"] == __version__
    assert len(server["description"]) <= 100
    assert package["runtimeArguments"][-1]["value"] in PROJECT["scripts"]
    assert f"mcp-name: {server['name']}" in (HOUSE / "README.md").read_text()


def test_the_bundle_holds_what_a_host_needs(tmp_path: Path) -> None:
    out = tmp_path / "hermes-memory.mcpb"
    subprocess.run([sys.executable, str(HOUSE / "packaging" / "mcpb" / "build.py"), str(out)], check=True)
    with zipfile.ZipFile(out) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
        project = tomllib.loads(bundle.read("pyproject.toml").decode())["project"]
        assert manifest["server"]["entry_point"] in bundle.namelist()
    assert manifest["version"] == __version__
    assert project["dependencies"] == [f"{PROJECT['name']}=={__version__}"]
    assert manifest["server"]["mcp_config"]["args"][3] in PROJECT["scripts"]
    assert [manifest["author"]] == PROJECT["authors"]


def test_the_long_description_leads_nowhere_that_an_index_does_not_have() -> None:
    to_long_description = runpy.run_path(str(HOUSE / "packaging" / "long_description.py"))["to_long_description"]
    text = to_long_description((HOUSE / "README.md").read_text(encoding="utf-8"))
    assert re.findall(r"\]\((?!https?://)[^)]*\)", text) == []
    assert "pip install" in text
    assert "mcp-name:" in text


def test_the_long_description_keeps_what_a_link_says_and_drops_rows_of_pictures() -> None:
    to_long_description = runpy.run_path(str(HOUSE / "packaging" / "long_description.py"))["to_long_description"]
    table = "| | |\n| --- | --- |\n"
    pictures = "| ![b](b.svg) | ![c](c.svg) |\n"
    readme = f"![a](a.svg)\n\n{table}{pictures}| see [the page](docs/a.md#x) | [web](https://w.org) |\n"
    assert to_long_description(readme) == f"\n{table}| see the page | [web](https://w.org) |\n"


def test_what_agents_read_leads_to_files() -> None:
    for name in ("llms.txt", "INSTALL_FOR_AGENTS.md"):
        links = re.findall(r"\]\(([^)#:]+)", (HOUSE / name).read_text(encoding="utf-8"))
        assert links
        assert [link for link in links if not (HOUSE / link).is_file()] == []


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini"])
def test_an_agent_that_follows_the_steps_has_connected_its_host(tmp_path: Path, host: str) -> None:
    """It runs each command of the steps but the installation, in their order, and stops at the first that fails."""
    steps = (HOUSE / "INSTALL_FOR_AGENTS.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", steps, re.DOTALL)
    commands = [line.strip().replace("HOST", host) for block in blocks for line in block.splitlines() if line.strip()]
    assert commands[0] == "pipx install hermes-memory-tui"
    programs = Path(sys.executable).parent
    names = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), "HERMES_HOME": str(tmp_path)}
    printed = {}
    for command in commands[1:]:
        done = subprocess.run(
            command.split(), cwd=tmp_path, env=os.environ | names, capture_output=True, text=True, input=""
        )
        printed[command] = done.stdout
        waits_for_restart = command == f"hermes-memory-bridge connect {host} --check"
        assert done.returncode == waits_for_restart, f"{command}: {done.stdout}{done.stderr}"
    assert host in printed["hermes-memory-bridge connect"]
    assert re.search(r"works: .*\n(.*\n)*.*never heard since they were installed", done.stdout), done.stdout
    for name in re.findall(r"`(--[a-z-]+)`", steps):
        assert name in subprocess.run(
            [programs / "hermes-memory-bridge", "connect", "--help"], capture_output=True, text=True, check=True
        ).stdout.replace(" / ", " ")


def test_a_plugin_for_others_names_no_path_and_answers_for_nobody(tmp_path: Path) -> None:
    words = ("connect", "claude-code", "--plugin", str(tmp_path / "plugin"), "--project", "--capture", "--yes")
    names = {"HOME": str(tmp_path), "HERMES_HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "hermes_memory_bridge", *words], env=os.environ | names, check=True)
    texts = [file.read_text() for file in (tmp_path / "plugin").rglob("*") if file.is_file()]
    assert not any(str(tmp_path) in text or sys.prefix in text for text in texts)
    assert any('"Stop"' in text for text in texts)
    assert [path.name for path in tmp_path.iterdir()] == ["plugin"]


def test_the_source_distribution_takes_all_that_the_tests_read() -> None:
    included = tomllib.loads((HOUSE / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    tracked = {".ci", ".gitignore"} | {name.removeprefix("/") for name in included} | {"pyproject.toml"}
    there = subprocess.run(
        ["git", "ls-tree", "--name-only", "HEAD"], cwd=HOUSE, capture_output=True, text=True, check=False
    )
    listed = there.stdout.split() or [name.removeprefix("/") for name in included]
    assert [name for name in listed if name not in tracked] == []
    assert [name for name in included if not (HOUSE / name.removeprefix("/")).exists()] == []


def test_a_unit_starts_this_installations_command(tmp_path: Path) -> None:
    shown = subprocess.run(
        [
            sys.executable,
            "-m",
            "hermes_memory_bridge",
            "install-service",
            "--print",
            "--db",
            str(tmp_path / "my memory.db"),
        ],
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'serve --db "{tmp_path}/my memory.db"' in shown.stdout
    assert not (tmp_path / ".config").exists()


def test_words_with_signs_are_quoted_for_systemd() -> None:
    assert service.quote_systemd_word("plain") == "plain"
    assert service.quote_systemd_word("a b") == '"a b"'
    assert service.quote_systemd_word('50% "$x"') == '"50%% \\"$$x\\""'


def test_a_launch_agent_has_its_words_apart() -> None:
    agent = plistlib.loads(service.to_launchd_plist(["/bin/bridge", "serve", "--db", "/a b"]).encode())
    assert agent["ProgramArguments"] == ["/bin/bridge", "serve", "--db", "/a b"]
    assert agent["RunAtLoad"] is True


def test_taking_out_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "hermes_memory_bridge", "uninstall-service"],
        env=os.environ | {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0
    assert "there is no" in answer.stdout
