"""`serve`, `start`, `stop`, `restart`, `status`, `logs`, `calls`, `install-service` and `uninstall-service`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hermes_memory_bridge.cli.bridge_options import (
    BridgeCommand,
    answer_options,
    store_option,
    theme_option,
    unused_json_option,
)
from hermes_memory_bridge.daemon.daemon_start import LOG_LEVELS, ServeOptions, run_daemon_process
from hermes_memory_bridge.daemon.error_report import report_failure
from hermes_memory_bridge.version import __version__
from hermes_memory_bridge.wire.paths import BridgePaths
from hermes_memory_bridge.wire.version_order import is_older

F = TypeVar("F", bound=Callable[..., Any])

STOP_S = 10.0


def serve_options(command: F) -> F:
    """Add the options of a bridge, the fields of `ServeOptions`."""
    for option in (
        click.option("--linger", metavar="SECONDS", type=float, help="Stop this long after the last connection ends."),
        click.option("--log-level", metavar="LEVEL", help=f"{', '.join(LOG_LEVELS)} (info)."),
        click.option("--hardening-profile", is_flag=True, help="Use strict limits: short leases, small requests."),
        click.option("--timeout", metavar="SECONDS", type=float, help="Length of a lease (25)."),
        click.option("--heartbeat", metavar="SECONDS", type=float, help="Interval between heartbeats (10)."),
        click.option("--tcp", metavar="PORT", type=int, help="Listen on the loopback interface too; needs tokens."),
        store_option,
    ):
        command = option(command)
    return command


def tail_options(command: F) -> F:
    """Add `--lines` and `--follow`."""
    command = click.option("-f", "--follow", is_flag=True, help="Keep printing new lines.")(command)
    return click.option("-n", "--lines", type=int, default=50, metavar="N", help="Number of lines (50).")(command)


def unit_options(command: F) -> F:
    """Add what the service's file depends on."""
    command = click.option("--print", "only_print", is_flag=True, help="Print the file without installing it.")(command)
    command = click.option("--tcp", metavar="PORT", type=int, help="Listen on the loopback interface too.")(command)
    return store_option(command)


@click.command("serve", cls=BridgeCommand)
@serve_options
def serve_command(**options: Any) -> int:
    """Run the bridge in the foreground."""
    return run_daemon_process(ServeOptions(**options))


@click.command("start", cls=BridgeCommand)
@serve_options
def start_command(**options: Any) -> int:
    """Run the bridge in the background."""
    return start_bridge(ServeOptions(**options))


@click.command("restart", cls=BridgeCommand)
@serve_options
def restart_command(**options: Any) -> int:
    """Restart the bridge."""
    from hermes_memory_bridge.daemon.control import ask_bridge
    from hermes_memory_store.database.store_version import UPGRADE_HINT

    running = ask_bridge(BridgePaths.of(options["db"]), "status")
    if running is not None:
        if is_older(__version__, str(running.get("version"))):
            return report_failure(
                f"process {running['pid']} is version {running['version']}, newer than this program ({__version__}): "
                f"{UPGRADE_HINT}"
            )
        stop_bridge(options["db"])
    return start_bridge(ServeOptions(**options))


@click.command("stop", cls=BridgeCommand)
@store_option
@unused_json_option
def stop_command(db: str | None) -> int:
    """Stop the bridge."""
    return stop_bridge(db)


