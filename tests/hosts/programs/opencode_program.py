"""opencode."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import FILL, HostProgram, edit_json
from tests.hosts.stand_in_model import Rule

CONTEXT_TOKENS = 100_000
"""What the stand-in's model takes: opencode compacts when a turn used nearly as much."""


class OpencodeProgram(HostProgram):
    name = "opencode"
    own_records = (".local", ".config", ".cache")

    def prepare(self) -> None:
        model = {"name": "Stand-in", "limit": {"context": CONTEXT_TOKENS, "output": 4000}}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stand-in",
            "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "none"},
            "models": {"stand-in-model": model},
        }
        edit_json(
            self.home.home / ".config" / "opencode" / "opencode.json",
            model="stand_in/stand-in-model",
            autoupdate=False,
            share="disabled",
            permission={"*": "ask" if self.is_asking else "allow"},
            provider={"stand_in": provider},
        )

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        return ["opencode", "run", *(["--continue"] if resumed else [])]  # an argument it would put between quotes

    def fill_window(self) -> None:
        self.model.rules.append(Rule(FILL, tokens=CONTEXT_TOKENS))
        self.ask(FILL, resumed=True)
