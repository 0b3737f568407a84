"""`hermes-memory-bridge`: what an MCP host's configuration names, and the commands that manage the bridge behind it.

Without a command it is the shim, which must start within a few milliseconds: nothing else is imported then.
"""

from __future__ import annotations

import sys

SHIM_OPTIONS = ("--db", "--theme", "--profile", "--token", "--tools", "--log-level")

ALIASES = ("stdio",)
"""A first word that means the shim, as some hosts want one."""


def main(args: list[str] | None = None) -> None:
    """Entry point of the console script. Exit codes: 0, 1 (it cannot be done), 2 (usage)."""
    given = sys.argv[1:] if args is None else args
    options = shim_options(given[1:] if given[:1] and given[0] in ALIASES else given)
    if options is not None:
        from hermes_memory_bridge.shim import main as shim

        sys.exit(shim(options))
    from hermes_memory_bridge.commands import run

    sys.exit(run(given))


def shim_options(given: list[str]) -> dict[str, str] | None:
    """The options of a shim; None when these are the words of a command, or a mistake that the full parser explains."""
    options: dict[str, str] = {}
    rest = iter(given)
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
