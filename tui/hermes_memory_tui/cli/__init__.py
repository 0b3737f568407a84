"""The command line. One file per kind of command; each is imported only when it is called.

`hermes-memory-tui --help` lists the commands, `docs/cli.md` documents every key of their JSON.
"""

from __future__ import annotations

import click

from hermes_memory_bridge.click_support import HELP_SETTINGS, LazyGroup
from hermes_memory_tui.cli.options import Settings, common

COMMANDS = {
    "write": "writing",
    "edit": "writing",
    "pin": "writing",
    "unpin": "writing",
    "archive": "writing",
    "restore": "writing",
    "review": "review",
    "undo": "undoing",
    "redo": "undoing",
    "search": "reading",
    "facts": "reading",
    "fact": "reading",
    "history": "reading",
    "status": "status",
    "themes": "status",
    "scopes": "scopes",
    "scope": "scopes",
    "sessions": "sessions",
    "turns": "turns",
    "purge": "purging",
    "export": "exchange",
    "import": "exchange",
    "log": "log",
    "replay": "log",
    "at": "past",
    "backup": "care",
    "doctor": "care",
    "upgrade": "care",
    "optimize": "optimize",
    "connect": "connect",
    "demo": "demo",
    "completion": "completion",
}
"""Command → the module of this package that holds it, in the order the help shows."""


@click.group(
    cls=LazyGroup,
    locations={name: f"hermes_memory_tui.cli.{module}:{name}_command" for name, module in COMMANDS.items()},
    invoke_without_command=True,
    context_settings=HELP_SETTINGS,
)
@click.version_option(package_name="hermes-memory-tui", prog_name="hermes-memory-tui")
@click.option("--read-only", is_flag=True, help="Open the inspector without the right to change anything.")
@click.option("--serve", is_flag=True, help="Show the inspector in a browser on this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Where to serve it.  [default: 7681]")
@common
@click.pass_context
def cli(ctx: click.Context, read_only: bool, serve: bool, port: int | None) -> None:
    """What LLM agents must not forget: browse, search, edit, undo and purge their memory.

    Without a command the inspector opens.
    """
    settings = ctx.ensure_object(Settings)
    if settings.past is not None:
        from hermes_memory_tui.cli.past import refuse_unless_reading

        refuse_unless_reading(ctx, ctx.invoked_subcommand)
    if ctx.invoked_subcommand is not None:
        if read_only:
            raise click.UsageError("--read-only is for the inspector; commands that read never write", ctx)
        if serve or port is not None:
            raise click.UsageError(f"--{'serve' if serve else 'port'} is for the inspector, not for a command", ctx)
        return
    if settings.as_json:
        raise click.UsageError("--json needs a command; without one the inspector opens", ctx)
    if port is not None and not serve:
        raise click.UsageError("--port goes with --serve", ctx)
    if serve:
        from hermes_memory_tui.serving import PORT, serve_inspector

        ctx.exit(serve_inspector(settings.path(), settings.named_theme(), read_only, PORT if port is None else port))
    from hermes_memory_tui.app import run_inspector

    ctx.exit(run_inspector(settings.path(), settings.named_theme(), read_only=read_only))
