"""What registries and hosts read about the package agrees with the package."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

from hermes_memory_bridge import __version__

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
