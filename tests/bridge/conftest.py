"""A real client on a real bridge process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.bridge.running import bridge, environment


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def served(db: Path) -> Iterator[Path]:
    """A store that a bridge serves."""
    with bridge(db):
        yield db


@pytest.fixture
def server(served: Path) -> StdioServerParameters:
    """The command an MCP host would name, with its bridge running: `test_shim.py` tests that a shim starts one."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_memory_bridge", "--db", str(served)],
        cwd=served.parent,  # a home is no project, so that the theme is `default`
        env=environment(served.parent),  # else the client passes on a few variables, without the path of the modules
    )


async def ask(client: Client, tool: str, **arguments: object) -> str:
    """The text of one answer. A refusal is a text too, never a protocol error, and marked as one."""
    result = await client.call_tool(tool, dict(arguments))
    assert result.structured_content is not None
    assert result.is_error is ("error" in result.structured_content)
    return "\n".join(part.text for part in result.content)  # type: ignore[union-attr]
