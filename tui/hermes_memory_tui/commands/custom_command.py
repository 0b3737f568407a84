"""`CustomCommand`: a program that the person runs on what is selected, from `[[command]]` of their own inspector.toml.

Only that file is read, never one of a repository: what a clone brings along must not run here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.binding import Binding
from textual.keys import _character_to_key

from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.commands.command_registry import to_word
from hermes_memory_tui.system.inspector_settings import suggestion

FIELDS = {
    "fact": ("uid", "notation", "type", "target", "content", "tier", "theme", "scope", "db"),
    "scope": ("scope", "status", "uid", "theme", "db"),
    "session": ("session", "title", "client", "project", "status", "uid", "theme", "scope", "db"),
}
"""Names that arguments may hold in braces, by what the command is about."""

SETTINGS = ("name", "key", "run", "on", "shell", "limit_s")

LIMIT_S = 30
"""Seconds after which a program is stopped, unless its command says otherwise."""

LONGEST_S = 3600
"""The most seconds that a command may allow."""

PLACEHOLDER = re.compile(r"\{(\w*)\}")

ENVIRONMENT = "SELECTED_"
"""How the environment variables begin that hold the same: the text of a shell is never pasted together."""


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A program with its arguments, ready to run."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    """What is added to the environment of this process."""

    @property
    def text(self) -> str:
        """What will run, for a person: each argument as it is passed."""
        return " ".join(
            argument if re.fullmatch(r"[\w@%+=:,./-]+", argument) else repr(argument) for argument in self.arguments
        )


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command of the person's own."""

    name: str
    run: tuple[str, ...]
    on: str
    key: str = ""
    """The key, as bindings name it; empty when it has none."""
    shell: bool = False
    limit_s: float = LIMIT_S

    @property
    def word(self) -> str:
        return to_word(self.name)

    @property
    def tooltip(self) -> str:
        return f"Run {shorten_value(' '.join(self.run))} on the {self.on}"

    @property
    def binding(self) -> Binding:
        tooltip = self.tooltip
        return Binding(
            self.key, f"custom('{self.word}')", self.name, id=f"own.{self.word}", tooltip=tooltip, show=False
        )

    def to_call(self, values: Mapping[str, str]) -> ProgramCall:
        """Return the program for one thing that is selected. A placeholder never becomes more than its argument."""
        environment = {f"{ENVIRONMENT}{name.upper()}": value for name, value in values.items()}
        if self.shell:
            return ProgramCall(("/bin/sh", "-c", *self.run), environment)
        filled = (PLACEHOLDER.sub(lambda found: values[found[1]], argument) for argument in self.run)
        return ProgramCall(tuple(filled), environment)


def parse_custom_commands(tables: Sequence[Any], path: Path | None) -> list[CustomCommand]:
    """Parse the commands of the settings file.

    :raises ArgumentError: names the file, the command and what is wrong with it
    """
    commands: list[CustomCommand] = []
    for number, table in enumerate(tables, 1):
        command = parse_custom_command(table, f"{path}: [[command]] {number}")
        for other in commands:
            if other.word == command.word:
                raise ArgumentError(f"{path}: two commands are called {command.name!r}", command.name)
            if command.key and other.key == command.key:
                raise ArgumentError(
                    f"{path}: the commands {other.name!r} and {command.name!r} have the same key {command.key!r}",
                    command.key,
                )
        commands.append(command)
    return commands


def parse_custom_command(table: Any, where: str) -> CustomCommand:
    """Parse one command.

    :param where: what errors begin with
    :raises ArgumentError:
    """
    if not isinstance(table, dict):
        raise ArgumentError(f"{where} is no table", table)
    for setting in table:
        if setting not in SETTINGS:
            raise ArgumentError(
                f"{where} has no setting {shorten_value(setting)!r}{suggestion(setting, SETTINGS)}", setting
            )
    name, key, on, shell = table.get("name"), table.get("key", ""), table.get("on"), table.get("shell", False)
    if not isinstance(name, str) or not to_word(name) or to_printable(name) != name:
        raise ArgumentError(f"{where}: name is what it is called, not {name!r}", name)
    where = f"{where} ({name})"
    if on not in FIELDS:
        raise ArgumentError(f'{where}: on is "fact", "scope" or "session", not {on!r}', on)
    if not isinstance(shell, bool):
        raise ArgumentError(f"{where}: shell is true or false, not {shell!r}", shell)
    if not isinstance(key, str) or any(character in key for character in ", "):
        raise ArgumentError(f"{where}: key is one key, such as ctrl+t, not {key!r}", key)
    limit = table.get("limit_s", LIMIT_S)
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit <= LONGEST_S:
        raise ArgumentError(f"{where}: limit_s is a number of seconds up to {LONGEST_S:,}, not {limit!r}", limit)
    run = parse_run(table.get("run"), on, shell, where)
    return CustomCommand(name, run, on, _character_to_key(key) if len(key) == 1 else key, shell, float(limit))


def parse_run(said: Any, on: str, shell: bool, where: str) -> tuple[str, ...]:
    """Return the arguments of a command; with a shell, its one text.

    :raises ArgumentError:
    """
    if shell:
        if not isinstance(said, str) or not said.strip():
            raise ArgumentError(f"{where}: with shell = true, run is the text for the shell, not {said!r}", said)
        found = next((one[1] for one in PLACEHOLDER.finditer(said) if one[1] in FIELDS[on]), None)
        if found is not None:
            wanted = f"${ENVIRONMENT}{found.upper()}"
            raise ArgumentError(f'{where}: a shell would run what is in {{{found}}}; write "{wanted}" instead', said)
        return (said,)
    if not isinstance(said, list) or not said or not all(isinstance(one, str) and one for one in said):
        raise ArgumentError(
            f'{where}: run is a list, such as ["git", "log", "{{{FIELDS[on][0]}}}"], not {said!r}', said
        )
    for found in PLACEHOLDER.finditer("\n".join(said)):
        if found[1] not in FIELDS[on]:
            raise ArgumentError(f"{where}: a {on} has no {found[0]}{suggestion(found[1], FIELDS[on])}", found[0])
    if PLACEHOLDER.search(said[0]):
        raise ArgumentError(f"{where}: the program itself is not chosen by what is selected: {said[0]}", said)
    return tuple(said)


def reject_taken_keys(
    commands: Iterable[CustomCommand], bindings: Iterable[Binding], keymap: Mapping[str, str], path: Path | None
) -> None:
    """Reject commands whose key does something already.

    :param keymap: keys by the id of the action, as the person chose them
    :raises ArgumentError: names both
    """
    owners = {
        _character_to_key(key) if len(key) == 1 else key: binding
        for binding in bindings
        for key in keymap.get(binding.id or "", binding.key).split(",")
    }
    for command in commands:
        taken = owners.get(command.key)
        if taken is not None:
            raise ArgumentError(
                f"{path}: the key {command.key!r} of the command {command.name!r} is the key of "
                f"{taken.id} ({taken.description}); choose another for one of them",
                command.key,
            )
