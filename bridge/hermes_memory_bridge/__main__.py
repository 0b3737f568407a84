"""`hermes-memory-bridge`: what an MCP host's configuration names, and the commands that manage the bridge behind it.

Without a command it is the shim, which must start within a few milliseconds: nothing else is imported then. Nor does `serve`
load the command line framework, since an agent waits for the bridge that its shim starts.
"""

from __future__ import annotations

import gc
import sys

SHIM_OPTIONS = ("--db", "--theme", "--profile", "--token", "--tools", "--log-level")

ALIASES = ("stdio",)
"""A first word that means the shim, as some hosts want one."""


def main(args: list[str] | None = None) -> None:
    """Entry point of the console script. Exit codes: 0, 1 (it cannot be done), 2 (usage)."""
    arguments = sys.argv[1:] if args is None else args
    options = parse_shim_options(arguments[1:] if arguments[:1] and arguments[0] in ALIASES else arguments)
    if options is not None:
        gc.disable()  # until the host has its first answers: a start makes much and drops little
        from hermes_memory_bridge.wire.shim import run_shim as shim

        sys.exit(shim(options))
    if arguments[:1] == ["serve"]:
        from hermes_memory_bridge.daemon.daemon_start import parse_serve_options, run_daemon_process
        from hermes_memory_bridge.daemon.error_report import exit_code_of

        serving = parse_serve_options(arguments[1:])
        if serving is not None:
            sys.exit(exit_code_of(lambda: run_daemon_process(serving)))
    from hermes_memory_bridge.cli.bridge_commands import run_bridge_command

    sys.exit(run_bridge_command(arguments))


def parse_shim_options(arguments: list[str]) -> dict[str, str] | None:
    """Parse the options of a shim; None for the words of a command, or a mistake that the full parser explains."""
    options: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in SHIM_OPTIONS:
            return None
        taken = value if equals else next(rest, None)
        if taken is None:
            return None
        options[name[2:]] = taken
    return options


if __name__ == "__main__":
    main()
