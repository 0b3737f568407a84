"""`scopes`, and `scope close|reopen|rename`."""

from __future__ import annotations

import click

from hermes_memory_store.model import Changed, Scope, Tier
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document, scope_json
from hermes_memory_tui.cli.options import Settings, common, pass_settings, scope_labels
from hermes_memory_tui.cli.output import counted, table


@click.command("scopes", short_help="List units of work.")
@click.option("--all-themes", is_flag=True, help="Of every theme.")
@common
@pass_settings
def scopes_command(settings: Settings, all_themes: bool) -> None:
    """List units of work: open, cooling, closed, and how many facts each holds."""
    with settings.store() as store:
        scopes = store.scopes.list(None if all_themes else settings.reading_theme(store))
    if settings.as_json:
        document({"scopes": [scope_json(scope) for scope in scopes]})
    elif not scopes:
        click.echo("no scopes; a scope opens with the first fact written to it: write --scope LABEL …", err=True)
    else:
        table(("scope", "theme", "status", "hot", "cold", "archived", "closed by"), [row(scope) for scope in scopes])


def row(scope: Scope) -> tuple[object, ...]:
    """A scope as a line of the table."""
    counts = (scope.facts.get(tier, 0) for tier in (Tier.HOT, Tier.COLD, Tier.ARCHIVED))
    return (scope.label, scope.theme, scope.status.value, *counts, scope.closed_by or "")


@click.group("scope")
@common
def scope_command() -> None:
    """Close, reopen or rename one scope."""


@scope_command.command("close")
@click.argument("label", shell_complete=scope_labels)
@common
@pass_settings
def close(settings: Settings, label: str) -> None:
    """Close a scope: its hot facts go cold. Writing to it again reopens it."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme()
        answer(settings, store, theme, label, store.scopes.close(theme, label))


@scope_command.command("reopen")
@click.argument("label", shell_complete=scope_labels)
@common
@pass_settings
def reopen(settings: Settings, label: str) -> None:
    """Open a closed scope and warm what its closing cooled."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme()
        answer(settings, store, theme, label, store.scopes.reopen(theme, label))


@scope_command.command("rename")
@click.argument("label", shell_complete=scope_labels)
@click.argument("new")
@common
@pass_settings
def rename(settings: Settings, label: str, new: str) -> None:
    """Give a scope another label."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme()
        changed = store.scopes.rename(theme, label, new)
        answer(settings, store, theme, " ".join(new.split()), changed)


def answer(settings: Settings, store: Store, theme: str, label: str, changed: Changed) -> None:
    """The scope as it stands now."""
    scope = store.scopes.get(theme, label)
    if settings.as_json:
        document(scope_json(scope) | {"changed": list(changed.uids), "changes": list(changed.seqs)})
    else:
        moved = len(set(changed.uids) - {scope.uid})
        click.echo(f"scope {printable(scope.label)} is {scope.status.value}; {counted(moved, 'fact')} moved")
