"""`guard`: what agents are asked about before they run or edit it, with a fact as the reason."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.hosts.guards import find_asking, find_fitting, load_guards
from hermes_memory_store.model import ChangeResult
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import refuse_missing_store
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, is_at_terminal, pass_settings
from hermes_memory_tui.cli.json_documents import print_document

MEMBERS = "uid kind pattern answer"


@add_examples(
    ("guard add 3ca146fb 'git push*'", "ask before any push, with this fact as the reason"),
    ("guard test 'cd web && git push --force'", "which guard would ask, with its fact"),
    ("guard", "every guard, and the hosts that heed it"),
)
@click.group("guard", invoke_without_command=True, short_help="Have agents ask before they run or edit something.")
@add_common_options
@click.pass_context
def guard_command(ctx: click.Context) -> None:
    """Have agents ask before they run a command or edit a file, with a fact as the reason. Without a command: list the guards.

    A reminder and no sandbox: what a script or a variable hides is not seen. Only you set guards: no tool, team or import.
    """
    if ctx.invoked_subcommand is None:
        list_guards(ctx.ensure_object(CommandSettings))


def hook_options(command: Any) -> Any:
    """Add `--yes`, the common options and the settings."""
    yes = click.option("--yes", is_flag=True, help="Write the hooks of connected hosts without asking.")
    return yes(add_common_options(pass_settings(command)))


@guard_command.command("add")
@click.argument("uid")
@click.argument("pattern")
@click.option("--deny", is_flag=True, help="Refuse it instead of asking.")
@click.option("--command", "kind", flag_value="run", help="It is about commands, whatever it looks like.")
@click.option("--file", "kind", flag_value="edit", help="It is about edits of files.")
@hook_options
def guard_add_command(settings: CommandSettings, uid: str, pattern: str, deny: bool, kind: str, yes: bool) -> None:
    """Add a guard to a fact: 'git push*' for commands, 'migrations/*' for edits of files.

    A command fits by its first words, wherever in a line it stands: behind cd or sudo, in sh -c or $( … ); options may
    stand anywhere. A file fits as in .gitignore, or by its whole path; what > or tee writes is edited, too.
    """
    with settings.store(writing=True) as store:
        theme = settings.confining_theme(store)
        changed = store.guards.add(uid, pattern, kind=kind or "", answer="deny" if deny else "ask", theme=theme)
    finish_change(settings, "guarded", changed, yes=yes)


@guard_command.command("remove")
@click.argument("uid")
@click.argument("pattern", default="")
@hook_options
def guard_remove_command(settings: CommandSettings, uid: str, pattern: str, yes: bool) -> None:
    """Remove a guard from a fact, or all of them."""
    with settings.store(writing=True) as store:
        changed = store.guards.remove(uid, pattern, theme=settings.confining_theme(store))
    finish_change(settings, "unguarded", changed, yes=yes)


@guard_command.command("list")
@add_common_options
@pass_settings
def guard_list_command(settings: CommandSettings) -> None:
    """List the guards, what each is about, and the hosts that heed them."""
    list_guards(settings)


@guard_command.command("test")
@click.argument("act")
@click.option("--command", "kind", flag_value="run", help="It is a command.")
@click.option("--file", "kind", flag_value="edit", help="It is a file that is edited.")
@add_common_options
@click.pass_context
def guard_test_command(ctx: click.Context, act: str, kind: str | None) -> None:
    """Say which guards would ask here before a command, or the edit of a file, with their facts.

    The exit code is 0 if one would ask, and 1 if none would.
    """
    settings = ctx.ensure_object(CommandSettings)
    path, folder = settings.path(), str(Path.cwd())
    refuse_missing_store(path)
    guards, kinds = load_guards(path), [kind] if kind else ["run", "edit"]
    fitting = [guard for kind in kinds for guard in find_fitting(guards, kind, act, folder)]
    asking = find_asking(str(path), fitting, folder, settings.named_theme() or "")
    if settings.as_json:
        print_document({"guards": [to_members(guard, MEMBERS) | {"notation": fact} for guard, fact in asking]})
    else:
        lines = [f"{guard.answer:<4}  {guard.pattern}  {fact}  ({short_uid(guard.uid)})" for guard, fact in asking]
        click.echo(to_printable("\n".join(lines or ["no guard asks"])))
    ctx.exit(0 if asking else 1)


def list_guards(settings: CommandSettings) -> None:
    from hermes_memory_bridge.connect.hooks.hook_check import list_heeding_hosts
    from hermes_memory_bridge.connect.hosts import find_here

    with settings.store() as store:
        listed = store.guards.list()
    hosts = list_heeding_hosts(find_here(), settings.path())
    if settings.as_json:
        guards = [
            to_members(guard, MEMBERS)
            | {"notation": fact and fact.notation, "theme": fact and fact.theme, "silent": fault}
            for guard, fact, fault in listed
        ]
        print_document({"guards": guards, "hosts": {heeding.host.name: heeding.describe() for heeding in hosts}})
        return
    for guard, fact, fault in listed:
        about = (
            f"{guard.answer:<4}  {'edit of ' if guard.kind == 'edit' else ''}{guard.pattern}  {fact and fact.notation}"
        )
        words = " ".join([*([f"asks no more, {fault};"] if fault else []), *([about] if fact else [])])
        click.echo(to_printable(f"{short_uid(guard.uid)}  {words.rstrip(';')}"))
    for heeding in hosts:
        click.echo(f"{heeding.host.title}: {heeding.describe()}")
    if not listed:
        click.echo("no guards; add one with: hermes-memory-tui guard add UID 'git push*'")


def finish_change(settings: CommandSettings, verb: str, changed: ChangeResult, *, yes: bool) -> None:
    """Say what was changed, and have hosts ask before tools while there is a guard: after a question, or say what is missing."""
    from hermes_memory_bridge.connect.hooks.hook_check import list_heeding_hosts
    from hermes_memory_bridge.connect.host_connection import renew_guard_hooks
    from hermes_memory_bridge.connect.hosts import find_here

    if settings.as_json:
        print_document({"changed": list(changed.uids), "changes": list(changed.seqs)})
    else:
        undo = f"  (undo: hermes-memory-tui undo --change {changed.seqs[0]})" if changed.seqs else ""
        click.echo(f"{verb} {short_uid(changed.uids[0])}{undo}" if changed.uids else "nothing to change")
    with contextlib.redirect_stdout(sys.stderr):
        if yes or (is_at_terminal() and not settings.as_json):
            renew_guard_hooks(settings.path(), yes=yes)
        for heeding in list_heeding_hosts(find_here(), settings.path()):
            if heeding.is_stale:
                print(f"{heeding.host.title}: {heeding.describe()}")
