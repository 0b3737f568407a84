"""Failure of a bridge command: a sentence on standard error, and an exit code. No command line framework."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from hermes_memory_store.errors import StoreError
from hermes_memory_themes import ThemeError


def exit_code_of(action: Callable[[], int]) -> int:
    """Run a command and return its exit code: 1 when it raised an error that a person can act on."""
    try:
        code = action()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who read has gone (`| head`), which is no mistake
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (StoreError, ThemeError) as error:
        return report_failure(error.message)
    except OSError as error:
        return report_failure(str(error))


def report_failure(message: str) -> int:
    """Print why something cannot be done, and return exit code 1."""
    sys.stderr.write(f"hermes-memory-bridge: {message}\n")
    return 1
