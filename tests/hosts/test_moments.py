"""Whether what is remembered stands in the request that follows its moment: after a read before an edit, and after a failure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.programs.host_program import HostProgram
from tests.hosts.protocols.conversation import ModelRequest
from tests.hosts.stand_in_model import Rule
from tests.hosts.test_actions import PROMPT, calls_of

pytestmark = pytest.mark.hosts

FACT = "C[pricing.rounding]: half up, never to even"
FILE = "pricing/totals.py"
BUILD, CONFIGURE, UNDO = "sh build.sh", "sh configure.sh", "rm configured"
CLEARED = re.compile(rf'cleared on .* by: ran \\?"{CONFIGURE}\\?"; then passed')

READERS = {
    "claude-code": ("Read", "file_path"),
    "gemini": ("read_file", "file_path"),
    "copilot": ("view", "path"),
    "qwen": ("read_file", "file_path"),
    "opencode": ("read", "filePath"),
}
"""The tools that read a file, of hosts that have one."""


def to_run(name: str, command: str) -> Rule:
    (tool, arguments), *_ = calls_of(name, Path())
    member = "cmd" if "cmd" in arguments else "command"
    return Rule(PROMPT, tool=tool, arguments=arguments | {member: command})


def run_calls(host: HostProgram, rules: Sequence[Rule]) -> list[ModelRequest]:
    """Have the model make some calls, one a request; return the requests: the first, and one after each call."""
    rule: Rule | None = None
    for one in reversed(rules):
        rule = replace(one, then=rule)
    assert rule is not None
    host.model.rules = [rule]
    requests = host.ask(PROMPT)
    assert len(requests) == 1 + len(rules)
    return requests


def prepare(start_host: StartHost, name: str) -> HostProgram:
    host = start_host(name)
    host.allow_acts()
    host.home.remember(FACT)
    host.home.run("hermes-memory-bridge", "connect", name, "--yes", "--hooks", "--capture", "--actions")
    (host.home.shop / FILE).parent.mkdir()
    (host.home.shop / FILE).write_text("def total(lines):\n    return round(sum(lines), 2)\n")
    (host.home.shop / "build.sh").write_text(
        "test -f configured || { echo 'error: no configured toolchain'; exit 3; }\n"
    )
    (host.home.shop / "configure.sh").write_text("touch configured\n")
    host.home.start_bridge()
    host.ask("Hello")  # the bridge is warm then
    return host


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_a_fact_about_a_file_stands_in_the_request_between_its_reading_and_an_edit(
    start_host: StartHost, name: str
) -> None:
    host = prepare(start_host, name)
    tool, member = READERS.get(name, ("", ""))
    arguments = {member: str(host.home.shop / FILE)}
    read = Rule(PROMPT, tool=tool, arguments=arguments) if tool else to_run(name, f"sed -n '1,80p' {FILE}")
    _, (tool, arguments), _ = calls_of(name, host.home.shop)

    requests = run_calls(host, [read, Rule(PROMPT, tool=tool, arguments=arguments), to_run(name, f"cat {FILE}")])

    before, *after = [request.text.count(FACT) for request in requests]
    assert after == [before + 1] * 3, "in the request after the reading, and once"


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_what_cleared_an_error_before_stands_in_the_request_after_it(start_host: StartHost, name: str) -> None:
    host = prepare(start_host, name)
    commands = [BUILD, CONFIGURE, BUILD, UNDO]

    requests = run_calls(host, [to_run(name, command) for command in [*commands, BUILD]])
    later = run_calls(host, [to_run(name, BUILD)])

    assert [len(CLEARED.findall(request.text)) for request in requests] == [0] * 5 + [1], (
        "in the session that cleared it"
    )
    assert [len(CLEARED.findall(request.text)) for request in later] == [0, 1], "and in the next"
