"""What a host ran and edited is kept as its hooks tell it, once, after a yes of its own; nowhere where it was refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bridge.running import until
from tests.hosts.conftest import StartHost
from tests.hosts.host_home import HostHome
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

PROMPT = "Please build the lighthouse"
FAILS = "ls /no/lighthouse; exit 3"
PASSES = "echo lighthouse stands"
PATCH = "*** Begin Patch\n*** Add File: lighthouse.py\n+one\n*** End Patch\n"

UNTOLD_EDITS = ("codex",)
"""Hosts that run no hook after such an edit, here a patch within a command: it comes from the disk."""

Call = tuple[str, dict[str, Any]]


def calls_of(name: str, shop: Path) -> list[Call]:
    """Return the calls of a host's own tools: a command that fails, an edit where the host has a tool for it, one that passes."""
    file = str(shop / "lighthouse.py")
    shell, member, more = {
        "claude-code": ("Bash", "command", {}),
        "codex": ("exec_command", "cmd", {}),
        "gemini": ("run_shell_command", "command", {}),
        "copilot": ("bash", "command", {"description": "x"}),
        "qwen": ("run_shell_command", "command", {"is_background": False}),
        "opencode": ("bash", "command", {"description": "x"}),
    }[name]
    edit: dict[str, Call] = {
        "claude-code": ("Write", {"file_path": file, "content": "one\n"}),
        "gemini": ("write_file", {"file_path": file, "content": "one\n"}),
        "copilot": ("create", {"path": file, "file_text": "one\n"}),
        "qwen": ("write_file", {"file_path": file, "content": "one\n"}),
        "opencode": ("write", {"filePath": file, "content": "one\n"}),
        "codex": (shell, {member: f"apply_patch <<'EOF'\n{PATCH}EOF"}),
    }
    return [(shell, {member: FAILS, **more}), edit[name], (shell, {member: PASSES, **more})]


def act(start_host: StartHost, name: str, *options: str) -> HostProgram:
    """Connect a host, have it run and edit, and ask once more: what a hook reports in the background has then ended."""
    host = start_host(name)
    host.allow_acts()
    host.home.run("hermes-memory-bridge", "connect", name, "--yes", "--capture", *options)
    rule = None
    for tool, arguments in reversed(calls_of(name, host.home.shop)):
        rule = Rule(PROMPT, tool=tool, arguments=arguments, then=rule)
    assert rule is not None
    host.model.rules.append(rule)
    host.home.start_bridge()
    host.ask(PROMPT)
    host.ask("Thank you", resumed=True)
    return host


def kept(home: HostHome) -> list[tuple[Any, ...]]:
    """Return what all sessions of the store did, each as kind, command or file, and exit code."""
    rows = []
    for session in json.loads(home.memory("--json", "--theme", "shop", "sessions"))["sessions"]:
        found = json.loads(home.memory("--json", "--theme", "shop", "sessions", session["name"]))
        rows += [(one["kind"], one["what"], one["exit_code"], one["error"]) for one in found["actions"]]
    return rows


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_what_a_host_ran_and_edited_is_kept_once(start_host: StartHost, name: str) -> None:
    home = act(start_host, name, "--actions").home
    edit, expected = ("edit", "lighthouse.py", None), {("run", FAILS, 3), ("run", PASSES, 0)}
    expected |= {edit} if name not in UNTOLD_EDITS else set()

    until(lambda: expected <= {row[:3] for row in kept(home)}, f"all actions; there are {kept(home)}", patience_s=60)
    home.stop_bridge()

    rows = kept(home)
    assert sorted(row[:3] for row in rows if row[:2] != ("read", "README.md")) == sorted(expected, key=str)
    [error] = [row[3] for row in rows if row[1] == FAILS]
    assert "No such file or directory" in error
    home.memory("backfill", "--yes", "--actions")  # what hooks brought lies on the disk, too
    brought = [row for row in kept(home) if row not in rows]
    assert [row[:3] for row in brought] == ([edit] if name in UNTOLD_EDITS else [])
    assert len(kept(home)) == len(rows) + len(brought)


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_nothing_of_it_is_on_the_disk_where_only_messages_may_be_kept(start_host: StartHost, name: str) -> None:
    host = act(start_host, name, "--hear", "--no-actions")

    host.home.stop_bridge()

    store = host.home.store
    for words in ("/no/lighthouse", "lighthouse stands", "lighthouse.py"):
        assert [file for file in host.home.files_with(words) if file.is_relative_to(store.parent)] == []
