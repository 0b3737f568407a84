"""Running a command: exit codes, errors as sentences or JSON, and never a traceback."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.errors import StoreError, shorten
from hermes_memory_themes import ThemeError

KEPT_REPORTS = 10
"""Crash reports that are kept."""


def run(args: list[str]) -> int:
    """Run the command line with these arguments; the exit code."""
    from hermes_memory_tui.cli import cli

    as_json = "--json" in args
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = cli.main(args, prog_name="hermes-memory-tui", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (StoreError, ThemeError) as error:
        return fail(error.as_dict(), as_json)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except click.UsageError as error:
        if not as_json and error.ctx is not None:
            click.echo(error.ctx.get_usage(), err=True)
        fail({"code": "usage", "message": error.format_message(), "value": offending(error)}, as_json)
        return 2
    except click.ClickException as error:
        return fail({"code": "command", "message": error.format_message(), "value": None}, as_json)
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        return fail({"code": "file", "message": said, "value": error.filename}, as_json)
    except Exception as error:
        report = crash_report(error)
        said = f"something went wrong inside hermes-memory-tui ({type(error).__name__}); a report is at {report}"
        return fail({"code": "internal", "message": said, "value": None}, as_json)


def fail(error: dict[str, Any], as_json: bool) -> int:
    """Say what is wrong on standard error; the exit code 1."""
    if as_json:
        print(json.dumps({"error": error}, ensure_ascii=False), file=sys.stderr)
    else:
        print(f"error: {error['message']}", file=sys.stderr)
    return 1


def offending(error: click.UsageError) -> Any:
    """The name of the option or argument that a usage error is about."""
    parameter = getattr(error, "param", None)
    return getattr(error, "option_name", None) or (parameter.name if parameter is not None else None)


def crash_report(error: Exception) -> Path:
    """Keep where an unexpected error arose, never what the facts say: types, files and lines only."""
    folder = Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes") / "logs"
    report = folder / f"hermes-memory-tui-crash-{time.time_ns()}.txt"
    lines = [f"{type(error).__name__}", ""]
    for frame in traceback.extract_tb(error.__traceback__):
        lines.append(f"{shorten(frame.filename)}:{frame.lineno} in {frame.name}: {frame.line}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    report.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for old in sorted(folder.glob("hermes-memory-tui-crash-*.txt"))[:-KEPT_REPORTS]:
        old.unlink(missing_ok=True)
    return report
