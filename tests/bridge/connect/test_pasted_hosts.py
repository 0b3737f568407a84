"""Hosts that this program knows by documents alone: the lines are printed, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bridge.connect.test_connect import connect


def test_the_lines_for_antigravity_are_printed_and_nothing_is_written(tmp_path: Path) -> None:
    printed = connect(tmp_path, "antigravity", "--theme", "shop")
    assert printed.returncode == 0, printed.stderr
    assert "by its documents alone, not tried" in printed.stdout
    entry = json.loads(printed.stdout.split("mcp_config.json):\n")[1].split("\n\n")[0])["mcpServers"]["hermes-memory"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-2:] == ["--theme", "shop"]
    assert [path for path in tmp_path.rglob("*") if "gemini" in str(path)] == []


@pytest.mark.parametrize("option", ["--check", "--remove", "--project"])
def test_what_was_not_written_is_neither_checked_nor_removed(tmp_path: Path, option: str) -> None:
    refused = connect(tmp_path, "antigravity", option, "--yes")
    assert refused.returncode == 1
    assert "nothing is written for antigravity" in refused.stderr


def test_gemini_says_whom_it_still_serves(tmp_path: Path) -> None:
    assert "`hermes-memory-bridge connect antigravity`" in connect(tmp_path, "gemini", "--dry-run").stdout
    connect(tmp_path, "gemini", "--yes")
    assert "antigravity" not in connect(tmp_path, "gemini", "--remove", "--yes").stdout
