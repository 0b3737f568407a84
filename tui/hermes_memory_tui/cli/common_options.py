"""Options common to all commands: the store file, the theme and the output format."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hermes_memory_store.database.schema import STORE_VERSION
from hermes_memory_store.database.store_version import read_header_version
from hermes_memory_store.errors import ArgumentError, DiskFull, StoreNeedsUpgrade, StoreReadOnly, StoreUnfinished
from hermes_memory_store.model import Way
from hermes_memory_store.notation.memory_spec import find_target
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store, is_store_missing
from hermes_memory_store.system import filesystem
from hermes_memory_themes import resolve_theme
from hermes_memory_themes.theme_identity import PERSONAL
from hermes_memory_tui.model.working_folder import attribute_to_working_folder, find_working_theme

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from hermes_memory_store.intake.intake import SecretVault

F = TypeVar("F", bound=Callable[..., Any])

READING = (
    "search",
    "facts",
    "fact",
    "history",
    "status",
    "themes",
    "scopes",
    "sessions",
    "projects",
    "export",
    "log",
    "test",
)
"""Commands that can run on a past state."""

COLOURS = {"auto": None, "always": True, "never": False}

READING_PATIENCE_S = 2.0
"""How long a search waits for the write lock before it gives up recording what was read."""


@dataclass(eq=False, repr=False)
class CommandSettings:
    """The common options of one call, and the store they open."""

    db: str | None = None
    theme: str | None = None
    as_json: bool = False
    output: str | None = None
    """The format of a list: see `table_output.py`."""
    fields: str | None = None
    """The fields of a list, separated by commas."""
    past: Store | None = None
    """The store as of a past moment, while `at` runs another command."""
    place_theme: str | None = None
    """The theme of the working folder, once it was asked for."""

    @property
    def is_tabular(self) -> bool:
        """Whether a list is printed row by row in a format that was asked for."""
        return self.output is not None or self.fields is not None

    def path(self) -> Path:
        return Path(self.db).expanduser() if self.db else filesystem.default_store_path()

    def named_theme(self) -> str | None:
        """Return the theme given by option or environment variable, or None."""
        named = self.theme or os.environ.get("HERMES_MEMORY_THEME", "").strip()
        return resolve_theme(flag=self.theme) if named else None

    def resolved_theme(self, store: Store) -> str:
        """Return the theme of this call, whether it exists or not: the one that is named, else that of the working folder.

        Which project it took is said once on standard error, unless the output is JSON.
        """
        named = self.named_theme()
        if named is not None:
            return named
        if self.place_theme is None:
            if self.past is None:
                self.place_theme = self._find_place_theme(store)
            else:  # the project's theme is what it is today
                with open_read_only(self.path()) as present:
                    self.place_theme = self._find_place_theme(present)
        return self.place_theme

    def writing_theme(self, store: Store, line: str) -> str:
        """Return the theme to which a notation is written: the person's own facts are in one for all places."""
        theme = self.resolved_theme(store)
        target = None if self.named_theme() is not None else find_target(line)
        return PERSONAL if target and store.place_themes.is_personal_target(target) else theme

    def _find_place_theme(self, store: Store) -> str:
        """Return the theme of the working folder, and say which project it took."""
        theme = find_working_theme(store)
        project = store.place_themes.project_of(theme)
        if project is not None and not self.as_json:
            click.echo(f"project {to_printable(project)}", err=True)
        return theme

    def other_themes(self, store: Store, theme: str | None) -> tuple[str, ...]:
        return () if theme is None else tuple(theme_row.name for theme_row in store.place_themes.readable(theme)[1:])

    def reading_theme(self, store: Store) -> str:
        """Return the theme to read. One named with `--theme` must exist; that of the folder may still be empty."""
        theme = self.resolved_theme(store)
        if self.theme is not None:
            store.names.theme(theme)
        return theme

    def confining_theme(self, store: Store) -> str | None:
        """Return the theme in which uids are looked up: None for any, unless `--theme` names one."""
        return None if self.theme is None else self.reading_theme(store)

    @contextmanager
    def store(self, *, writing: bool = False, noting: bool = False, creating: bool = False) -> Iterator[Store]:
        """Open the store: read-only, unless it is for `writing`, or for `noting` which facts were recalled.

        A hermes-memory 0.3.0 file is upgraded first, with a verified backup next to it.

        :param creating: open it for writing, and create it when missing
        :raises StoreMissing: when there is none and the command does not create one
        """
        if self.past is not None:
            if writing or creating:
                raise ArgumentError("the past is read-only; use a read command after `at TIME`")
            yield self.past
            return
        path = self.path()
        is_new = is_store_missing(path)
        with self._open_store(path, writing, noting, creating) as store:
            if writing or creating:
                prepare_intake(store)
                attribute_to_working_folder(store, Way.COMMAND_LINE)
            if is_new and not self.as_json:
                click.echo(f"created a new memory at {path}", err=True)
            if isinstance(store.db.write_refusal, DiskFull) and not self.as_json:
                click.echo(f"reading only: {store.db.write_refusal}", err=True)
            yield store

    def _open_store(self, path: Path, writing: bool, noting: bool, creating: bool) -> Store:
        if (read_header_version(path) or STORE_VERSION) < STORE_VERSION:
            from hermes_memory_tui.system.bridge_client import replace_older_bridge

            replace_older_bridge(path)
        try:
            if writing or creating:
                return Store.open(path, create=creating)
            if noting:
                with suppress(DiskFull, StoreReadOnly):  # it is read without a note of that
                    return Store.open(path, create=False, lock_timeout_s=READING_PATIENCE_S)
            return open_read_only(path)
        except StoreNeedsUpgrade:
            from hermes_memory_bridge.trust import open_store_vault
            from hermes_memory_store.files.upgrade_hermes_030 import upgrade_hermes_030
            from hermes_memory_tui.cli.progress_bars import progress_bar

            with progress_bar("upgrading") as progress:
                report = upgrade_hermes_030(path, vault=open_store_vault(path), progress=progress)
            if report.backup is not None and not self.as_json:
                click.echo(f"upgraded a hermes-memory 0.3.0 file; the old file is kept at {report.backup}", err=True)
            return Store.open(path)


