"""What every command takes: which file, whose memory, and how to answer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_memory_store import filesystem
from hermes_memory_store.errors import ArgumentError, StoreNeedsUpgrade, StoreUnfinished
from hermes_memory_store.store import Store, is_missing
from hermes_memory_themes import resolve_theme

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])

READING_PATIENCE_S = 2.0
"""How long a search waits for writers before it gives up noting what was read."""


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

    def named_theme(self) -> str | None:
        """The theme that somebody asked for, by option or environment; None when nobody did."""
        named = self.theme or os.environ.get("HERMES_MEMORY_THEME", "").strip()
        return resolve_theme(flag=self.theme) if named else None

    def resolved_theme(self) -> str:
        """The theme that is meant, whether it exists or not."""
        return resolve_theme(flag=self.theme)

    def reading_theme(self, store: Store) -> str:
        """The theme to read. One named with `--theme` must exist; one's own may still be empty."""
        theme = self.resolved_theme()
        if self.theme is not None:
            store.names.theme(theme)
        return theme

    def confining_theme(self, store: Store) -> str | None:
        """The theme a uid is looked up in: any, unless `--theme` names one."""
        return None if self.theme is None else self.reading_theme(store)

    @contextmanager
    def store(self, *, writing: bool = False, noting: bool = False, creating: bool = False) -> Iterator[Store]:
        """The open store: for reading only, unless it is for `writing`, or for `noting` which facts were recalled.

        A hermes-memory 0.3.0 file is upgraded first, with a verified backup beside it.

        :param creating: open it for writing, and make one where there is none
        :raises StoreMissing: when there is none and the command does not create one
        """
        if self.past is not None:
            if writing or creating:
                raise ArgumentError("the past can be read, not changed; use a reading command after `at TIME`")
            yield self.past
            return
        path = self.path()
        is_new = is_missing(path)
        with self._opened(path, writing, noting, creating) as store:
            if is_new and not self.as_json:
                click.echo(f"there was no memory at {path}; this is a new one", err=True)
            yield store

    def _opened(self, path: Path, writing: bool, noting: bool, creating: bool) -> Store:
        try:
            if writing or creating:
                return Store.open(path, create=creating)
            if noting and not filesystem.is_frozen(path):
                return Store.open(path, create=False, lock_timeout_s=READING_PATIENCE_S)
            return opened_for_reading(path)
        except StoreNeedsUpgrade:
            from hermes_memory_store.upgrade import upgrade
            from hermes_memory_tui.cli.progress import progress_bar

            with progress_bar("upgrading") as progress:
                report = upgrade(path, progress=progress)
            if report.backup is not None and not self.as_json:
                click.echo(f"upgraded a hermes-memory 0.3.0 file; the old one is kept at {report.backup}", err=True)
            return Store.open(path)


@contextmanager
def throwaway_store() -> Iterator[Store]:
    """An empty memory that leaves nothing behind: what a dry run would do on a machine that has none yet."""
    with (
        tempfile.TemporaryDirectory(prefix="hermes-memory-") as folder,
        Store.open(Path(folder) / "memory.db") as store,
    ):
        yield store


def opened_for_reading(path: Path) -> Store:
    """Open a store without the right to change it."""
    try:
        return Store.open(path, read_only=True)
    except StoreUnfinished:
        # A creation that was cut off is finished by whoever may write.
        return Store.open(path)


def common(command: F) -> F:
    """Add `--db`, `--theme` and `--json`. They may stand before or after the command's name; the last one counts."""
    for option in (
        click.option(
            "--json", "as_json", is_flag=True, expose_value=False, callback=remember,
            help="Answer with one JSON document.",
        ),
        click.option(
            "--theme", metavar="NAME", expose_value=False, callback=remember, shell_complete=theme_names,
            help="Whose memory.  [default: $HERMES_MEMORY_THEME, default]",
        ),
        click.option(
            "--db", metavar="FILE", expose_value=False, callback=remember, type=click.Path(),
            help="The store.  [default: $HERMES_MEMORY_DB, ~/.hermes/memory.db]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep a common option in the `Settings` that all commands of this call share."""
    settings = ctx.ensure_object(Settings)
    value = not_blank(ctx, parameter, value)
    if value not in (None, False):
        assert parameter.name is not None
        setattr(settings, parameter.name, value)


def not_blank(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an option without content: an unset variable of a script must not mean everything, or the default."""
    if isinstance(value, str) and not value.strip():
        raise click.BadParameter("it is empty; leave the option out, or say what it is", param=parameter)
    return value


def scope_option(help_text: str) -> Callable[[F], F]:
    """`--scope LABEL`, completed from the labels there are."""
    return click.option("--scope", metavar="LABEL", callback=not_blank, shell_complete=scope_labels, help=help_text)


def theme_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Themes for shell completion."""
    return completed(ctx, incomplete, lambda store: store.names.all_themes())


def scope_labels(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Labels of scopes for shell completion."""
    theme = ctx.ensure_object(Settings).resolved_theme()
    return completed(ctx, incomplete, lambda store: store.names.labels(theme))


def completed(ctx: click.Context, incomplete: str, names: Callable[[Store], list[str]]) -> list[CompletionItem]:
    """The names that begin like this. A store that cannot be read completes nothing: a prompt is no place for errors."""
    from click.shell_completion import CompletionItem

    from hermes_memory_store.errors import StoreError

    try:
        with Store.open(ctx.ensure_object(Settings).path(), read_only=True) as store:
            return [CompletionItem(name) for name in names(store) if name.startswith(incomplete)]
    except StoreError:
        return []


pass_settings = click.make_pass_decorator(Settings, ensure=True)
"""Hands the `Settings` to a command as its first argument."""
