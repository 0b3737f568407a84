"""Record what hermes-memory 0.3.0 answers to `seed_calls.CALLS`, from the real package.

pip install 'hermes-memory==0.3.0' 'mcp<2'     # in an environment of its own
python tests/tools/record_seed_answers.py         # with that environment's Python
"""

from __future__ import annotations

import asyncio
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parents[1] / "e2e"


async def main() -> None:
    """Run the real server over stdio and write its answers beside the calls."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    calls = runpy.run_path(str(HERE / "seed_calls.py"))["CALLS"]
    answers = []
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"HERMES_MEMORY_DB": f"{home}/memory.db", "HERMES_HOME": home}
        server = StdioServerParameters(command=sys.executable, args=["-m", "hermes_memory.mcp.server"], env=environment)
        async with stdio_client(server, sys.stderr) as pipes, ClientSession(*pipes) as session:
            await session.initialize()
            for tool, arguments in calls:
                try:
                    result = await session.call_tool(tool, arguments)
                    answers.append("\n".join(part.text for part in result.content))
                except Exception as error:
                    answers.append(f"protocol error: {error}")
    (HERE / "seed_answers.json").write_text(json.dumps(answers, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main())
