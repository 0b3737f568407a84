"""Search queries as a shell passes them: split into arguments, with exclusions that look like options."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

EXCLUSION = re.compile(r"-[^-].", re.DOTALL)


class QueryCommand(click.Command):
    """A command whose arguments are a search query: `-draft` excludes a word and is not an option.

    One letter after a dash is an option, and `-n20` is one with its number.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, move_exclusions_last(args, self.valued_options(ctx)))

    def valued_options(self, ctx: click.Context) -> set[str]:
        return {
            name
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and not option.is_flag
            for name in option.opts
        }


def move_exclusions_last(args: Sequence[str], valued: set[str]) -> list[str]:
    """Move arguments that exclude a word behind a `--`, where no parser takes them for options."""
    words: list[str] = []
    excluded: list[str] = []
    rest = iter(args)
    for arg in rest:
        if arg == "--":
            return [*words, "--", *excluded, *rest]
        if arg in valued:
            words += [arg, *(value for value in [next(rest, None)] if value is not None)]
        elif EXCLUSION.match(arg) and not (arg[:2] in valued and arg[2:].isdecimal()):
            excluded.append(arg)
        else:
            words.append(arg)
    return [*words, "--", *excluded] if excluded else words


def join_query(words: tuple[str, ...]) -> str:
    """Join arguments into one query: an argument with spaces stays a phrase, a single argument is the whole query."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word and ":" not in word else word for word in words)
