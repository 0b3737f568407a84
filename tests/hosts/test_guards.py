"""Whether a guarded command is not run, and the model reads why, where the host is started with everything allowed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

FACT = "C[release]: the changelog comes first"
PLAIN = "printf %d 0x3f3"
GUARDED = "cd . && printf %d 0x7e6"
"""What they print stands in neither: hosts repeat a command that they refuse."""
PROMPT = "Please release it"

SHELLS: dict[str, tuple[str, str]] = {
    "claude-code": ("Bash", "command"),
    "codex": ("exec_command", "cmd"),
    "gemini": ("run_shell_command", "command"),
    "copilot": ("bash", "command"),
    "qwen": ("run_shell_command", "command"),
    "opencode": ("bash", "command"),
}


def to_call(host: str, command: str, then: Rule | None = None) -> Rule:
    tool, member = SHELLS[host]
    arguments: dict[str, Any] = {member: command}
    if host not in ("codex",):
        arguments["description"] = "Release"
    if host == "qwen":
        arguments["is_background"] = False
    return Rule(PROMPT, tool=tool, arguments=arguments, then=then)


def guard(host: HostProgram, *options: str) -> None:
    host.home.remember(FACT)
    uid = host.home.memory("facts", "-o", "csv", "--fields", "uid").split()[-1]
    host.home.run("hermes-memory-tui", "guard", "add", uid, "printf %d 0x7*", "--yes", *options)


@pytest.mark.parametrize("name", HOST_PROGRAMS)
@pytest.mark.parametrize("options", [(), ("--deny",)], ids=["ask", "deny"])
def test_a_guarded_command_is_not_run_and_the_model_reads_the_fact(
    start_host: StartHost, name: str, options: tuple[str, ...]
) -> None:
    host = start_host(name)
    host.connect()
    guard(host, *options)
    host.model.rules.append(to_call(name, PLAIN, to_call(name, GUARDED)))

    requests = host.ask(PROMPT)

    results = [message.text for message in requests[-1].messages if message.is_tool_result]
    assert len(results) == 2
    assert "1011" in results[0], "other commands run"
    assert "2022" not in results[1]
    assert FACT in results[1]
