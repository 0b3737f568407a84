"""What every host can be asked to do, whatever its program is called."""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from tests.hosts.host_home import HostHome
from tests.hosts.protocols.conversation import ModelRequest
from tests.hosts.stand_in_model import StandInModel

MEMORY_TOOLS = {
    *("memory_edit", "memory_export", "memory_optimize", "memory_purge", "memory_reflect", "memory_search"),
    *("memory_status", "memory_tick", "memory_turn", "memory_write", "recall_conversation", "recall_memory"),
}

ESSENTIAL_TOOLS = {
    *("memory_edit", "memory_export", "memory_purge", "memory_search", "memory_status", "memory_write"),
    "recall_conversation",
}
"""What `connect` offers beside hooks."""

FILL = "please read the whole ledger"
"""A prompt after which the stand-in reports so many tokens that the host compacts."""

SERVER = "hermes-memory"
"""The name of our MCP server in every host's file."""


class HostProgram(ABC):
    """One host in one home, asked without a person at the keyboard."""

    name: ClassVar[str]
    """As `connect` and the hook program name it."""
    own_records: ClassVar[tuple[str, ...]] = ()
    """Where the host itself keeps what is said, below HOME."""
    reads_instructions: ClassVar[bool] = True
    """Whether what a server says of itself reaches the model."""
    keeps_what_hooks_gave: ClassVar[bool] = True
    """Whether a resumed session still has what its hooks gave before."""
    gives_at_compaction: ClassVar[bool] = True
    """Whether what we give at a compaction can reach the request after it; else the prompt that follows is the first."""

    def __init__(self, home: HostHome, model: StandInModel, *, is_asking: bool = False) -> None:
        """:param is_asking: whether the host is started as its person would, asking before what it does not know."""
        self.home = home
        self.model = model
        self.is_asking = is_asking

    @abstractmethod
    def prepare(self) -> None:
        """Point the host at the stand-in model, with an answer to everything it would ask a person."""

    @abstractmethod
    def command(self, prompt: str, *, resumed: bool) -> Sequence[str]:
        """Return the command that asks one thing, in a new session or in the last one.

        Where the prompt is no part of it, it is read from the standard input.
        """

    def allowance(self, *options: str) -> Sequence[str]:
        """Return the options that make the host ask nothing; none where it is started as a person would."""
        return () if self.is_asking else options

    def allow_acts(self) -> None:  # noqa: B027 - most hosts need no more
        """Let the host's own tools run and edit without a question, where `allowance` does not yet."""

    def variables(self) -> dict[str, str]:
        """Return the variables the host needs besides those of the home."""
        return {}

    @abstractmethod
    def fill_window(self) -> None:
        """Have the host compact the last session: now, or as soon as it is asked again."""

    def connect(self, *, hooks: bool = True, capture: bool = False) -> None:
        answers = ["--hooks" if hooks else "--no-hooks", *(["--capture"] if capture else [])]
        self.home.run("hermes-memory-bridge", "connect", self.name, "--yes", *answers)

    def ask(self, prompt: str, *, resumed: bool = False, folder: Path | None = None) -> list[ModelRequest]:
        """Ask one thing, and return the requests of the conversation that came of it."""
        before = len(self.model.requests)
        done = self.try_ask(prompt, resumed=resumed, folder=folder)
        assert done.returncode == 0, (
            f"{self.name}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        )
        return self.conversation(before)

    def hold_session(self, prompts: Sequence[str]) -> list[ModelRequest]:
        """Ask several things in one session, and return the requests of the conversation."""
        return [request for number, prompt in enumerate(prompts) for request in self.ask(prompt, resumed=number > 0)]

    def try_ask(
        self, prompt: str, *, resumed: bool = False, folder: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = self.command(prompt, resumed=resumed)
        said = "" if prompt in command else prompt
        return self.home.try_run(*command, folder=folder, extra=self.variables(), said=said)

    def conversation(self, since: int = 0) -> list[ModelRequest]:
        """Return the requests of the conversation itself: no titles, no summaries, nothing in the background."""
        return [request for request in self.model.requests[since:] if self.is_of_conversation(request)]

    def is_of_conversation(self, request: ModelRequest) -> bool:
        """Whether a request continues what the person and the model say."""
        return bool(request.tools) and not request.is_compaction

    def memory_tools(self, request: ModelRequest) -> set[str]:
        """Return which of our tools a request offers."""
        return {tool for tool in MEMORY_TOOLS if any(name.endswith(tool) for name in request.tool_names)}

    def request_after_compaction(self) -> ModelRequest:
        """Return the first request of the conversation after the first compaction."""
        compactions = [place for place, request in enumerate(self.model.requests) if request.is_compaction]
        assert compactions, f"{self.name} compacted nothing"
        return self.conversation(compactions[0])[0]


def edit_json(file: Path, **entries: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    present = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps(present | entries, indent=2))
