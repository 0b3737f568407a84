"""Run commands: exit codes, errors as messages or JSON, never a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import IO, Any

import click

from hermes_memory_bridge.cli.click_support import format_usage_error
from hermes_memory_store.errors import StoreError, shorten_value
from hermes_memory_store.safe_text import to_printable
from hermes_memory_themes import ThemeError

PROGRAM = "hermes-memory-tui"

COMPLETING = "_HERMES_MEMORY_TUI_COMPLETE"
"""Set by the shell while it completes a line."""


def run_command_line(args: list[str]) -> int:
    """Run the command line with these arguments, and return the exit code."""
    as_json = "--json" in args
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return run_mapped_to_exit_code(args, as_json)
    except OSError as error:
        # A reader that has gone (`| head`) is no mistake; a full disk behind `>` is one.
        is_closed = isinstance(error, BrokenPipeError)
        if not is_closed:
            print_error(os_error_document(error), as_json)
        discard_output(sys.stdout)
        return 0 if is_closed else 1
    except KeyboardInterrupt:
        discard_output(sys.stdout)
        return 130


def run_mapped_to_exit_code(args: list[str], as_json: bool) -> int:
    try:
        code = invoke_command(args)
        sys.stdout.flush()
        return code
    except (StoreError, ThemeError) as error:
        sys.stdout.flush()
        return print_error(error.as_dict(), as_json)
    except click.Abort:
        return 130
    except click.UsageError as error:
        if not as_json and error.ctx is not None:
            print(error.ctx.get_usage(), file=sys.stderr)
        print_error(
            {"code": "usage", "message": format_usage_error(error), "value": offending_value(error, args)}, as_json
        )
        return 2
    except click.ClickException as error:
        return print_error({"code": "command", "message": error.format_message(), "value": None}, as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        if not error.filename:
            raise
        return print_error(os_error_document(error), as_json)
    except Exception as error:
        from hermes_memory_tui.system.crash_report import write_crash_report  # here, not above: hardly any run ends so

        message = f"internal error in hermes-memory-tui ({type(error).__name__}); no change was left half done"
        report = write_crash_report(error)
        message += f"; a crash report (without fact contents) is at {report}" if report else ""
        return print_error(
            {"code": "internal", "message": message, "value": None if report is None else str(report)}, as_json
        )


def invoke_command(args: list[str], obj: object = None) -> int:
    """Run a command without click's error handling, which treats a closed pipe as a failure.

    :param obj: the `CommandSettings` to start with
    """
    from hermes_memory_tui.cli import cli

    if COMPLETING in os.environ:
        cli.main(args, prog_name=PROGRAM, complete_var=COMPLETING)
    try:
        outer = click.get_current_context(silent=True)
        with cli.make_context(PROGRAM, args, obj=obj, color=None if outer is None else outer.color) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return code if isinstance(code, int) else 0


def print_error(error: dict[str, Any], as_json: bool) -> int:
    try:
        if as_json:
            print(json.dumps({"error": error}, ensure_ascii=False), file=sys.stderr)
        else:
            print(f"error: {to_printable(error['message'])}", file=sys.stderr)
    except OSError:
        # Nobody listens to errors; the exit code still tells.
        discard_output(sys.stderr)
    return 1


def os_error_document(error: OSError) -> dict[str, Any]:
    """Return an operating system error in the form of the program's own errors."""
    reason = error.strerror or str(error)
    message = f"{error.filename}: {reason}" if error.filename else f"cannot write the output: {reason}"
    return {"code": "file", "message": message, "value": None if error.filename is None else str(error.filename)}


def offending_value(error: click.UsageError, args: list[str]) -> Any:
    """Return the value that a usage error is about, as typed, or the option's name when there is none."""
    value = getattr(error, "value", None)
    if value is not None:
        return shorten_value(value)
    names = error.param.opts if isinstance(error, click.BadParameter) and error.param is not None else []
    for place, arg in enumerate(args):
        name, is_joined, joined = arg.partition("=")
        if name in names:
            return shorten_value(joined if is_joined else args[place + 1] if place + 1 < len(args) else name)
    quoted = re.match(r"'([^']*)' is ", error.message)
    return quoted[1] if quoted else getattr(error, "option_name", None) or (names[0] if names else None)


def discard_output(stream: IO[str]) -> None:
    """Discard buffered output, so that the interpreter does not fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
