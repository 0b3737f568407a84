"""What one more attribute, type, operation, tool or host costs: the files that a script changes here in a copy of the product."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from hermes_memory_store.model import Rights
from hermes_memory_store.store import Store
from tests.bridge.running import INITIALIZE, INITIALIZED, until
from tests.tools.structure import ROOMS, ROOT

ATTRIBUTE = (
    ("store/hermes_memory_store/database/migration_sql/m015_note.sql", "", "ALTER TABLE facts ADD COLUMN note TEXT;\n"),
    ("store/hermes_memory_store/database/schema.py", "STORE_VERSION = 14", "STORE_VERSION = 15"),
    (
        "store/hermes_memory_store/items/kinds.py",
        "    cites: str | None = None\n\n\n@dataclass",
        "    cites: str | None = None\n    note: str | None = None\n\n\n@dataclass",
    ),
    (
        "store/hermes_memory_store/items/kinds.py",
        '        Attribute("cites", default=None, is_optional=True, is_untold=True, phrase="what it cites"),\n',
        '        Attribute("cites", default=None, is_optional=True, is_untold=True, phrase="what it cites"),\n'
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

TOOL = (
    "bridge/hermes_memory_bridge/tools/count_tools.py",
    "",
    '''"""`memory_count` and `memory_close_all`, which a test adds."""

from hermes_memory_bridge.toolkit.arguments import text
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import COUNT, tool
from hermes_memory_store.model import Actor, FactFilter, ScopeStatus


@tool(
    title="Count facts",
    description="How many facts a scope has.",
    gives={"count": COUNT},
    about="scope",
    reads_only=True,
    repeatable=True,
)
def memory_count(connection: Connection, scope: str = text("The scope.", required=True)) -> ToolResult:
    count = connection.store.facts.count(FactFilter(theme=connection.theme, scopes=frozenset({scope})))
    return ToolResult(f"{count} fact(s)", {"count": count})


@tool(title="Close all", description="Close every scope.", gives={"closed": COUNT}, destroys=True)
def memory_close_all(connection: Connection) -> ToolResult:
    actor, scopes = Actor("session", connection.session().name), connection.store.scopes.list(connection.theme)
    labels = [scope.label for scope in scopes if scope.status is ScopeStatus.OPEN]
    for label in labels:
        connection.store.scopes.close(connection.theme, label, actor=actor)
    return ToolResult(f"closed {len(labels)}", {"closed": len(labels)})
''',
)

WORKER = """
import asyncio
from hermes_memory_bridge import AsyncMemoryClient, MemoryClient

with MemoryClient(theme="ops") as memory:
    memory.write("D[cache]: redis", scope="deploys")
    print(memory.call_tool("memory_count", scope="deploys").data["count"])

async def count():
    async with AsyncMemoryClient(theme="ops") as memory:
        return (await memory.call_tool("memory_count", scope="deploys")).data["count"]

