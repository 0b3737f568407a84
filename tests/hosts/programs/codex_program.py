"""Codex CLI."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hosts.programs.host_program import FILL, HostProgram
from tests.hosts.stand_in_model import Rule

CONFIG = """\
model = "stand-in-model"
model_provider = "stand_in"
model_auto_compact_token_limit = {limit}
approval_policy = "never"
sandbox_mode = "read-only"

[model_providers.stand_in]
name = "Stand-in"
base_url = "{url}/v1"
wire_api = "responses"

[projects."{shop}"]
trust_level = "trusted"

[projects."{garden}"]
trust_level = "trusted"
"""

COMPACTS_AT = 200_000
"""Tokens that the stand-in must report for Codex to compact before the next turn."""


class CodexProgram(HostProgram):
    name = "codex"
    own_records = (".codex",)

    def prepare(self) -> None:
        file = self.home.home / ".codex" / "config.toml"
        file.parent.mkdir()
        names = {"url": self.model.url, "shop": self.home.shop, "garden": self.home.garden, "limit": COMPACTS_AT}
        file.write_text(CONFIG.format(**names))

    def allow_acts(self) -> None:
        file = self.home.home / ".codex" / "config.toml"
        file.write_text(file.read_text().replace('"read-only"', '"danger-full-access"'))

    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        return ["codex", "exec", *(["resume", "--last"] if resumed else []), prompt]

    def fill_window(self) -> None:
        self.model.rules.append(Rule(FILL, tokens=COMPACTS_AT * 2))
        self.ask(FILL, resumed=True)
