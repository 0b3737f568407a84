"""The command line. One file per kind of command; each is imported only when it is called.

`hermes-memory-tui --help` lists the commands, `docs/cli.md` documents every key of their JSON.
"""

from __future__ import annotations

import importlib

import click

from hermes_memory_tui import __version__
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


class UnknownCommand(click.UsageError):
    """A command that there is none of."""

    def __init__(self, message: str, value: str, ctx: click.Context) -> None:
        super().__init__(message, ctx)
        self.value = value


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = importlib.import_module(f"hermes_memory_tui.cli.{module}")
        command = getattr(loaded, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=2)
            meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise UnknownCommand(f"No such command {args[0]!r}.{meant}", args[0], ctx) from error


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="hermes-memory-tui")
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