def prepare_intake(store: Store) -> None:
    """Let a store keep masked secrets where its bridge does; without a terminal, the command line counts as an agent."""
    from hermes_memory_store.intake.intake import Writer

    store.intake.open_vault = partial(open_vault, store.path)
    store.intake.writer = Writer.PERSON if is_at_terminal() else Writer.AGENT


def open_vault(path: Path) -> SecretVault:
    """Open the vault where the bridge of this store keeps secrets."""
    from hermes_memory_bridge.trust import open_store_vault

    return open_store_vault(path)


def is_at_terminal() -> bool:
    """Check whether a person is asked and answers: neither input nor output is a pipe or a file."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_first(
    settings: CommandSettings, question: str, *, yes: bool, first: str = "look at the plan with --dry-run, then "
) -> None:
    """Ask a person at a terminal. :raises UsageError: nobody can be asked, and `--yes` was not given"""
    if yes:
        return
    if settings.as_json or not is_at_terminal():
        raise click.UsageError(f"nobody can be asked here; {first}pass --yes")
    click.confirm(question, abort=True)


@contextmanager
def temporary_store() -> Iterator[Store]:
    """Open an empty temporary store, for a dry run where no store exists yet."""
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="hermes-memory-") as folder,
        Store.open(Path(folder) / "memory.db") as store,
    ):
        yield store


def open_read_only(path: Path) -> Store:
    try:
        return Store.open(path, read_only=True)
    except StoreUnfinished:
        # A creation that was cut off is finished by whoever may write.
        return Store.open(path)


def add_common_options(command: F) -> F:
    """Add `--db`, `--theme`, `--json` and `--color`, accepted before or after the command name; the last value wins."""
    for option in (
        click.option(
            "--color", type=click.Choice(list(COLOURS)), expose_value=False, callback=choose_colour,
            help="Whether to print colours.  [default: on a terminal, unless $NO_COLOR is set]",
        ),
        click.option(
            "--json", "as_json", is_flag=True, expose_value=False, callback=store_common_option,
            help="Print one JSON document.",
        ),
        click.option(
            "--theme", metavar="NAME", expose_value=False, callback=store_common_option, shell_complete=complete_themes,
            help="Agent identity whose memory to use.  [default: $HERMES_MEMORY_THEME, the folder's project, default]",
        ),
        click.option(
            "--db", metavar="FILE", expose_value=False, callback=store_common_option, type=click.Path(),
            help="Store file.  [default: $HERMES_MEMORY_DB, ~/.hermes/memory.db]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def choose_colour(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Tell click, and `style_text`, whether there are colours."""
    if value is not None:
        ctx.color = COLOURS[value]


def store_common_option(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Store a common option in the `CommandSettings` that all commands of this call share."""
    settings = ctx.ensure_object(CommandSettings)
    value = reject_blank(ctx, parameter, value)
    if value not in (None, False):
        assert parameter.name is not None
        setattr(settings, parameter.name, value)


def reject_blank(_: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Reject an empty option value: an unset shell variable must not mean everything, or the default."""
    if isinstance(value, str) and not value.strip():
        raise click.BadParameter("it is empty; leave the option out, or say what it is", param=parameter)
    return value


def scope_option(help_text: str) -> Callable[[F], F]:
    """Add `--scope LABEL`, completed from the existing labels."""
    return click.option(
        "--scope", metavar="LABEL", callback=reject_blank, shell_complete=complete_scopes, help=help_text
    )


def complete_themes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return complete_from_store(ctx, incomplete, lambda store: store.names.all_themes())


def complete_scopes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    settings = ctx.ensure_object(CommandSettings)
    settings.as_json = True  # a prompt is no place for what is said beside the answer
    return complete_from_store(ctx, incomplete, lambda store: store.names.labels(settings.resolved_theme(store)))


def complete_from_store(
    ctx: click.Context, incomplete: str, names: Callable[[Store], list[str]]
) -> list[CompletionItem]:
    """Return the names with this prefix.

    A store that cannot be read completes nothing: a prompt is no place for errors.
    """
    from click.shell_completion import CompletionItem

    from hermes_memory_store.errors import StoreError

    try:
        with Store.open(ctx.ensure_object(CommandSettings).path(), read_only=True) as store:
            return [CompletionItem(name) for name in names(store) if name.startswith(incomplete)]
    except StoreError:
        return []


pass_settings = click.make_pass_decorator(CommandSettings, ensure=True)
"""Hands the `Settings` to a command as its first argument."""


def reject_unless_reading(ctx: click.Context, command: str | None) -> None:
    """Reject a command that cannot run on a past state.

    :raises UsageError: when no command is given, or it is not a read command
    """
    if command not in READING:
        message = "a command is missing after `at TIME`" if command is None else f"{command!r} is not a read command"
        raise click.UsageError(f"{message}; use one of {', '.join(READING)}", ctx)
