"""What is kept of a conversation: all of it once where that was allowed, and nothing of it anywhere where it was not."""

from __future__ import annotations

import json

import pytest

from tests.bridge.running import until
from tests.hosts.conftest import StartHost
from tests.hosts.host_home import HostHome
from tests.hosts.programs.all_programs import HOST_PROGRAMS
from tests.hosts.stand_in_model import Rule

pytestmark = pytest.mark.hosts

RULE = "never store card numbers"

SAID = {
    "Why does the lighthouse blink?": "Because ships fear granite.",
    "Who painted the lighthouse?": "A keeper with two brushes.",
}


def turn_texts(home: HostHome) -> list[str]:
    found = json.loads(home.memory("--json", "turns"))
    return [turn["content"] for turn in found["turns"]]


def hold_conversation(start_host: StartHost, name: str, *, capture: bool) -> HostHome:
    """Connect a host and talk about a lighthouse, in a session that is resumed once."""
    host = start_host(name)
    host.connect(capture=capture)
    host.home.remember(f"C[cards]: {RULE}")
    host.model.rules += [Rule(question, text=answer) for question, answer in SAID.items()]
    for number, question in enumerate(SAID):
        host.ask(question, resumed=number > 0)
    return host.home


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_every_turn_is_kept_once_and_nothing_of_our_own(start_host: StartHost, name: str) -> None:
    home = hold_conversation(start_host, name, capture=True)

    home.start_bridge()  # as the next session does, when the one of this session has not begun or was ended with its host
    said = {text for pair in SAID.items() for text in pair}
    until(lambda: said <= set(turn_texts(home)), f"all turns; there are {turn_texts(home)}", patience_s=20)
    home.stop_bridge()

    assert sorted(turn_texts(home)) == sorted(said)
    home.memory("backfill", "--yes")  # what hooks brought lies on the disk, too
    assert sorted(turn_texts(home)) == sorted(said)


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_what_was_said_before_anything_was_connected_comes_from_the_disk_once(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.model.rules += [Rule(question, text=answer) for question, answer in SAID.items()]
    for number, question in enumerate(SAID):
        host.ask(question, resumed=number > 0)

    for _ in range(2):
        host.home.memory("backfill", "--yes")

    assert sorted(turn_texts(host.home)) == sorted(text for pair in SAID.items() for text in pair)


@pytest.mark.parametrize("name", HOST_PROGRAMS)
def test_nothing_that_was_said_is_anywhere_where_it_was_not_to_be_kept(start_host: StartHost, name: str) -> None:
    home = hold_conversation(start_host, name, capture=False)

    home.stop_bridge()

    records = tuple(home.home / record for record in HOST_PROGRAMS[name].own_records)
    for text in [text for pair in SAID.items() for text in pair]:
        assert home.files_with(text, apart_from=records) == []