def start_bridge(options: ServeOptions) -> int:
    """Start the bridge in the background, and wait until it answers."""
    from hermes_memory_bridge.daemon.control import ask_bridge
    from hermes_memory_bridge.wire.dialing import dial_bridge
    from hermes_memory_bridge.wire.line import leave_bridge

    paths = BridgePaths.of(options.db)
    paths.make_folder()
    running = ask_bridge(paths, "status")
    if running is not None and not running["stopping"] and not is_older(running.get("version"), __version__):
        print(f"process {running['pid']} serves {paths.store} already")
        return 0
    command = [sys.executable, "-P", "-m", "hermes_memory_bridge", "serve", "--db", paths.store]
    for name in ("tcp", "heartbeat", "timeout", "log_level", "linger"):
        if getattr(options, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    command += ["--hardening-profile"] if options.hardening_profile else []
    with dial_bridge(paths, {}, command, report_failure)[0] as bridge:
        running = ask_bridge(paths, "status")
        leave_bridge(bridge)
    print(f"process {running['pid'] if running else '?'} serves {paths.store}")
    return 0


def stop_bridge(db: str | None) -> int:
    from hermes_memory_bridge.daemon.control import ask_bridge, format_no_bridge

    paths = BridgePaths.of(db)
    running = ask_bridge(paths, "stop")
    if running is None:
        return report_failure(format_no_bridge(paths))
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        if not Path(paths.pid).exists():
            print(f"process {running['pid']} has stopped")
            return 0
        time.sleep(0.02)
    return report_failure(f"process {running['pid']} has not stopped within {STOP_S:.0f} s; see {paths.log}")


@click.command("status", cls=BridgeCommand)
@answer_options
def bridge_status_command(db: str | None, as_json: bool) -> int:
    """Show whether the bridge is running, and its connections.

    Exit code 1 when it does not.
    """
    from hermes_memory_bridge.daemon.control import ask_bridge, format_no_bridge

    paths = BridgePaths.of(db)
    running = ask_bridge(paths, "status")
    if as_json:
        print(json.dumps({"running": running is not None, **(running or {"store": paths.store})}))
    elif running is not None:
        print(
            f"process {running['pid']} serves {running['store']} since {running['uptime_s']} s, "
            f"{running['connections']} connected"
        )
        print(f"recall by {running['recall']}")
    else:
        print(f"{format_no_bridge(paths)}; a connecting agent starts one")
    return 0 if running is not None else 1


@click.command("logs", cls=BridgeCommand)
@store_option
@unused_json_option
@tail_options
def logs_command(db: str | None, lines: int, follow: bool) -> int:
    """Show the log of the bridge."""
    from hermes_memory_bridge.daemon.logs import tail_bridge_log

    paths = BridgePaths.of(db)
    path = Path(paths.log)
    if not path.exists() and not follow:
        return report_failure(f"no bridge of {paths.store} has written a log to {path} yet")
    try:
        for line in tail_bridge_log(path, max(0, lines), follow=follow):
            print(line, flush=follow)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    return 0


@click.command("calls", cls=BridgeCommand)
@answer_options
@tail_options
@click.option("--session", metavar="NAME", help="Show only this session.")
@theme_option("Show only this theme.")
def calls_command(
    db: str | None, as_json: bool, lines: int, follow: bool, session: str | None, theme: str | None
) -> int:
    """Show recent tool calls of agents.

    With --json a document a line. Exit code 1 when no bridge runs.
    """
    from hermes_memory_bridge.daemon.call_follower import follow_calls, format_agent_call

    shown = json.dumps if as_json else format_agent_call
    filters = {"theme": theme, "session": session}
    try:
        for call in follow_calls(BridgePaths.of(db), max(0, lines), follow=follow, **filters):
            print(shown(call), flush=follow)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    return 0


@click.command("install-service", cls=BridgeCommand)
@unit_options
def install_service_command(db: str | None, tcp: int | None, only_print: bool) -> int:
    """Start the bridge at login."""
    from hermes_memory_bridge.daemon.service import install_service

    return install_service(BridgePaths.of(db), tcp=tcp, only_print=only_print)


@click.command("uninstall-service", cls=BridgeCommand)
@unit_options
def uninstall_service_command(**_: Any) -> int:
    """Stop starting the bridge at login."""
    from hermes_memory_bridge.daemon.service import uninstall_service

    return uninstall_service()
