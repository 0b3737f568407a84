"""Whether a fact stands in the request that follows its moment: after a read, and before an edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.stand_in_model import Rule
from tests.hosts.test_guards import PROMPT, to_call

pytestmark = pytest.mark.hosts

FACT = "C[pricing.rounding]: half up, never to even"


def to_read(file: Path, then: Rule) -> Rule:
    return Rule(PROMPT, tool="Read", arguments={"file_path": str(file)}, then=then)


@pytest.mark.parametrize("name", ["claude-code"])
def test_a_fact_stands_in_the_request_after_its_moment(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.home.remember(FACT)
    host.connect()
    file = host.home.shop / "pricing" / "totals.py"
    file.parent.mkdir()
    file.write_text("def total(lines):\n    return round(sum(lines), 2)\n")
    host.ask("Hello")  # the bridge is warm then
    host.model.rules.append(to_read(file, to_call(name, "ls", to_call(name, "cat pricing/totals.py"))))

    requests = host.ask(PROMPT)

    counts = [request.text.count(FACT) for request in requests]
    assert sum(message.is_tool_result for message in requests[-1].messages) == 3
    assert counts[1] == counts[0] + 1, "before whatever follows the reading"
    assert counts[-1] == counts[1], "and once"
