"""The hooks of hosts, by the member `hooks` of their files of data: which events call `hermes-memory-hook`, and how.

A line that gives is there once a person wants agents to be given what is remembered, one that keeps once he allowed what is
said to be kept, one that hears once what tools return may be heard, or what they do kept,
one that guards while there is a guard.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_memory_bridge.connect.hosts import HostEnvironment
from hermes_memory_bridge.connect.lasting_command import require_lasting_command
from hermes_memory_bridge.hook_program.program import SILENT
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts.guards import KINDS
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host

PROGRAM = "hermes-memory-hook"
ISOLATED = "-EP"
"""Nothing is imported from the folder that a host works in, whatever `PYTHONPATH` says."""


@dataclass(frozen=True, slots=True)
class HookLine:
    """One event of a host, and which of our events it calls the program for."""

    native: str
    """The host's own name of the event."""
    event: str
    """`start`, `prompt`, `compacting`, `compacted`, `turn`, `tool`, `guard` or `end`."""
    timeout_s: int
    gives: bool = True
    """Whether giving needs it."""
    keeps: bool = False
    """Whether keeping needs it."""
    hears: bool = False
    """Whether hearing what tools return, or keeping what they do, needs it."""
    guards: bool = False
    """Whether guards need it; the host then calls it for the tools that run or edit, where it knows a `matcher`."""
    background: bool = False
    """Whether the host need not wait for it, where it knows such hooks and nothing is given by it."""


@dataclass(frozen=True, slots=True)
class HookDocument:
    """Where a host's hooks stand, and how one is written."""

    path: str
    lines: tuple[HookLine, ...]
    project: str | None = None
    """A file inside a project that belongs to one person and is never shared."""
    grouped: bool = True
    """Whether handlers stand in groups, `{"hooks": [handler]}`, as in Claude Code."""
    separate_arguments: bool = False
    """Whether the host takes `args` and starts the program without a shell."""
    command_keys: Sequence[str] = ("command", "command")
    """The member that holds the command: on other systems, and on Windows."""
    timeout_key: str = "timeout"
    timeout_factor: int = 1
    """1000 where the host counts milliseconds."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that every handler of this host has besides."""
    version: int | None = None
    """The `version` of a file that holds hooks alone, where the host wants one."""
    is_blocked_by_failure: bool = False
    """Whether the host refuses a prompt whose hook fails, be it that our program is gone: the command must succeed then."""
    is_plugin: bool = False
    """Whether the file stands in a plugin's folder, of which the manifest is ours, too."""
    serves: str | None = None
    """The host's name in the command, where several hosts read the file."""

    def file(self, place: HostEnvironment) -> Path:
        """Return the file of the person's own hooks. :raises ArgumentError: as `HostEnvironment.find_folder`"""
        return place.find_path(self.path)

    def to_hooks(
        self,
        host: str,
        options: Sequence[str],
        *,
        gives: bool,
        keeps: bool,
        hears: bool = False,
        guards: bool = False,
        platform: str = sys.platform,
        in_project: bool = False,
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return the hooks to install: the host's event, and the element of its list.

        :param options: what follows host and event in the command, `--db FILE` for example
        :raises ArgumentError: this installation has no hook program that lasts
        """
        program = str(find_hook_program(platform, in_project=in_project))
        words = [program] if in_project or platform == "win32" else [sys.executable, ISOLATED, program]
        elements = []
        for line in self.lines:
            is_answered = gives and line.gives
            if is_answered or (keeps and line.keeps) or (hears and line.hears) or (guards and line.guards):
                silence = [SILENT] if line.hears and not is_answered else []
                command = [*words, self.serves or host, line.event, *options, *silence]
                is_apart = line.background and not is_answered
                elements.append((line.native, self.to_element(line, command, platform, host, is_apart=is_apart)))
        return elements

    def to_element(
        self, line: HookLine, words: list[str], platform: str, host: str, *, is_apart: bool
    ) -> dict[str, Any]:
        """Return one element. :param is_apart: whether the host need not wait for it"""
        handler: dict[str, Any] = {"type": "command"}
        # A host that overlooks `args`, as VS Code does, would start the bare interpreter, which runs its input.
        if self.separate_arguments and words[1:2] != [ISOLATED]:
            handler |= {"command": words[0], "args": words[1:]}
        else:
            # An interpreter that does not find the program any more exits with 2, by which hosts block the person's prompt.
            can_block = self.is_blocked_by_failure or words[1:2] == [ISOLATED]
            fallback = " || true" if can_block and platform != "win32" else ""
            command = subprocess.list2cmdline(words) if platform == "win32" else shlex.join(words)
            handler[self.command_keys[platform == "win32"]] = command + fallback
        handler |= {self.timeout_key: line.timeout_s * self.timeout_factor, **self.extra}
        if is_apart and self.separate_arguments:
            handler["async"] = True
        if self.grouped and line.guards:
            return {"matcher": "|".join(list_acting_tools(host)), "hooks": [handler]}
        return {"hooks": [handler]} if self.grouped else handler


def list_acting_tools(host: str) -> list[str]:
    """Return the tools of a host that run commands or edit files."""
    tools: dict[str, list[str]] = load_host(host).get("actions", {}).get("tools", {})
    return [name for name, (act, *_) in tools.items() if act in KINDS]


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


HOOKS = {
    name: HookDocument(**{**table, "lines": tuple(HookLine(**line) for line in table["lines"])})
    for name, table in find_hosts_with("hooks").items()
}
"""The hosts whose hooks stand in a file, by name."""
