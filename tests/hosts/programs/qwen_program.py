"""Qwen Code."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import FILL, MEMORY_TOOLS, SERVER, HostProgram, edit_json
from tests.hosts.protocols.conversation import ModelRequest
from tests.hosts.stand_in_model import Rule

COMPACTS_BEFORE_NEXT = 172_000
"""Tokens of a window of 200,000 that make it compact before the next request; from 177,000 on it refuses to go on."""


class QwenProgram(HostProgram):
    name = "qwen"
    keeps_what_hooks_gave = False
    gives_at_compaction = False
    own_records = (".qwen",)

    def prepare(self) -> None:
        edit_json(self.home.home / ".qwen" / "settings.json", security={"auth": {"selectedType": "openai"}})

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        return ["qwen", *self.allowance("--yolo"), *(["--continue"] if resumed else []), "-p", prompt]

    def variables(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{self.model.url}/v1", "OPENAI_MODEL": "stand-in-model"}

    def fill_window(self) -> None:
        self.model.rules.append(Rule(FILL, tokens=COMPACTS_BEFORE_NEXT))
        self.ask(FILL, resumed=True)

    def is_of_conversation(self, request: ModelRequest) -> bool:
        is_extraction = request.messages[0].text.startswith("You are now acting as the managed memory extraction")
        return super().is_of_conversation(request) and not is_extraction

    def memory_tools(self, request: ModelRequest) -> set[str]:
        """Qwen Code names the tools of servers in a reminder, to be called by way of `tool_call`."""
        return {tool for tool in MEMORY_TOOLS if f"mcp__{SERVER}__{tool}" in request.text}
