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
