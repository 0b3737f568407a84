"""`hermes-memory-tui`: open the inspector without a command, run the command line with one."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the console script. Exit codes: 0, 1 (error), 2 (usage), 130 (interrupted)."""
    try:
        from hermes_memory_tui.cli.command_runner import run_command_line

        code = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:
        # Ctrl-C while the first modules were still being read.
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
