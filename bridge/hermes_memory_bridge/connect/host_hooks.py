"""The hooks of hosts: which events call `hermes-memory-hook`, in which file they stand, and in which form.

Pure data and its one rendering. A line that gives is there once a person wants agents to be given what is remembered, one that
keeps once he allowed what is said to be kept.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_store.errors import ArgumentError

PROGRAM = "hermes-memory-hook"
ISOLATED = "-EP"
"""Nothing is imported from the folder that a host works in, whatever `PYTHONPATH` says."""


@dataclass(frozen=True, slots=True)
class HookLine:
    """One event of a host, and which of our events it calls the program for."""

    native: str
    """The host's own name of the event."""
    event: str
    """`start`, `prompt`, `compacting`, `compacted`, `turn` or `end`."""
    timeout_s: int
    gives: bool = True
    """Whether giving needs it."""
    keeps: bool = False
    """Whether keeping needs it."""
    background: bool = False
    """Whether the host need not wait for it, where it knows such hooks."""


@dataclass(frozen=True, slots=True)
class HookDocument:
    """Where a host's hooks stand, and how one is written."""

    file: Callable[[HostEnvironment], Path]
    lines: tuple[HookLine, ...]
    project: str | None = None
    """A file inside a project that belongs to one person and is never shared."""
    grouped: bool = True
    """Whether handlers stand in groups, `{"hooks": [handler]}`, as in Claude Code."""
    separate_arguments: bool = False
    """Whether the host takes `args` and starts the program without a shell."""
    command_keys: tuple[str, str] = ("command", "command")
    """The member that holds the command: on other systems, and on Windows."""
    timeout_key: str = "timeout"
    timeout_factor: int = 1
    """1000 where the host counts milliseconds."""
    extra: tuple[tuple[str, Any], ...] = ()
    """Members that every handler of this host has besides."""
    version: int | None = None
    """The `version` of a file that holds hooks alone, where the host wants one."""
    is_blocked_by_failure: bool = False
    """Whether the host refuses a prompt whose hook fails, be it that our program is gone: the command must succeed then."""
    serves: str | None = None
    """The host's name in the command, where several hosts read the file."""

    def to_hooks(
        self,
        host: str,
        options: Sequence[str],
        *,
        gives: bool,
        keeps: bool,
        platform: str = sys.platform,
        in_project: bool = False,
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return the hooks to install: the host's event, and the element of its list.

        :param options: what follows host and event in the command, `--db FILE` for example
        :raises ArgumentError: this installation has no hook program that lasts
        """
        program = str(find_hook_program(platform, in_project=in_project))
        words = [program] if in_project or platform == "win32" else [sys.executable, ISOLATED, program]
        return [
            (line.native, self.to_element(line, [*words, self.serves or host, line.event, *options], platform))
            for line in self.lines
            if (gives and line.gives) or (keeps and line.keeps)
        ]

    def to_element(self, line: HookLine, words: list[str], platform: str) -> dict[str, Any]:
        handler: dict[str, Any] = {"type": "command"}
        # A host that overlooks `args`, as VS Code does, would start the bare interpreter, which runs its input.
        if self.separate_arguments and words[1:2] != [ISOLATED]:
            handler |= {"command": words[0], "args": words[1:]}
        else:
            # An interpreter that does not find the program any more exits with 2, by which hosts block the person's prompt.
            can_block = self.is_blocked_by_failure or words[1:2] == [ISOLATED]
            fallback = " || true" if can_block and platform != "win32" else ""
            handler[self.command_keys[platform == "win32"]] = to_shell_command(words, platform) + fallback
        handler |= {self.timeout_key: line.timeout_s * self.timeout_factor, **dict(self.extra)}
        if line.background and self.separate_arguments:
            handler["async"] = True
        return {"hooks": [handler]} if self.grouped else handler


def to_shell_command(words: Sequence[str], platform: str) -> str:
    return subprocess.list2cmdline(words) if platform == "win32" else shlex.join(words)


def find_hook_program(platform: str = sys.platform, *, in_project: bool = False) -> Path:
    """Return the hook program of this installation: it stands beside the interpreter.

    :param in_project: whether a file of a project is to name it, which no path of this machine may stand in
    :raises ArgumentError: it is missing, or stands in a cache that may be pruned
    """
    program = Path(sys.executable).with_name(PROGRAM + ".exe" * (platform == "win32"))
    require_lasting_command([str(program)])
    if not program.exists():
        raise ArgumentError(f"{program} is missing; install hermes-memory-tui again, then connect again", program)
    return Path(program.name) if in_project else program


CLAUDE_LINES = (
    HookLine("SessionStart", "start", 5),
    HookLine("UserPromptSubmit", "prompt", 3),
    HookLine("PreCompact", "compacting", 10),
    HookLine("PostCompact", "compacted", 10, gives=False, keeps=True),
    HookLine("Stop", "turn", 10, gives=False, keeps=True, background=True),
    HookLine("SessionEnd", "end", 5, keeps=True),
)

CODEX_LINES = (
    HookLine("SessionStart", "start", 5),
    HookLine("UserPromptSubmit", "prompt", 3),
    HookLine("PreCompact", "compacting", 10, gives=False, keeps=True),
    # It brings no summary: a new window begins, even where the start that follows comes late.
    HookLine("PostCompact", "compacted", 10),
    HookLine("Stop", "turn", 10, gives=False, keeps=True),
    HookLine("SessionEnd", "end", 3, keeps=True),  # Codex warns in every run about more than 3
)

GEMINI_LINES = (
    HookLine("SessionStart", "start", 5),
    HookLine("BeforeAgent", "prompt", 3),
    HookLine("PreCompress", "compacting", 10, keeps=True),
    HookLine("AfterAgent", "turn", 10, gives=False, keeps=True),
    HookLine("SessionEnd", "end", 5, keeps=True),
)

COPILOT_LINES = (
    HookLine("sessionStart", "start", 5),
    HookLine("userPromptSubmitted", "prompt", 3),
    HookLine("preCompact", "compacting", 10, keeps=True),
    HookLine("agentStop", "turn", 10, gives=False, keeps=True),
    HookLine("sessionEnd", "end", 5, keeps=True),
)

DROID_LINES = tuple(line for line in CLAUDE_LINES if line.native != "PostCompact")


CURSOR_LINES = (
    HookLine("sessionStart", "start", 5),
    HookLine("beforeSubmitPrompt", "prompt", 3, keeps=True),
    HookLine("afterAgentResponse", "turn", 10, gives=False, keeps=True),
    HookLine("sessionEnd", "end", 5, keeps=True),
)

GOOSE_LINES = (
    HookLine("SessionStart", "start", 5),
    HookLine("UserPromptSubmit", "prompt", 3, keeps=True),
    HookLine("Stop", "turn", 10, gives=False, keeps=True),
    HookLine("SessionEnd", "end", 5, keeps=True),
)


COPILOT_HOOKS = HookDocument(
    lambda p: p.find_folder("COPILOT_HOME", p.home / ".copilot") / "hooks" / "hermes-memory.json",
    COPILOT_LINES,
    grouped=False,
    command_keys=("bash", "powershell"),
    timeout_key="timeoutSec",
    version=1,
)
"""Our file among the hooks of Copilot CLI, which VS Code reads too."""

HOOKS = {
    "claude-code": HookDocument(
        lambda p: p.find_folder("CLAUDE_CONFIG_DIR", p.home / ".claude") / "settings.json",
        CLAUDE_LINES,
        project=".claude/settings.local.json",
        separate_arguments=True,
    ),
    "codex": HookDocument(lambda p: p.find_folder("CODEX_HOME", p.home / ".codex") / "hooks.json", CODEX_LINES),
    "gemini": HookDocument(
        lambda p: p.find_folder("GEMINI_CLI_HOME", p.home) / ".gemini" / "settings.json",
        GEMINI_LINES,
        timeout_factor=1000,
        is_blocked_by_failure=True,
        extra=(("name", "hermes-memory"),),
    ),
    "copilot": COPILOT_HOOKS,
    "qwen": HookDocument(
        lambda p: p.find_folder("QWEN_HOME", p.home / ".qwen") / "settings.json",
        CLAUDE_LINES,
        extra=(("name", "hermes-memory"),),
    ),
    "vscode": replace(
        COPILOT_HOOKS, file=lambda p: p.home / ".copilot" / "hooks" / "hermes-memory.json", serves="copilot"
    ),
    "cursor": HookDocument(lambda p: p.home / ".cursor" / "hooks.json", CURSOR_LINES, grouped=False, version=1),
    "goose": HookDocument(
        lambda p: p.home / ".agents" / "plugins" / "hermes-memory" / "hooks" / "hooks.json", GOOSE_LINES
    ),
    "droid": HookDocument(lambda p: p.home / ".factory" / "settings.json", DROID_LINES),
}
"""The hosts whose hooks stand in a file, by their names in `connect/hosts.py`."""
