"""Additions to click for both command lines: groups that load a command late, and usage errors as sentences.

The inspector imports this module; it imports nothing of the bridge.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

HELP_SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class UnknownCommand(click.UsageError):
    """The command does not exist."""

    def __init__(self, message: str, value: str, ctx: click.Context) -> None:
        super().__init__(message, ctx)
        self.value = value


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is needed."""

    def __init__(
        self,
        *args: Any,
        locations: Mapping[str, str] | None = None,
        headings: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        hints: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        """:param locations: command → `module:attribute`, in the order of the help
        :param headings: command → the heading of the help before it
        :param aliases: other name of a command → its name; the help shows the name alone
        :param hints: words that other programs use, separated by spaces → what to run here instead
        """
        super().__init__(*args, **settings)
        self.locations = locations or {}
        self.headings = headings or {}
        self.aliases = aliases or {}
        self.hints = {word: hint for words, hint in (hints or {}).items() for word in words.split()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.locations, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = self.aliases.get(cmd_name, cmd_name)
        if cmd_name not in self.locations:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.locations[cmd_name].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
            return self.aliases.get(name or "", name), command, rest
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=2)
            meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            hint = f" Run: {self.hints[args[0].lower()]}" if args[0].lower() in self.hints else meant
            raise UnknownCommand(f"No such command {args[0]!r}.{hint}", args[0], ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {}
        heading = "Commands"
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            assert command is not None
            heading = self.headings.get(name, heading)
            if not command.hidden:
                rows.setdefault(heading, []).append((name, command.get_short_help_str(formatter.width)))
        for heading, some in rows.items():
            with formatter.section(heading):
                formatter.write_dl(some, col_max=20)


def format_usage_error(error: click.UsageError) -> str:
    """Format what is wrong with the arguments, and how to pass text that looks like an option."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and isinstance(error.ctx.command, click.Group):
        return f"Say which: {', '.join(error.ctx.command.list_commands(error.ctx))}."
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.ctx and has_arguments(error.ctx.command):
        message += " Put -- before text that begins with a dash."
    return message


def has_arguments(command: click.Command) -> bool:
    return any(isinstance(parameter, click.Argument) for parameter in command.params)
