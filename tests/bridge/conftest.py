"""A real client on a real bridge process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def server(db: Path, tmp_path: Path) -> StdioServerParameters:
    """The command an MCP host would name."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_memory_bridge", "--db", str(db)],
        env={"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "HERMES_MEMORY_LINGER": "0.1"},
    )


async def ask(client: Client, tool: str, **arguments: object) -> str:
    """The text of one answer. A refusal is a text too, never a protocol error, and marked as one."""
    result = await client.call_tool(tool, dict(arguments))
    assert result.structured_content is not None
    assert result.is_error is ("error" in result.structured_content)
    return "\n".join(part.text for part in result.content)  # type: ignore[union-attr]
