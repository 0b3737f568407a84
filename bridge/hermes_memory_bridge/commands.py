"""The commands of the bridge: serve, start, stop, restart, status, logs, calls, and what its other modules add."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_memory_bridge import __version__, service
from hermes_memory_bridge.access import command as token
from hermes_memory_bridge.connect import command as connect
from hermes_memory_bridge.embedding import command as embedding
from hermes_memory_bridge.places import Places
from hermes_memory_bridge.team import command as team
from hermes_memory_bridge.trust import command as secret
from hermes_memory_store.errors import StoreError
from hermes_memory_themes import ThemeError

LEVELS = ("debug", "info", "warning", "error")

START_S = 20.0
STOP_S = 10.0


def run(args: list[str]) -> int:
    """Run one command. Exit codes: 0, 1 (it cannot be done), 2 (usage)."""
    made = parser()
    options = made.parse_args(args)
    refuse_foreign_options(made, options)
    action: Callable[[argparse.Namespace], int] | None = getattr(options, "run", None)
    if action is None:
        from hermes_memory_bridge.shim import main as shim

        return shim({name: value for name, value in vars(options).items() if value and name != "command"})
    try:
        return action(options)
    except (StoreError, ThemeError) as error:
        return complain(error.message)
    except OSError as error:
        return complain(str(error))


def complain(message: str) -> int:
    """Say on standard error why something cannot be done."""
    sys.stderr.write(f"hermes-memory-bridge: {message}\n")
    return 1


def parser() -> argparse.ArgumentParser:
    """Every command and option."""
    made = argparse.ArgumentParser(
        prog="hermes-memory-bridge",
        description="Without a command: serve the memory to an agent over MCP on standard input and output.",
        epilog='Name it in your MCP host: {"mcpServers": {"hermes-memory": {"command": "hermes-memory-bridge"}}}',
    )
    made.add_argument("--version", action="version", version=f"hermes-memory-bridge {__version__}")
    for name, meaning in (
        ("--db", "the store ($HERMES_MEMORY_DB, else ~/.hermes/memory.db)"),
        ("--theme", "whose memory ($HERMES_MEMORY_THEME, else the profile, else default)"),
        ("--profile", "the host's profile, used as theme when no other is named"),
        ("--token", "a token of `token add` ($HERMES_MEMORY_TOKEN): binds to its theme and rights"),
        ("--tools", "which tools to show: core, all, or names with commas between ($HERMES_MEMORY_TOOLS)"),
        ("--log-level", "accepted for old configurations; the bridge has its own"),
    ):
        made.add_argument(name, metavar=name[2:].upper(), help=meaning)
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    add_serving(commands)
    token.add_parser(commands)
    secret.add_parser(commands)
    embedding.add_parser(commands)
    connect.add_parser(commands)
    team.add_parsers(commands)
    service.add_parsers(commands)
    for command in commands.choices.values():
        share_options(made, command)
    return made


def share_options(made: argparse.ArgumentParser, command: argparse.ArgumentParser) -> None:
    """Let an option that the program and a command both take stand before the command as well as behind it.

    argparse fills in the defaults of a command last, over what was said before it.
    """
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                share_options(made, inner)
        elif action.dest in own_options(made):
            action.default = argparse.SUPPRESS


def refuse_foreign_options(made: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End with a usage error when an option stands before a command that does not take it, instead of ignoring it."""
    if options.command is None:
        return
    (commands,) = (action for action in made._actions if isinstance(action, argparse._SubParsersAction))
    taken = options_of(commands.choices[options.command]) | {"log_level"}
    for name in sorted(own_options(made) - taken):
        if getattr(options, name) is not None:
            made.error(
                f"{options.command} takes no --{name} before it; see `hermes-memory-bridge {options.command} --help`"
            )


def own_options(made: argparse.ArgumentParser) -> set[str]:
    """The options of the program itself that have a value."""
    return {action.dest for action in made._actions if action.option_strings and action.nargs != 0}


def options_of(command: argparse.ArgumentParser) -> set[str]:
    """The options of a command and of those below it."""
    found = own_options(command)
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*map(options_of, action.choices.values()))
    return found


def add_serving(commands: Any) -> None:
    """serve, start, stop, restart, status, logs, calls."""
    serving = argparse.ArgumentParser(add_help=False)
    serving.add_argument("--db", metavar="FILE", help="the store")
    serving.add_argument("--tcp", metavar="PORT", type=int, help="listen on the loopback interface too; needs tokens")
    serving.add_argument("--heartbeat", metavar="SECONDS", type=float, help="between heartbeats (10)")
    serving.add_argument("--timeout", metavar="SECONDS", type=float, help="a lease (25)")
    serving.add_argument(
        "--hardening-profile", action="store_true", help="the strict set: short leases, small requests"
    )
    serving.add_argument("--log-level", metavar="LEVEL", help=f"{', '.join(LEVELS)} (info)")
    serving.add_argument("--linger", metavar="SECONDS", type=float, help="leave this long after the last connection")
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("--db", metavar="FILE", help="the store")
    named.add_argument("--json", action="store_true", help="one JSON document")
    reading = argparse.ArgumentParser(add_help=False)
    reading.add_argument("-n", "--lines", type=int, default=50, metavar="N", help="how many lines (50)")
    reading.add_argument("-f", "--follow", action="store_true", help="go on with what is added")
    whose = argparse.ArgumentParser(add_help=False)
    whose.add_argument("--session", metavar="NAME", help="only of this session")
    whose.add_argument("--theme", metavar="NAME", help="only of this theme")
    for name, action, parents, meaning in (
        ("serve", serve, [serving], "run the bridge in the foreground"),
        ("start", start, [serving], "run the bridge in the background"),
        ("restart", restart, [serving], "stop the bridge and start it again"),
        ("stop", stop, [named], "stop the bridge"),
        ("status", status, [named], "whether the bridge runs, and for whom"),
        ("logs", show_logs, [named, reading], "what the bridge has logged"),
        ("calls", show_calls, [named, reading, whose], "what agents have called lately"),
    ):
        command = commands.add_parser(name, help=meaning, description=meaning.capitalize() + ".", parents=parents)
        command.set_defaults(run=action)


