"""Gemini CLI."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import FILL, HostProgram, edit_json
from tests.hosts.stand_in_model import Rule

COMPRESSES_AT = 700_000
"""Tokens of a window of 1,048,576 that make it compress: more than half."""


class GeminiProgram(HostProgram):
    name = "gemini"
    keeps_what_hooks_gave = False
    gives_at_compaction = False
    own_records = (".gemini",)

    def prepare(self) -> None:
        edit_json(
            self.home.home / ".gemini" / "settings.json",
            security={"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            general={"disableAutoUpdate": True},
            privacy={"usageStatisticsEnabled": False},
        )

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        options = ["-m", "gemini-2.5-flash", *self.allowance("--yolo", "--skip-trust")]
        return ["gemini", *options, *(["--resume", "latest"] if resumed else []), "-p", prompt]

    def variables(self) -> dict[str, str]:
        return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": self.model.url}

    def fill_window(self) -> None:
        """Have it compress between two requests of one run: it forgets how full a window was when it ends."""
        self.model.rules.append(Rule(FILL, tool="memory_status", tokens=COMPRESSES_AT))
        self.ask(FILL, resumed=True)
