"""`capture`, `pause` and `resume`: whether what is said is kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time, parse_duration
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.hosts import capture_settings, capture_switch
from hermes_memory_store.hosts.host_data import find_hosts_with
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, reject_blank
from hermes_memory_tui.cli.json_documents import print_document

ANSWERED = ("actions", "notices")
"""What is switched with an answer of its own."""


@add_examples(
    ("capture status", "whether what is said here is kept"),
    ("capture off --here", "keep nothing of it in this folder"),
    ("capture actions on", "keep what agents run and edit, too"),
    ("capture notices off", "no line in the chat on what an agent was given"),
)
@click.command("capture", short_help="Say whether what is said is kept: on, off, or status.")
@click.argument(
    "action", metavar="[actions|notices] on|off|status", type=click.Choice(["on", "off", "status", *ANSWERED])
)
@click.argument("answer", required=False, metavar="", type=click.Choice(["on", "off"]))
@click.option("--here", is_flag=True, help="In this folder and below it only.")
@click.option("--host", metavar="NAME", callback=reject_blank, help="What the hooks of this host bring only.")
@click.option("--tools", is_flag=True, help="With --host: whether what tools and pages return is heard.")
@add_common_options
@pass_settings
def capture_command(
    settings: CommandSettings, action: str, answer: str | None, here: bool, host: str | None, tools: bool
) -> None:
    """Say whether what is said is kept, or show it. It counts at once, for every agent of this store.

    Hooks of a host bring what is said only where you have allowed it: `capture on --host claude-code`. A file named
    .hermes-memory-off in a folder stops capture in it and below, like `capture off --here`. What is remembered already is
    given to agents all the same.

    `capture actions on` allows to keep what agents run, read and edit as well, and `capture actions off` ends that.
    `capture notices off` ends the line in the chat that names what an agent was given at a start.
    """
    store, is_off = settings.path(), action == "off"
    if here and host is not None:
        raise ArgumentError("--here and --host are two questions; give one command for each", host)
    if tools and (host is None or action == "status"):
        raise ArgumentError("--tools goes with `capture on` or `off` and with --host", None)
    hosts = (*find_hosts_with("answers"), "hermes-agent")
    if host is not None and host not in hosts:
        raise ArgumentError(f"{host[:40]!r} is no host with hooks; choose from {', '.join(hosts)}", host)
    if (action in ANSWERED) is (answer is None) or (answer and (here or host)):
        raise ArgumentError(
            "`actions` or `notices` and its `on` or `off` go together, without --here and --host", answer
        )
    if answer:
        with capture_settings.open_capture_switch(store) as switch:
            setattr(switch, action, answer == "on")
    elif action == "status":
        if host is not None:
            raise ArgumentError("`capture status` shows all hosts; leave --host out", host)
    elif host is not None:
        capture_settings.allow_capture(store, host, not is_off, of_tools=tools)
    elif here:
        capture_settings.switch_capture_in_folder(store, Path.cwd(), off=is_off)
    else:
        capture_settings.switch_capture(store, off=is_off)
    print_capture_status(settings)


@add_examples(("pause 30m", "keep nothing for half an hour"))
@click.command("pause", short_help="Keep nothing of what is said for a while.")
@click.argument("duration", required=False, callback=reject_blank)
@add_common_options
@pass_settings
def pause_command(settings: CommandSettings, duration: str | None) -> None:
    """Stop capture for a while, such as 30m or 2h; without a duration until `resume`."""
    capture_settings.pause_capture(settings.path(), None if duration is None else parse_duration(duration))
    print_capture_status(settings)


@add_examples(("resume", "end a pause"))
@click.command("resume", short_help="End a pause of capture.")
@add_common_options
@pass_settings
def resume_command(settings: CommandSettings) -> None:
    """End a pause. What is off stays off: `capture on` ends that."""
    capture_settings.resume_capture(settings.path())
    print_capture_status(settings)


def print_capture_status(settings: CommandSettings) -> None:
    switch = capture_switch.load_capture_switch(settings.path())
    folder = os.fspath(Path.cwd())
    stopped = capture_switch.describe_capture(str(settings.path()), folder)
    if settings.as_json:
        print_document(capture_json(switch, folder, stopped))
        return
    click.echo(to_printable(stopped or "capture is on here"))
    allowed = sorted(host for host, answer in switch.hosts.items() if answer)
    if allowed:
        click.echo(f"hosts whose hooks may capture messages: {to_printable(', '.join(allowed))}")
    else:
        click.echo("no host's hooks may capture messages; allow one with: hermes-memory-tui capture on --host NAME")
    heard = ", ".join(sorted(host for host, answer in switch.tools.items() if answer)) or "no host"
    click.echo(f"hosts whose hooks show the bridge what tools and pages return: {to_printable(heard)}")
    if stopped:
        click.echo("while capture is stopped, nothing new is hashed to tell your words from theirs")
    else:
        click.echo(
            "to tell your words from theirs, the bridge keeps salted hashes of both in memory until the session ends"
        )
    rule = "may be kept" if switch.actions else "is not kept; allow it with: hermes-memory-tui capture actions on"
    click.echo(f"what agents run, read and edit {rule}")
    shown = "is told in the chat" if switch.notices is not False else "is not told in the chat"
    click.echo(f"what an agent was given at a start {shown}, where its host has a place for that")
    read = sorted(host for host, until in switch.history.items() if until)
    if read:
        click.echo(f"sessions on this disk are brought in daily, where no hook does: {to_printable(', '.join(read))}")
    folders = [to_printable(folder) for folder in switch.folders]
    if folders:
        click.echo(f"off in: {', '.join(folders)}")


def capture_json(switch: capture_switch.CaptureSwitch, folder: str, stopped: str) -> dict[str, Any]:
    """Return what holds with the keys of the JSON contract. :param stopped: why nothing is kept in the folder"""
    now = capture_switch.to_now(None)
    until = switch.paused_until
    return {
        "stopped": stopped or None,
        "off": switch.off,
        "paused": switch.is_paused(now),
        "paused_until": format_iso_time(until) if until is not None and until > now else None,
        "hosts": switch.hosts,
        "tools": switch.tools,
        "history": {host: format_iso_time(until) if until else None for host, until in switch.history.items()},
        "actions": switch.actions,
        "notices": switch.notices is not False,
        "folders": switch.folders,
        "folder": folder,
    }
