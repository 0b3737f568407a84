"""What every command takes: which file, whose memory, and how to answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from hermes_memory_store import filesystem
from hermes_memory_store.errors import ArgumentError, StoreNeedsUpgrade
from hermes_memory_store.store import Store
from hermes_memory_themes import resolve_theme

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """The common options of one call, and the store they open."""

    db: str | None = None
    theme: str | None = None
    as_json: bool = False
    past: Store | None = None
    """The store as of a past moment, while `at` runs another command."""

    def path(self) -> Path:
        """The file that is meant."""
        return Path(self.db).expanduser() if self.db else filesystem.default_path()

    def resolved_theme(self) -> str:
        """The theme that is meant, whether it exists or not."""
        return resolve_theme(flag=self.theme)

    def reading_theme(self, store: Store) -> str:
        """The theme to read. One named with `--theme` must exist; the default one may still be empty."""
        theme = self.resolved_theme()
        if self.theme is not None:
            store.names.theme(theme)
        return theme

    @contextmanager
    def store(self, *, writing: bool = False) -> Iterator[Store]:
        """The open store. A hermes-memory 0.3.0 file is upgraded first, with a verified backup beside it."""
        if self.past is not None:
            if writing:
                raise ArgumentError("the past can be read, not changed; use a reading command after `at TIME`")
            yield self.past
            return
        with open_store(self.path()) as store:
            yield store


def open_store(path: Path) -> Store:
    """Open a store, upgrading a hermes-memory 0.3.0 file on the way."""
    try:
        return Store.open(path)
    except StoreNeedsUpgrade:
        from hermes_memory_store.upgrade import upgrade

        report = upgrade(path)
        if report.backup is not None:
            click.echo(f"upgraded a hermes-memory 0.3.0 file; the old one is kept at {report.backup}", err=True)
        return Store.open(path)


def common(command: F) -> F:
    """Add `--db`, `--theme` and `--json`. They may stand before or after the command's name; the last one counts."""
    for option in (
        click.option(
            "--json",
            "as_json",
            is_flag=True,
            expose_value=False,
            callback=remember,
            help="Answer with one JSON document.",
        ),
        click.option(
            "--theme", metavar="NAME", expose_value=False, callback=remember, help="Whose memory. [default: default]"
        ),
        click.option(
            "--db",
            metavar="FILE",
            expose_value=False,
            callback=remember,
            help="The store. [default: ~/.hermes/memory.db]",
        ),
    ):
        command = option(command)
    return command


def remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep a common option in the `Settings` that all commands of this call share."""
    settings = ctx.ensure_object(Settings)
    if value not in (None, False):
        assert parameter.name is not None
        setattr(settings, parameter.name, value)


pass_settings = click.make_pass_decorator(Settings, ensure=True)
"""Hands the `Settings` to a command as its first argument."""