print(asyncio.run(count()))
"""

HOST = {
    "title": "Scribe",
    "client_names": ["scribe-cli"],
    "entry": {"path": "{SCRIBE_HOME or ~/.scribe}/config.toml", "kind": "toml", "key": "servers"},
    "hooks": {
        "path": "{SCRIBE_HOME or ~/.scribe}/hooks.json",
        "timeout_key": "seconds",
        "lines": [
            {"native": "Begin", "event": "start", "timeout_s": 5},
            {"native": "Finish", "event": "turn", "timeout_s": 5, "gives": False, "keeps": True},
        ],
    },
    "permissions": {"file_path": "~/.scribe/tools.json", "path": ["free"], "tool_form": "memory/TOOL"},
    "answers": {"forms": {"start": "nested"}, "fields": {"session": ["scribe_id"]}, "texts": {"turn": ["answered"]}},
    "habits": ["late transcripts"],
    "transcript": {"roles": {"me": "user", "it": "assistant"}, "text": "body.text"},
}
"""The file of a host that nobody knows."""

HOOK = "from hermes_memory_bridge.hook_program.program import main; main()"

TRANSCRIPT = """
from hermes_memory_bridge.hook_service.transcripts.transcript_file import parse_line
message = parse_line("scribe", b'{"type": "it", "body": {"text": "Port 5433."}}')
print(message.role, message.text)
"""


def copy_product(folder: Path) -> None:
    for room in ROOMS:
        package = f"hermes_memory_{room}"
        shutil.copytree(ROOT / room / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))


def change_file(folder: Path, name: str, before: str, after: str) -> None:
    file = folder / name.partition("/")[2]
    text = file.read_text(encoding="utf-8") if before else ""
    assert text.count(before) == 1 or not before, f"{name}: {before!r} stands there {text.count(before)} times"
    file.write_text(text.replace(before, after) if before else after, encoding="utf-8")


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}",
        "HOME": str(folder),
        "HERMES_HOME": str(folder),
        "HERMES_MEMORY_DB": str(folder / "memory.db"),
        "HERMES_MEMORY_LINGER": "1",
    }


def run(folder: Path, *command: str, lines: str = "") -> str:
    done = subprocess.run(
        [sys.executable, *command],
        input=lines,
        cwd=folder,
        env=environment(folder),
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


def test_a_host_is_one_file_of_data(tmp_path: Path) -> None:
    copy_product(tmp_path)
    data = tmp_path / "hermes_memory_store" / "hosts" / "data"
    (data / "scribe.json").write_text(json.dumps(HOST))
    db, scribe, bridge = tmp_path / "memory.db", tmp_path / ".scribe", ("-m", "hermes_memory_bridge")

    connected = run(
        tmp_path, *bridge, "connect", "scribe", "--yes", "--capture", "--allow", "--db", str(db), "--theme", "ops"
    )
    assert "Scribe" in connected
    entry = tomllib.loads((scribe / "config.toml").read_text())["servers"]["hermes-memory"]
    assert entry["args"][-4:] == ["--db", str(db), "--theme", "ops"]
    hooks = json.loads((scribe / "hooks.json").read_text())["hooks"]
    assert {event: group[0]["hooks"][0]["seconds"] for event, group in hooks.items()} == {"Begin": 5, "Finish": 5}
    assert "memory/memory_write" in json.loads((scribe / "tools.json").read_text())["free"]

    call_tool(tmp_path, "memory_write", {"content": "V[port]: 5433"})
    try:
        said = json.dumps({"scribe_id": "s-1", "cwd": str(tmp_path)})
        words = ("-c", HOOK, "scribe", "start", "--db", str(db), "--theme", "ops")
        answer = json.loads(run(tmp_path, *words, lines=said))["hookSpecificOutput"]
        assert answer["hookEventName"] == "Begin"
        assert "V[port]: 5433" in answer["additionalContext"]
        said = json.dumps({"scribe_id": "s-1", "cwd": str(tmp_path), "answered": "The port is 5433."})
        run(tmp_path, "-c", HOOK, "scribe", "turn", *words[4:], lines=said)
        cli = ("-m", "hermes_memory_tui", "--db", str(db), "--theme", "ops")
        until(lambda: "The port is 5433." in run(tmp_path, *cli, "turns"), "the captured turn")
    finally:
        run(tmp_path, *bridge, "stop", "--db", str(db))
    assert run(tmp_path, "-c", TRANSCRIPT) == "assistant Port 5433.\n"

    run(tmp_path, *bridge, "connect", "scribe", "--remove", "--yes", "--db", str(db))
    assert not (scribe / "hooks.json").exists()
    assert not (scribe / "tools.json").exists()


def call_tool(folder: Path, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool through a shim, which starts a bridge of the same product."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    lines = "".join(json.dumps(message) + "\n" for message in (INITIALIZE, INITIALIZED, call))
    shim = ("-m", "hermes_memory_bridge", "--db", str(folder / "memory.db"), "--theme", "ops")
    answers = [json.loads(line) for line in run(folder, *shim, lines=lines).splitlines()]
    return next(answer["result"]["structuredContent"] for answer in answers if answer.get("id") == 1)


async def test_a_tool_is_one_file(tmp_path: Path) -> None:
    copy_product(tmp_path)
    change_file(tmp_path, *TOOL)
    assert run(tmp_path, "-c", WORKER).split() == ["1", "1"]
    with Store.open(tmp_path / "memory.db") as store:
        _, token = store.credentials.add("writer", "ops", Rights(purge=False))
        _, narrow = store.credentials.add("counter", "ops", Rights(tools=frozenset({"memory_count"})))

    async with shim(tmp_path, "--theme", "ops") as host:
        counted = await host.call_tool("memory_count", {"scope": "deploys"})
        assert counted.structured_content == {"count": 1}
        tools = {tool.name: tool for tool in (await host.list_tools()).tools}
        assert list(tools)[-2:] == ["memory_close_all", "memory_count"]
        assert tools["memory_count"].annotations.read_only_hint is True
        assert tools["memory_close_all"].annotations.destructive_hint is True
        assert tools["memory_count"].input_schema["required"] == ["scope"]
        missing = await host.call_tool("memory_count", {})
        assert missing.structured_content["error"]["message"] == "scope is required"
    async with shim(tmp_path, "--token", token) as host:
        denied = await host.call_tool("memory_close_all", {})
        assert denied.structured_content["error"]["code"] == "access.denied"
        assert (await host.call_tool("memory_count", {"scope": "deploys"})).structured_content == {"count": 1}
    async with shim(tmp_path, "--token", narrow) as host:
        assert [tool.name for tool in (await host.list_tools()).tools] == ["memory_count"]

    reference = "from tests.tools.reference import tool_page; print(tool_page())"
    assert "### `memory_count`\n\nHow many facts a scope has." in run(tmp_path, "-c", reference)


def shim(folder: Path, *options: str) -> Client:
    command = ("-m", "hermes_memory_bridge", "--db", str(folder / "memory.db"), *options)
    return Client(
        stdio_client(
            StdioServerParameters(command=sys.executable, args=[*command], env=environment(folder), cwd=folder),
            sys.stderr,
        )
    )
