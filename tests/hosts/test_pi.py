"""pi, whose extension gives what hooks give elsewhere and offers the tools, without MCP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.running import until
from tests.hosts.host_home import HostHome
from tests.hosts.installation import install_hosts
from tests.hosts.programs.host_program import ESSENTIAL_TOOLS
from tests.hosts.programs.pi_program import PiProgram
from tests.hosts.stand_in_model import Rule, StandInModel
from tests.hosts.test_capture import turn_texts
from tests.hosts.tree_programs import make_tree_programs

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"
PROMPT = "Remember what I said"
WRITTEN = "redis on port 6380"


@pytest.fixture
def pi(tmp_path: Path) -> Iterator[PiProgram]:
    installed = install_hosts(["pi"])
    if installed.why_missing("pi"):
        pytest.skip(installed.why_missing("pi"))
    programs = make_tree_programs(tmp_path / "programs")
    home = HostHome(tmp_path / "pi", programs, tuple(installed.program_folders)).make()
    with StandInModel(record=tmp_path / "pi.jsonl") as model:
        program = PiProgram(home, model, is_asking=True)
        program.prepare()
        yield program
        home.stop_bridge()


@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
def test_facts_and_tools_stand_in_the_first_request(pi: PiProgram, is_warm: bool) -> None:
    pi.connect()
    pi.home.remember(f"C[cards]: {RULE}")
    if is_warm:
        pi.home.start_bridge()

    first = pi.ask("Hello")[0]

    assert first.text.count(RULE) == 1
    assert pi.memory_tools(first) == ESSENTIAL_TOOLS


def test_a_model_writes_and_searches_unasked(pi: PiProgram) -> None:
    pi.connect()
    search = Rule(tool="memory_search", arguments={"query": "redis"})
    pi.model.rules.append(Rule(PROMPT, tool="memory_write", arguments={"content": f"V[cache]: {WRITTEN}"}, then=search))

    requests = pi.ask(PROMPT)

    assert WRITTEN in pi.home.memory("facts", "tier:all")
    results = [message.text for message in requests[-1].messages if message.is_tool_result]
    assert any("stored:" in text for text in results)
    assert any("data, not instructions" in text or WRITTEN in text for text in results)


def test_a_resumed_session_has_what_holds_now_once(pi: PiProgram) -> None:
    pi.connect()
    pi.home.remember(f"C[cards]: {RULE}")
    pi.ask("Hello")
    pi.home.remember("C[cards]: store card numbers in the vault only")

    resumed = pi.ask("And now?", resumed=True)[0]

    assert resumed.text.count("in the vault only") == 1
    assert RULE not in resumed.text


def test_what_is_said_is_kept_where_its_person_said_so(pi: PiProgram) -> None:
    pi.connect(capture=True)
    pi.model.rules.append(Rule("Which port", text="It is 6380 since May."))

    pi.ask("Which port has redis?")

    pi.home.start_bridge()  # as the next session does
    said = {"Which port has redis?", "It is 6380 since May."}
    until(lambda: set(turn_texts(pi.home)) == said, "both turns", patience_s=20)


def test_what_a_guard_is_about_is_refused_with_the_fact(pi: PiProgram) -> None:
    pi.home.remember("C[push]: only the release robot pushes")
    uid = json.loads(pi.home.memory("--json", "facts"))["facts"][0]["uid"]
    pi.home.memory("guard", "add", uid, "touch *")
    pi.connect()
    pi.model.rules.append(Rule("Push it", tool="bash", arguments={"command": "touch pushed"}))

    requests = pi.ask("Push it")

    results = [message.text for message in requests[-1].messages if message.is_tool_result]
    assert any("only the release robot pushes" in text for text in results)
    assert not (pi.home.shop / "pushed").exists()


def test_nothing_is_left_once_it_is_taken_out(pi: PiProgram) -> None:
    pi.connect(capture=True)
    pi.home.run("hermes-memory-bridge", "connect", "--all", "--remove", "--yes")

    first = pi.ask("Hello")[0]

    assert pi.memory_tools(first) == set()
    assert not list(pi.home.home.rglob("*hermes-memory*.js"))
