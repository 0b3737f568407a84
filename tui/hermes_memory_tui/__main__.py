"""`hermes-memory-tui`: without a command the inspector, with one the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the console script. Exit codes: 0, 1 (error), 2 (usage), 130 (interrupted)."""
    try:
        from hermes_memory_tui.cli.running import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        # Ctrl-C while the first modules were still being read.
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
