"""`connect`: name the memory in an agent host, or install the provider of hermes-agent. The bridge's own command."""

from __future__ import annotations

import contextlib
import io
import sys

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings, common, pass_settings


@click.command("connect", short_help="Connect an agent host to this memory.")
@click.argument("host", required=False)
@click.option("--provider", is_flag=True, help="hermes-agent only: install the memory provider instead of the server.")
@click.option("--profile", "profiles", multiple=True, metavar="NAME", help="With --provider: in this profile.")
@click.option("--all-profiles", is_flag=True, help="With --provider: in every profile there is.")
@click.option("--project", is_flag=True, help="In this project's file instead of the user's.")
@click.option("--remove", is_flag=True, help="Take it out again.")
@click.option("--check", is_flag=True, help="Start what is configured and call a tool.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common
@pass_settings
def connect_command(settings: Settings, /, host: str | None, profiles: tuple[str, ...], **flags: bool) -> None:
    """Connect an agent host to this memory. Without HOST: which hosts there are, and which are connected."""
    from hermes_memory_bridge.connect.command import main

    words = [host] if host else []
    words += [f"--{name.replace('_', '-')}" for name, given in flags.items() if given]
    words += [word for name in profiles for word in ("--profile", name)]
    words += ["--db", settings.db] if settings.db else []
    words += ["--theme", settings.theme] if settings.theme else []
    if not settings.as_json:
        sys.exit(main(words))
    if host and not (flags["yes"] or flags["dry_run"] or flags["check"]):
        raise ArgumentError("with --json nobody can be asked; add --yes or --dry-run")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = main(words)
    document({"ok": code == 0, "said": said.getvalue()})
    sys.exit(code)
