"""The command `scopes`, with `close`, `reopen` and `rename`."""

from __future__ import annotations

import click

from hermes_memory_store.model import ChangeResult, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, complete_scopes, pass_settings
from hermes_memory_tui.cli.json_documents import print_document, scope_json
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows
from hermes_memory_tui.cli.terminal_output import format_quantity

SCOPES = Listing(
    fields=(
        "uid", "theme", "label", "status", "opened_at", "closed_at", "closed_by", "silence",
        *(f"facts.{tier.value}" for tier in Tier if tier is not Tier.WITHDRAWN),
    ),
    shown=("label", "theme", "status", "facts.hot", "facts.cold", "facts.archived", "closed_by"),
)  # fmt: skip


@add_examples(
    ("scopes --all-themes", "every unit of work"),
    ("scopes -o tsv --fields label,status,facts.hot", "for a program"),
    ("scopes close login", "cool its facts"),
    ("scopes rename login sign-in", "give it another name"),
)
@click.group(
    "scopes", invoke_without_command=True, short_help="List scopes (units of work); close, reopen or rename one."
)
@click.option("--all-themes", is_flag=True, help="Include all themes.")
@add_list_options(SCOPES)
@add_common_options
@click.pass_context
def scopes_command(ctx: click.Context, all_themes: bool) -> None:
    """List scopes (units of work): open, cooling or closed, and the number of facts in each."""
    if ctx.invoked_subcommand is not None:
        return
    settings = ctx.ensure_object(CommandSettings)
    with settings.store() as store:
        scopes = store.scopes.list(None if all_themes else settings.reading_theme(store))
    if settings.as_json:
        print_document({"scopes": [scope_json(scope) for scope in scopes]})
        return
    print_rows(settings, SCOPES, map(scope_json, scopes))
    if not scopes:
        click.echo("no scopes; a scope opens with the first fact written to it: write --scope LABEL …", err=True)


@scopes_command.command("close")
@click.argument("label", shell_complete=complete_scopes)
@add_common_options
@pass_settings
def close_command(settings: CommandSettings, label: str) -> None:
    """Close a scope: its hot facts become cold. Writing to it reopens it."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme(store)
        print_scope_change(settings, store, theme, label, store.scopes.close(theme, label))


@scopes_command.command("reopen")
@click.argument("label", shell_complete=complete_scopes)
@add_common_options
@pass_settings
def reopen_command(settings: CommandSettings, label: str) -> None:
    """Reopen a closed scope and restore the facts cooled by closing it to hot."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme(store)
        print_scope_change(settings, store, theme, label, store.scopes.reopen(theme, label))


@scopes_command.command("rename")
@click.argument("label", shell_complete=complete_scopes)
@click.argument("new")
@add_common_options
@pass_settings
def rename_command(settings: CommandSettings, label: str, new: str) -> None:
    """Rename a scope."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme(store)
        changed = store.scopes.rename(theme, label, new)
        print_scope_change(settings, store, theme, " ".join(new.split()), changed)


def print_scope_change(settings: CommandSettings, store: Store, theme: str, label: str, changed: ChangeResult) -> None:
    scope = store.scopes.get(theme, label)
    if settings.as_json:
        print_document(scope_json(scope) | {"changed": list(changed.uids), "changes": list(changed.seqs)})
    else:
        moved = len(set(changed.uids) - {scope.uid})
        click.echo(f"scope {to_printable(scope.label)} is {scope.status.value}; {format_quantity(moved, 'fact')} moved")