def serve(options: argparse.Namespace) -> int:
    """Be the bridge."""
    import gc

    gc.disable()  # importing makes much and drops little; collecting meanwhile costs a fifth of the start
    from hermes_memory_bridge import daemon, logs
    from hermes_memory_bridge.access.gate import STRICT, Limits
    from hermes_memory_bridge.connection import Lease

    gc.freeze()
    gc.enable()
    level = (options.log_level or "info").lower()
    if level not in LEVELS:
        return complain(f"--log-level must be one of {', '.join(LEVELS)}, not {options.log_level!r}")
    strict = options.hardening_profile
    heartbeat_s = options.heartbeat or (5.0 if strict else 10.0)
    timeout_s = options.timeout or (12.0 if strict else 25.0)
    if not 0.1 <= heartbeat_s < timeout_s:
        return complain(
            f"--timeout ({timeout_s:g}) must be longer than --heartbeat ({heartbeat_s:g}), and that at least 0.1"
        )
    lease = Lease(round(heartbeat_s * 1000), round(timeout_s * 1000))
    limits = STRICT if strict else Limits()
    settings = daemon.Settings(linger_s=options.linger, tcp=options.tcp, lease=lease, limits=limits)
    places = Places.of(options.db)
    places.make_folder()
    logs.configure(Path(places.log), level)
    try:
        daemon.serve(places, settings)
    except daemon.AlreadyServed as served:
        sys.stderr.write(f"hermes-memory-bridge: {served}\n")
    return 0


def start(options: argparse.Namespace) -> int:
    """Start the bridge in the background, and wait until it answers."""
    from hermes_memory_bridge import dialing
    from hermes_memory_bridge.control import ask

    places = Places.of(options.db)
    places.make_folder()
    running = ask(places, "status")
    if running is not None and not running["stopping"]:
        print(f"process {running['pid']} serves {places.store} already")
        return 0
    command = [sys.executable, "-m", "hermes_memory_bridge", "serve", "--db", places.store]
    for name in ("tcp", "heartbeat", "timeout", "log_level", "linger"):
        if getattr(options, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    command += ["--hardening-profile"] if options.hardening_profile else []
    child = dialing.spawn(command, places.log)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        running = ask(places, "status")
        if running is not None and not running["stopping"]:
            print(f"process {running['pid']} serves {places.store}")
            return 0
        gone, how = os.waitpid(child, os.WNOHANG)
        if gone and how:
            return complain(f"the bridge did not start: {dialing.last_line(places.log)}")
        time.sleep(0.02)
    return complain(f"the bridge did not answer within {START_S:.0f} s; see {places.log}")


def stop(options: argparse.Namespace) -> int:
    """Stop the bridge, and wait until it is gone."""
    from hermes_memory_bridge.control import ask, describe_unserved

    places = Places.of(options.db)
    running = ask(places, "stop")
    if running is None:
        return complain(describe_unserved(places))
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        if not Path(places.pid).exists():
            print(f"process {running['pid']} has stopped")
            return 0
        time.sleep(0.02)
    return complain(f"process {running['pid']} has not stopped within {STOP_S:.0f} s; see {places.log}")


def restart(options: argparse.Namespace) -> int:
    """Stop the bridge when it runs, and start it."""
    from hermes_memory_bridge.control import ask

    if ask(Places.of(options.db), "status") is not None:
        stop(options)
    return start(options)


def status(options: argparse.Namespace) -> int:
    """Say whether the bridge runs. Exit code 1 when it does not."""
    from hermes_memory_bridge.control import ask, describe_unserved

    places = Places.of(options.db)
    running = ask(places, "status")
    if options.json:
        print(json.dumps({"running": running is not None, **(running or {"store": places.store})}))
    elif running is not None:
        print(
            f"process {running['pid']} serves {running['store']} since {running['uptime_s']} s, "
            f"{running['connections']} connected"
        )
        print(f"recall by {running['recall']}")
    else:
        print(f"{describe_unserved(places)}; a connecting agent starts one")
    return 0 if running is not None else 1


def show_logs(options: argparse.Namespace) -> int:
    """Print the end of the log."""
    from hermes_memory_bridge.logs import tail

    places = Places.of(options.db)
    path = Path(places.log)
    if not path.exists() and not options.follow:
        return complain(f"no bridge of {places.store} has written a log to {path} yet")
    try:
        for line in tail(path, max(0, options.lines), follow=options.follow):
            print(line, flush=options.follow)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    return 0


def show_calls(options: argparse.Namespace) -> int:
    """Print the last calls of agents; with --json a document a line. Exit code 1 when no bridge runs."""
    from hermes_memory_bridge.following import calls, readable

    shown = json.dumps if options.json else readable
    wanted = {"theme": options.theme, "session": options.session}
    try:
        for call in calls(Places.of(options.db), max(0, options.lines), follow=options.follow, **wanted):
            print(shown(call), flush=options.follow)
    except (KeyboardInterrupt, BrokenPipeError):
        return 0
    return 0
