"""hermes-memory's own calls, answered by our bridge as hermes-memory 0.3.0 answered them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import Implementation

from hermes_memory_store.context.fence import parse_fenced_text
from tests.e2e.seed_calls import CALLS, DIFFERENT, named

ANSWERS = json.loads((Path(__file__).parent / "seed_answers.json").read_text())


def masked(tool: str, text: str) -> str:
    """Ids are made anew each time; facts of one second came in no defined order from a clock of whole seconds."""
    plain = re.sub(r"\b[0-9a-f]{8}\b", "<id>", text)
    return "\n".join(sorted(plain.splitlines())) if tool == "memory_export" else plain


async def test_the_same_calls_get_the_same_answers(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hermes_memory_bridge", "--db", str(tmp_path / "memory.db")],
        env={"HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "HERMES_MEMORY_LINGER": "0.1"},
    )
    differing = []
    host = Implementation(name="hermes-agent", version="0.19.0")  # whose breaker takes refusals for a dead server
    async with Client(server, mode="legacy", client_info=host) as client:
        for call, recorded in zip(CALLS, ANSWERS, strict=True):
            result = await client.call_tool(*call)
            assert not result.is_error
            ours = "\n".join(part.text for part in result.content)  # type: ignore[union-attr]
            ours = parse_fenced_text(ours)
            if masked(call[0], ours) != masked(call[0], recorded):
                differing.append((named(call), recorded, ours))

    unexplained = [one for one in differing if not any(one[0].startswith(flaw) for flaw in DIFFERENT)]
    assert unexplained == []


def test_every_listed_difference_is_one_of_the_calls() -> None:
    for flaw in DIFFERENT:
        assert any(named(call).startswith(flaw) for call in CALLS)
