"""pi, which offers our tools by an extension alone and asks before none."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import HostProgram, edit_json


class PiProgram(HostProgram):
    name = "pi"
    keeps_what_hooks_gave = False
    own_records = (".pi",)
    reads_instructions = False

    def prepare(self) -> None:
        model = {"id": "stand-in-model", "contextWindow": 100_000, "maxTokens": 4_000}
        provider = {"baseUrl": f"{self.model.url}/v1", "api": "openai-completions", "apiKey": "none", "models": [model]}
        edit_json(self.home.home / ".pi" / "agent" / "models.json", providers={"stand_in": provider})

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        model = ["--provider", "stand_in", "--model", "stand-in-model"]
        return ["pi", *model, *(["--continue"] if resumed else []), "-p", prompt]

    def variables(self) -> dict[str, str]:
        return {"PI_OFFLINE": "1"}

    def fill_window(self) -> None:
        """pi compacts by itself only while somebody sits before it, and by `/compact`."""
        raise NotImplementedError
