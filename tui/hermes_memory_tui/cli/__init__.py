"""The command line: helpers here, the commands in `memory` and `maintenance`, each imported when it is called.

May import everything of this room; only `__main__` imports it. `docs/reference/commands.md` has every key of the JSON.
Read `command_runner.py` first.
"""

from __future__ import annotations

import click

from hermes_memory_bridge.cli.click_support import HELP_SETTINGS, LazyGroup
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, reject_unless_reading

COMMANDS = {
    "write": "memory.write_commands",
    "edit": "memory.write_commands",
    "pin": "memory.write_commands",
    "unpin": "memory.write_commands",
    "archive": "memory.write_commands",
    "restore": "memory.write_commands",
    "review": "memory.review_commands",
    "undo": "memory.undo_commands",
    "redo": "memory.undo_commands",
    "recall": "recall.recall_commands",
    "why": "recall.why_command",
    "test": "recall.memory_test_command",
    "search": "memory.read_commands",
    "facts": "memory.read_commands",
    "fact": "memory.read_commands",
    "history": "memory.read_commands",
    "status": "memory.theme_commands",
    "stats": "now.now_commands",
    "watch": "now.now_commands",
    "themes": "memory.theme_commands",
    "scopes": "memory.scope_commands",
    "sessions": "memory.session_commands",
    "projects": "memory.project_commands",
    "turns": "memory.conversation_commands",
    "purge": "memory.purge_commands",
    "export": "maintenance.transfer_commands",
    "import": "maintenance.transfer_commands",
    "log": "memory.log_commands",
    "replay": "memory.log_commands",
    "at": "memory.at_command",
    "backup": "maintenance.store_commands",
    "doctor": "maintenance.store_commands",
    "upgrade": "maintenance.store_commands",
    "optimize": "maintenance.optimize_command",
    "tidy": "maintenance.optimize_command",
    "connect": "maintenance.connect_command",
    "backfill": "memory.backfill_command",
    "capture": "maintenance.capture_commands",
    "guard": "maintenance.guard_commands",
    "cite": "maintenance.verify_commands",
    "verify": "maintenance.verify_commands",
    "repo": "maintenance.repo_commands",
    "files": "maintenance.files_command",
    "pause": "maintenance.capture_commands",
    "resume": "maintenance.capture_commands",
    "demo": "maintenance.demo_command",
    "completion": "maintenance.completion_command",
    "help": "maintenance.help_command",
}
"""Command → the module of this package that holds it, in the order the help shows."""

HEADINGS = {
    "write": "Write and correct",
    "recall": "Ask and read",
    "themes": "Themes, scopes, sessions",
    "purge": "Erase, carry, look back",
    "backup": "The store's file",
    "connect": "Agents and what they say",
    "demo": "This program",
}
"""Command → the heading of the help before it."""

ALIASES = {"theme": "themes", "scope": "scopes", "project": "projects"}

HINTS = {
    "add create insert learn note new put remember save set store": "hermes-memory-tui write 'V[db.port]: 5432'",
    "all cat dump get list ls memories memory print show view": "hermes-memory-tui facts, or fact UID for one",
    "ask find grep lookup query": "hermes-memory-tui search WORDS, or recall ask 'a question'",
    "clear delete del drop erase forget remove rm": (
        "hermes-memory-tui archive UID, which hides it and can be undone, or purge UID, which erases it for good"
    ),
    "change correct fix modify rename update": "hermes-memory-tui edit UID 'the new content'",
    "clean cleanup compact dedupe prune": "hermes-memory-tui tidy, which proposes first",
    "revert rollback": "hermes-memory-tui undo",
    "approve quarantine": "hermes-memory-tui review",
    "agents": "hermes-memory-tui sessions",
    "init install setup": "hermes-memory-tui connect",
    "config settings": "hermes-memory-tui status; docs/themes.md and docs/inspector.md describe the settings",
    "gui inspect inspector open tui ui": "hermes-memory-tui, without a command",
    "mcp serve": "hermes-memory-bridge serve; for the inspector in a browser: hermes-memory-tui --serve",
    "bridge calls embedding folder logs restart secret start stop sync team token": (
        "hermes-memory-bridge, which has the commands of the background process (hermes-memory-bridge --help)"
    ),
}
"""Words of newcomers → what to run instead; `LazyGroup` reads them for words that are no command here."""


@click.group(
    cls=LazyGroup,
    locations={name: f"hermes_memory_tui.cli.{module}:{name}_command" for name, module in COMMANDS.items()},
    headings=HEADINGS,
    aliases=ALIASES,
    hints=HINTS,
    invoke_without_command=True,
    context_settings=HELP_SETTINGS,
)
@click.version_option(package_name="hermes-memory-tui", prog_name="hermes-memory-tui")
@click.option("--read-only", is_flag=True, help="Open the inspector read-only.")
@click.option("--serve", is_flag=True, help="Serve the inspector to a browser on this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to serve it on.  [default: 7681]")
@add_common_options
@click.pass_context
def cli(ctx: click.Context, read_only: bool, serve: bool, port: int | None) -> None:
    """Browse, search, edit, undo and purge what LLM agents have stored.

    Without a command the inspector opens. `help COMMAND` explains a command with examples.
    """
    settings = ctx.ensure_object(CommandSettings)
    if settings.past is not None:
        reject_unless_reading(ctx, ctx.invoked_subcommand)
    if ctx.invoked_subcommand is not None:
        if read_only:
            raise click.UsageError(
                "--read-only applies to the inspector; leave it out (read commands never write)", ctx
            )
        if serve or port is not None:
            raise click.UsageError(f"--{'serve' if serve else 'port'} applies to the inspector; leave it out", ctx)
        return
    if settings.as_json:
        raise click.UsageError("--json needs a command; name one, or leave --json out", ctx)
    if port is not None and not serve:
        raise click.UsageError("--port requires --serve", ctx)
    if serve:
        from hermes_memory_tui.system.web_server import PORT, serve_inspector

        ctx.exit(serve_inspector(settings.path(), settings.named_theme(), read_only, PORT if port is None else port))
    from hermes_memory_tui.app import run_inspector

    ctx.exit(run_inspector(settings.path(), settings.named_theme(), read_only=read_only))
