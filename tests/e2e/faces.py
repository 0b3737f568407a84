"""The two faces of one memory: an agent at the far end of MCP stdio, and a person at the inspector."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from textual.pilot import Pilot

from hermes_memory_tui.inspector import Inspector
from hermes_memory_tui.model.memory import Memory
from hermes_memory_tui.screens.facts_screen import MainScreen
from tests.processes import PATIENCE_S


def agent(db: Path, theme: str = "default") -> Client:
    """An MCP host's client, with a bridge process of its own at the other end."""
    arguments = ["-m", "hermes_memory_bridge", "--db", str(db), "--theme", theme]
    home = {"HOME": str(db.parent), "HERMES_HOME": str(db.parent), "HERMES_MEMORY_LINGER": "0.1"}
    return Client(StdioServerParameters(command=sys.executable, args=arguments, env=home))


async def told(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error
    return "\n".join(block.text for block in result.content if block.type == "text")


async def remember(client: Client, line: str, scope: str | None = None) -> str:
    """Write a fact as an agent; its uid."""
    result = await client.call_tool("memory_write", {"content": line} | ({"scope": scope} if scope else {}))
    assert result.structured_content is not None
    uid = result.structured_content["uid"]
    assert isinstance(uid, str)
    return uid


class Person:
    """Somebody in front of the inspector: presses keys, and sees what is drawn."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self.pilot = pilot

    @property
    def main(self) -> MainScreen:
        return next(screen for screen in self.pilot.app.screen_stack if isinstance(screen, MainScreen))

    def rows(self) -> list[str]:
        """The rows of the fact table as they are drawn."""
        table = self.main.table
        lines = range(table.head_lines, min(len(table.keys) + table.head_lines, table.size.height))
        return [table.render_line(y).text.strip() for y in lines]

    def sees(self, *words: str) -> bool:
        """Whether one row shows all these words."""
        return any(all(word in row for word in words) for row in self.rows())

    async def until(self, happened: Callable[[], bool], what: str) -> None:
        """Wait until something is so. :raises AssertionError: with what is drawn instead, when it never is"""
        began = time.perf_counter()
        while not happened():
            assert time.perf_counter() - began < PATIENCE_S, f"never: {what}; drawn: {self.rows()}"
            await self.pilot.pause(0.01)

    async def types(self, text: str) -> None:
        await self.pilot.press(*(KEYS.get(character, character) for character in text))


KEYS = {" ": "space", ":": "colon", ".": "full_stop", "-": "minus", "/": "slash", ",": "comma"}


def inspector(db: Path, theme: str | None = None) -> Inspector:
    return Inspector(Memory.open(db), theme)
