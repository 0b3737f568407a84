"""What a command costs before it does anything: memory, and what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui.commands.conftest import COMMAND, Tell

RESIDENT_KIB = 45 * 1024
"""`status` as a process, at most."""

HEAVY = {"textual", "rich", "mcp", "sqlite_utils", "pydantic", "asyncio", "httpx"}
"""What no command may import: the screen, the protocol, and what only a new or an old store needs."""

FROM_THE_BRIDGE = {"", ".version", ".cli", ".cli.click_support", ".cli.bridge_options", ".cli.connect_commands"}
"""What the inspector's command line shares with the bridge's; it imports nothing else of it."""

RANKING = {
    "hermes_memory_store.find.recall",
    "hermes_memory_store.find.search",
    "hermes_memory_store.find.ranking",
}
"""What a list in another order than that of relevance needs as little as `status` does."""

SAYS_OF_HOSTS = {
    *(".connect", ".connect.hooks", ".connect.hooks.host_states", ".connect.hooks.installation_record"),
    *(".connect.hosts", ".connect.jsonc_edit", ".connect.toml_yaml_edit"),
    *(".backfill", ".backfill.disk_sessions", ".backfill.session_forms"),
    *(".hook_service", ".hook_service.transcripts", ".hook_service.transcripts.transcript_file"),
    *(".hook_program", ".hook_program.program"),
}
"""What `status` needs besides: which hosts delete sessions soon."""

MEASURE = """
import os, resource, sys
if not (child := os.fork()):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
assert os.waitpid(child, 0)[1] == 0
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.parametrize(
    "command",
    ["status", "facts", "search b", "write C[a]:c", "log", "scopes", "doctor", "export", "--help", "purge --dry-run"],
)
def test_a_command_imports_nothing_heavy(tell: Tell, db: Path, command: str) -> None:
    tell("write", "C[a]: b")

    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "hermes_memory_tui", "--db", str(db), *command.split()],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    modules = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    imported = {name.partition(".")[0] for name in modules}
    assert "hermes_memory_tui" in imported
    assert not imported & HEAVY
    if command in ("status", "facts"):
        assert not modules & {*RANKING, "tiktoken", "tempfile", "subprocess", "logging"}
    of_the_bridge = {name for name in modules if name.startswith("hermes_memory_bridge")}
    if command == "doctor":  # it looks at the hooks of connected hosts, too
        hosts = ("hermes_memory_bridge.connect", "hermes_memory_bridge.wire")
        of_the_bridge = {name for name in of_the_bridge if not name.startswith(hosts)}
    assert {name.removeprefix("hermes_memory_bridge") for name in of_the_bridge} <= FROM_THE_BRIDGE | SAYS_OF_HOSTS


def measure(*args: str) -> int:
    """KiB of a command, started by a process that is smaller than it: Linux counts the starter's memory, too."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", MEASURE, *COMMAND, *args], capture_output=True, text=True, check=True, timeout=60
    )
    return int(done.stdout)


def test_status_costs_little_memory(tell: Tell, db: Path) -> None:
    for number in range(50):
        tell("write", f"V[v.{number}]: size {number}", "--scope", "db")

    # How long it takes is measured by tests.benchmarks.process, beside the floor of the same machine.
    assert measure("--db", str(db), "status") <= RESIDENT_KIB
