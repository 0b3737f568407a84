"""What the page on uninstalling says is enough: after its steps, only files that it names are left."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "uninstall.md"


def run(home: Path, program: str, *words: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("HERMES_", "XDG_"))}
    env |= {"HOME": str(home), "HERMES_MEMORY_SECRETS": "file"}
    done = subprocess.run(
        [sys.executable, "-m", program, *words], env=env, cwd=home, input="", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, f"{words}: {done.stderr}{done.stdout}"
    return done.stdout


def named_files() -> list[str]:
    """The file names and patterns in the page's table, without their folders."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## 5.")
    cells = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_after_the_steps_of_the_page_only_files_that_it_names_are_left(tmp_path: Path) -> None:
    (tmp_path / ".hermes").mkdir()
    (tmp_path / ".cursor").mkdir()
    config = tmp_path / ".cursor" / "mcp.json"
    config.write_text('{\n  "mcpServers": {}\n}\n')
    host = tmp_path / ".hermes" / "config.yaml"
    host.write_text("model: fast  # the good one\n")
    run(tmp_path, "hermes_memory_tui", "write", "C[db.id]: UUID mandatory")
    run(tmp_path, "hermes_memory_bridge", "connect", "cursor", "--yes")
    run(tmp_path, "hermes_memory_bridge", "connect", "hermes-agent", "--provider", "--yes")
    run(tmp_path, "hermes_memory_bridge", "token", "add", "ci", "--rights", "read")
    run(tmp_path, "hermes_memory_bridge", "start")

    run(tmp_path, "hermes_memory_tui", "backup", ".hermes/memory.db.mine.bak")
    run(tmp_path, "hermes_memory_bridge", "connect", "cursor", "--remove", "--yes")
    run(
        tmp_path, "hermes_memory_bridge", "connect", "hermes-agent", "--provider", "--remove", "--all-profiles", "--yes"
    )
    run(tmp_path, "hermes_memory_bridge", "stop")
    run(tmp_path, "hermes_memory_bridge", "token", "revoke", "ci")

    assert config.read_text() == '{\n  "mcpServers": {}\n}\n'
    assert host.read_text() == "model: fast  # the good one\n"
    assert "revoked" in run(tmp_path, "hermes_memory_bridge", "token", "list")
    left = [file.relative_to(tmp_path / ".hermes") for file in (tmp_path / ".hermes").rglob("*") if file.is_file()]
    patterns = [name.removeprefix("~/.hermes/").removeprefix("$HERMES_HOME/") for name in named_files()]
    patterns = [f"memory.db{name}" if name.startswith("-") else name for name in patterns]
    unnamed = [
        str(file)
        for file in left
        if not any(fnmatch.fnmatch(str(file), f"{one}*" if one.endswith("/") else one) for one in patterns)
    ]
    assert [name for name in unnamed if not re.fullmatch(r"config\.yaml(\.\w+\.bak)?", name)] == []
