"""Claude Code."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.hosts.programs.host_program import SERVER, HostProgram, edit_json
from tests.hosts.protocols.conversation import ModelRequest

WINDOW_TOKENS = 100_000
"""What Claude Code is to take for the window of its model: it compacts by itself when a turn used nearly as much."""


class ClaudeProgram(HostProgram):
    name = "claude-code"
    own_records = (".claude", ".claude.json")

    may_act = False

    def allow_acts(self) -> None:
        self.may_act = True

    def prepare(self) -> None:
        edit_json(self.home.home / ".claude.json", hasCompletedOnboarding=True)

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        options = ["--model", "claude-opus-4-8", *self.allowance("--allowedTools", f"mcp__{SERVER}")]
        options += ["--allowedTools", "Bash,Read,Edit,Write"] if self.may_act else []
        return ["claude", "-p", prompt, *options, *(["--continue"] if resumed else [])]

    def variables(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(WINDOW_TOKENS),
        }

    def hold_session(self, prompts: Sequence[str]) -> list[ModelRequest]:
        """Ask several things in one process, as a person at the keyboard would."""
        before = len(self.model.requests)
        stream = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        program, *options = self.command("", resumed=False)
        with self.home.start(
            program, *(option for option in options if option), *stream, extra=self.variables()
        ) as process:
            for prompt in prompts:
                message = {"role": "user", "content": [{"type": "text", "text": prompt}]}
                process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                process.stdin.flush()
                next(line for line in process.stdout if json.loads(line)["type"] == "result")
            process.stdin.close()
        return self.conversation(before)

    def fill_window(self) -> None:
        """Have the last session compacted at once, by its command."""
        self.ask("/compact", resumed=True)
