"""What a session costs: at its start, and with each of thirty prompts, by every way together."""

from __future__ import annotations

import pytest

from tests.hosts.conftest import StartHost
from tests.hosts.given_text import count_given_tokens

pytestmark = [pytest.mark.hosts, pytest.mark.long]

AREAS = ("cards", "mail", "stock", "prices", "login", "search", "returns", "taxes", "images", "exports")

START_TOKENS, PROMPT_TOKENS, PROMPTS = 180, 60, 30


@pytest.mark.parametrize("name", ["claude-code", "codex", "opencode"])
def test_a_session_of_thirty_prompts_keeps_to_its_tokens(start_host: StartHost, name: str) -> None:
    host = start_host(name)
    host.connect()
    facts = [
        f"{kind}[{area}]: {text} for {area} since release {number}"
        for number, area in enumerate(AREAS)
        for kind, text in (
            ("C", "never write to the old table"),
            ("D", "use the nightly job"),
            ("V", "the limit is 40"),
        )
    ]
    host.home.remember(*facts)

    prompts = [
        f"How do we change {AREAS[number % len(AREAS)]} next?" if number % 3 else f"Thanks, go on with step {number}."
        for number in range(PROMPTS)
    ]
    costs = count_given_tokens(host.hold_session(prompts))

    assert costs[0] <= START_TOKENS + PROMPT_TOKENS
    assert sum(costs) <= START_TOKENS + PROMPT_TOKENS * PROMPTS, costs
