"""The command line of `hermes-memory-bridge`; each command is imported when it is called.

The shim and `serve` as the shim starts it do not come here: see `__main__.py`.
"""

from __future__ import annotations

import sys

import click

from hermes_memory_bridge.cli.bridge_options import BridgeGroup
from hermes_memory_bridge.cli.click_support import HELP_SETTINGS, format_usage_error
from hermes_memory_bridge.daemon.error_report import exit_code_of, report_failure
from hermes_memory_bridge.version import __version__

PROGRAM = "hermes-memory-bridge"

SERVICE = "service_commands"

COMMANDS = {
    "serve": f"{SERVICE}:serve_command",
    "start": f"{SERVICE}:start_command",
    "restart": f"{SERVICE}:restart_command",
    "stop": f"{SERVICE}:stop_command",
    "status": f"{SERVICE}:bridge_status_command",
    "logs": f"{SERVICE}:logs_command",
    "calls": f"{SERVICE}:calls_command",
    "install-service": f"{SERVICE}:install_service_command",
    "uninstall-service": f"{SERVICE}:uninstall_service_command",
    "connect": "connect_commands:host_connect_command",
    "token": "token_commands:token_group",
    "secret": "vault_commands:secret_command",
    "embedding": "embedding_commands:embedding_command",
    "team": "team_commands:team_group",
    "sync": "team_commands:sync_group",
    "folder": "folder_commands:folder_group",
}
"""Command → its module in this package and its name there, in the order of the help."""

HEADINGS = {
    "serve": "The background process",
    "connect": "Agents",
    "team": "Other machines",
}
"""Command → the heading of the help before it."""

HINTS = {
    "add init install setup register": "hermes-memory-bridge connect",
    "daemon mcp run": "hermes-memory-bridge serve",
    "disconnect remove uninstall": "hermes-memory-bridge connect HOST --remove",
    "write facts search recall undo review purge scopes themes sessions export import backup doctor optimize demo": (
        "hermes-memory-tui, which has the commands of the memory itself (hermes-memory-tui --help)"
    ),
}
"""Words of newcomers → what to run instead; `LazyGroup` reads them for words that are no command here."""


@click.group(
    cls=BridgeGroup,
    locations={name: f"hermes_memory_bridge.cli.{place}" for name, place in COMMANDS.items()},
    headings=HEADINGS,
    hints=HINTS,
    invoke_without_command=True,
    context_settings=HELP_SETTINGS,
    epilog='\b\nName it in your MCP host: {"mcpServers": {"hermes-memory": {"command": "hermes-memory-bridge"}}}',
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--db", metavar="DB", help="Path of the store ($HERMES_MEMORY_DB, else ~/.hermes/memory.db).")
@click.option(
    "--theme", metavar="THEME", help="Theme to serve ($HERMES_MEMORY_THEME, else the profile, else the project's)."
)
@click.option("--profile", metavar="PROFILE", help="The host's profile; used as the theme when none is given.")
@click.option(
    "--token", metavar="TOKEN", help="Token from `token add` ($HERMES_MEMORY_TOKEN); sets the theme and the rights."
)
@click.option(
    "--tools",
    metavar="TOOLS",
    help="Tools to offer: essential, core, all, or names separated by commas ($HERMES_MEMORY_TOOLS).",
)
@click.option("--log-level", metavar="LOG-LEVEL", help="Ignored; accepted for old configurations.")
@click.pass_context
def bridge_cli(ctx: click.Context, /, **options: str | None) -> int:
    """Serve the memory to an agent over MCP on standard input and output, unless a command is given."""
    if ctx.invoked_subcommand is not None:
        return 0
    from hermes_memory_bridge.wire.shim import run_shim as shim

    return shim({name: value for name, value in options.items() if value})


def run_bridge_command(args: list[str]) -> int:
    """Run one command. Exit codes: 0, 1 (it cannot be done), 2 (usage)."""
    return exit_code_of(lambda: invoke_bridge_command(args))


def invoke_bridge_command(args: list[str]) -> int:
    """Parse and run one command, and report a usage error."""
    try:
        with bridge_cli.make_context(PROGRAM, list(args)) as context:
            code = bridge_cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.UsageError as error:
        if error.ctx is not None:
            print(error.ctx.get_usage(), file=sys.stderr)
        report_failure(format_usage_error(error))
        return 2
    return code if isinstance(code, int) else 0
