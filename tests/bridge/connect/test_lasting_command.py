"""A host is never given a command that stands in a cache: the layouts are those of uv 0.13 and pipx 1.8."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

CACHES = {
    "uvx": (".cache/uv/archive-v0/4qVBhONfLpGLAvmY", ".cache/uv/CACHEDIR.TAG", ".cache/uv"),
    "uv run --with": (".cache/uv/environments-v2/tool-0f2b", ".cache/uv/CACHEDIR.TAG", ".cache/uv"),
    "pipx run": (".cache/pipx/3937d01e0be686c", ".cache/pipx/3937d01e0be686c/pipx_metadata.json", ".cache/pipx"),
}
INSTALLATIONS = {
    "uv tool install": (
        ".local/share/uv/tools/hermes-memory-tui",
        ".local/share/uv/tools/hermes-memory-tui/uv-receipt.toml",
    ),
    "pipx install": (
        ".local/share/pipx/venvs/hermes-memory-tui",
        ".local/share/pipx/venvs/hermes-memory-tui/pipx_metadata.json",
    ),
    "uv venv": ("project/.venv", "project/.venv/CACHEDIR.TAG"),
}


def environment_at(home: Path, prefix: str, mark: str) -> Path:
    """A real virtual environment with the programs that hosts start in it, and the file by which its owner marks it."""
    folder = home / prefix
    venv.create(folder, symlinks=True)
    (home / mark).parent.mkdir(parents=True, exist_ok=True)
    (home / mark).write_text("")
    library = next((folder / "lib").glob("python3*")) / "site-packages"
    packages = [path for path in sys.path if path.endswith("-packages")] or site.getsitepackages()
    (library / "packages.pth").write_text("\n".join(packages))
    for name, module in (("hermes-memory-hook", "hook_program.program"), ("hermes-memory-bridge", "__main__")):
        script = folder / "bin" / name
        script.write_text(f"#!{folder}/bin/python\nfrom hermes_memory_bridge.{module} import main\nmain()\n")
        script.chmod(0o755)
    return script


def run(script: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HERMES_", "XDG_"))}
    env |= {"HOME": str(home), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run([script, *words], env=env, input="", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("kind", CACHES)
def test_a_program_that_runs_from_a_cache_connects_nothing_and_names_the_way_out(kind: str, tmp_path: Path) -> None:
    prefix, mark, cache = CACHES[kind]
    script = environment_at(tmp_path, prefix, mark)
    connected = run(script, tmp_path, "connect", "cursor", "--yes")
    assert connected.returncode == 1
    assert str(tmp_path / cache) in connected.stderr
    assert "uv tool install ." in connected.stderr
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("words", [("connect", "hermes-agent", "--provider", "--yes"), ("install-service", "--print")])
def test_neither_the_provider_nor_a_service_relies_on_a_cache(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / ".hermes").mkdir()
    script = environment_at(tmp_path, *CACHES["uvx"][:2])
    refused = run(script, tmp_path, *words)
    assert refused.returncode == 1
    assert "uv tool install ." in refused.stderr
    assert not list((tmp_path / ".hermes").iterdir())


def test_what_a_host_was_given_can_be_taken_out_from_a_cache(tmp_path: Path) -> None:
    lasting = environment_at(tmp_path, *INSTALLATIONS["uv tool install"])
    assert run(lasting, tmp_path, "connect", "cursor", "--yes").returncode == 0
    script = environment_at(tmp_path, *CACHES["uvx"][:2])
    assert run(script, tmp_path, "connect", "cursor", "--remove", "--yes").returncode == 0
    assert (tmp_path / ".cursor" / "mcp.json").read_text() == "{}\n"


@pytest.mark.parametrize("kind", INSTALLATIONS)
def test_an_installation_is_named_by_its_own_path(kind: str, tmp_path: Path) -> None:
    script = environment_at(tmp_path, *INSTALLATIONS[kind])
    connected = run(script, tmp_path, "connect", "cursor", "--yes")
    assert connected.returncode == 0, connected.stderr
    entry = json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]["hermes-memory"]
    python = script.with_name(Path(entry["command"]).name)
    assert entry == {"command": str(python), "args": ["-EP", str(script), "--tools", "essential"]}
