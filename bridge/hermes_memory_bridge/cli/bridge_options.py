"""Option parsing for every command of the bridge, and the options that most commands share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import augment_usage_errors

from hermes_memory_bridge.cli.click_support import LazyGroup

F = TypeVar("F", bound=Callable[..., Any])

NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")


class BridgeCommand(click.Command):
    """A command whose long options may be abbreviated, and which heeds the options given before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.default_map = ctx.obj
        with augment_usage_errors(ctx):
            return super().parse_args(ctx, expand_abbreviations(self, ctx, args))

    def invoke(self, ctx: click.Context) -> Any:
        check_option_placement(ctx)
        return super().invoke(ctx)


class BridgeGroup(LazyGroup):
    """A group of such commands."""

    command_class = BridgeCommand

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with augment_usage_errors(ctx):
            rest = super().parse_args(ctx, expand_abbreviations(self, ctx, args))
        if ctx.parent is None:
            ctx.obj = {name: value for name, value in ctx.params.items() if value is not None}
        return rest


def expand_abbreviations(command: click.Command, ctx: click.Context, args: list[str]) -> list[str]:
    """Write out the long options that are abbreviated to a unique prefix, which click does not do.

    :raises click.BadOptionUsage: another option stands where the value of one is expected
    """
    options = {
        name: parameter
        for parameter in command.get_params(ctx)
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }
    expanded: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--" or (isinstance(command, click.Group) and not is_option_like(word)):
            return [*expanded, word, *words]
        name, equals, value = word.partition("=")
        candidates = [option for option in options if option.startswith(name)] if name.startswith("--") else []
        if name not in options and len(candidates) == 1:
            name = candidates[0]
        expanded.append(name + equals + value)
        option = options.get(name)
        if option is None or option.is_flag or equals:
            continue
        following = next(words, None)
        if following is not None and is_option_like(following):
            raise click.BadOptionUsage(name, f"Option {name!r} requires an argument.", ctx)
        expanded += [] if following is None else [following]
    return expanded


def is_option_like(word: str) -> bool:
    """Check whether a word reads as an option: it begins with a dash, and is no negative number and no phrase."""
    return word[:1] == "-" and word != "-" and " " not in word and NEGATIVE_NUMBER.fullmatch(word) is None


def check_option_placement(ctx: click.Context) -> None:
    """Refuse an option that precedes a command which does not take it, instead of ignoring it.

    :raises click.UsageError: there is one
    """
    root = ctx.find_root()
    chosen = root.invoked_subcommand
    if not isinstance(root.command, click.Group) or chosen is None:
        return
    command = root.command.get_command(root, chosen)
    assert command is not None
    for name in sorted(set(root.obj) - parameter_names(command) - {"log_level"}):
        raise click.UsageError(
            f"{chosen} takes no --{name} before it; see `hermes-memory-bridge {chosen} --help`", root
        )


def parameter_names(command: click.Command) -> set[str]:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    own = {parameter.name or "" for parameter in command.params if isinstance(parameter, click.Option)}
    return own.union(*map(parameter_names, below))


store_option = click.option("--db", metavar="FILE", help="Path of the store.")

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

unused_store_option = click.option("--db", metavar="FILE", expose_value=False, help="Path of the store; ignored here.")
"""For commands that accept what every other takes."""

unused_json_option = click.option("--json", "as_json", is_flag=True, expose_value=False, help="Ignored here.")


def answer_options(command: F) -> F:
    """Add `--db` and `--json`."""
    return store_option(json_option(command))


def theme_option(help_text: str) -> Callable[[F], F]:
    return click.option("--theme", metavar="NAME", help=help_text)


def print_answer(as_json: bool, document: dict[str, Any], text: str) -> None:
    print(json.dumps(document) if as_json else text)
