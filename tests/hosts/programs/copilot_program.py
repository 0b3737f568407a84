"""GitHub Copilot CLI."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import FILL, HostProgram
from tests.hosts.stand_in_model import Rule

WINDOW_TOKENS = 40_000
"""What the stand-in's model takes; Copilot counts by itself and compacts at 80 %."""


class CopilotProgram(HostProgram):
    """`copilot -p`, offline with a provider of one's own."""

    name = "copilot"
    keeps_what_hooks_gave = False
    gives_at_compaction = False
    own_records = (".copilot",)
    reads_instructions = False

    def prepare(self) -> None:
        """Copilot needs variables alone."""

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        return ["copilot", *self.allowance("--allow-all-tools"), *(["--continue"] if resumed else []), "-p", prompt]

    def variables(self) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_MODEL": "stand-in-model",
            "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": str(WINDOW_TOKENS),
            "COPILOT_AUTO_UPDATE": "false",
        }

    def fill_window(self) -> None:
        """Have it summarise in the background of a run, which needs a second request of that run to be used."""
        self.model.rules.append(Rule(FILL, text="The ledger is long. " * 6000))
        self.ask(FILL, resumed=True)
