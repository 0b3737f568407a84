"""`hermes-memory-tui`: open the inspector without a command, run the command line with one."""

from __future__ import annotations

import atexit
import gc
import sys

RARELY = 50_000
"""New objects from which on garbage is collected: Python's own 700 costs a short command a tenth of its time."""


def main() -> None:
    """Run the console script. Exit codes: 0, 1 (error), 2 (usage), 130 (interrupted)."""
    gc.set_threshold(RARELY)
    atexit.register(gc.freeze)  # what is left at the end, the system takes back
    try:
        from hermes_memory_tui.cli.command_runner import run_command_line

        code = run_command_line(sys.argv[1:])
    except KeyboardInterrupt:
        # Ctrl-C while the first modules were still being read.
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
