"""What one more attribute, type or operation costs: the few files that a script changes here in a copy of the product."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bridge.running import INITIALIZE, INITIALIZED
from tests.tools.structure import ROOMS, ROOT

ATTRIBUTE = (
    ("store/hermes_memory_store/database/migration_sql/m011_note.sql", "", "ALTER TABLE facts ADD COLUMN note TEXT;\n"),
    ("store/hermes_memory_store/database/schema.py", "STORE_VERSION = 10", "STORE_VERSION = 11"),
    (
        "store/hermes_memory_store/items/kinds.py",
        "    verdict: str | None = None\n\n\n@dataclass",
        "    verdict: str | None = None\n    note: str | None = None\n\n\n@dataclass",
    ),
    (
        "store/hermes_memory_store/items/kinds.py",
        '        Attribute("verdict", default=None, is_optional=True, is_local=True, phrase="its check"),\n',
        '        Attribute("verdict", default=None, is_optional=True, is_local=True, phrase="its check"),\n'
        '        Attribute("note", default=None, is_optional=True),\n',
    ),
    (
        "store/hermes_memory_store/model.py",
        "    read_at: Millis | None = None\n",
        "    read_at: Millis | None = None\n    note: str | None = None\n",
    ),
)
"""File, text to replace and text that replaces it; a file without a text to replace is new."""

TYPE = (
    (
        "store/hermes_memory_store/fact_types.py",
        '    DONE = "✓"',
        '    HYPOTHESIS = "H", "Hypotheses", "question", (1.0, 0.3, 0.05), "white"\n    DONE = "✓"',
    ),
)

OPERATION = (
    (
        "store/hermes_memory_store/operations.py",
        '        Operation("pin", "pinned", is_deliberate=True),\n',
        '        Operation("flag", "flagged", is_deliberate=True),\n'
        '        Operation("pin", "pinned", is_deliberate=True),\n',
    ),
)


def copy_product(folder: Path) -> None:
    for room in ROOMS:
        package = f"hermes_memory_{room}"
        shutil.copytree(ROOT / room / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


def change_file(folder: Path, name: str, before: str, after: str) -> None:
    file = folder / name.partition("/")[2]
    text = file.read_text(encoding="utf-8") if before else ""
    assert text.count(before) == 1 or not before, f"{name}: {before!r} stands there {text.count(before)} times"
    file.write_text(text.replace(before, after) if before else after, encoding="utf-8")


def run(folder: Path, *command: str, lines: str = "") -> str:
    environment = os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "HOME": str(folder),
        "HERMES_HOME": str(folder),
    }
    done = subprocess.run(
        [sys.executable, *command],
        input=lines,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_attribute_a_type_and_an_operation_are_rows_of_tables(tmp_path: Path) -> None:
    copy_product(tmp_path)
    for name, before, after in (*ATTRIBUTE, *TYPE, *OPERATION):
        change_file(tmp_path, name, before, after)
    assert [len({name for name, *_ in change}) for change in (ATTRIBUTE, TYPE, OPERATION)] == [4, 1, 1]

    run(tmp_path, "-m", "tests.e2e.added_rows", str(tmp_path))

    cli = ("-m", "hermes_memory_tui", "--db", str(tmp_path / "memory.db"), "--theme", "ops")
    (fact,) = json.loads(run(tmp_path, *cli, "facts", "type:hypothesis", "--json"))["facts"]
    assert (fact["type"], fact["note"]) == ("hypothesis", "seen twice")
    assert "flag" in run(tmp_path, *cli, "log")
    assert call_tool(tmp_path, "memory_search", {"query": "evictions"})["facts"][0]["note"] == "seen twice"


def call_tool(folder: Path, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool through a shim, which starts a bridge of the same product."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    lines = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, call))
    shim = ("-m", "hermes_memory_bridge", "--db", str(folder / "memory.db"), "--theme", "ops")
    answers = [json.loads(line) for line in run(folder, *shim, lines=lines).splitlines()]
    return next(answer["result"]["structuredContent"] for answer in answers if answer.get("id") == 1)
