"""Running a command: exit codes, errors as sentences or JSON, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import IO, Any

import click

from hermes_memory_bridge.click_support import format_usage_error
from hermes_memory_store.errors import StoreError, shorten
from hermes_memory_store.text import printable
from hermes_memory_themes import ThemeError

PROGRAM = "hermes-memory-tui"

COMPLETING = "_HERMES_MEMORY_TUI_COMPLETE"
"""Set by the shell while it completes a line."""


def run(args: list[str]) -> int:
    """Run the command line with these arguments; the exit code."""
    as_json = "--json" in args
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return called(args, as_json)
    except OSError as error:
        # A reader that has gone (`| head`) is no mistake; a full disk behind `>` is one.
        gone = isinstance(error, BrokenPipeError)
        if not gone:
            fail(system_error(error), as_json)
        silence(sys.stdout)
        return 0 if gone else 1
    except KeyboardInterrupt:
        silence(sys.stdout)
        return 130


def called(args: list[str], as_json: bool) -> int:
    """Run the command and turn what it raises into an exit code."""
    try:
        code = invoke(args)
        sys.stdout.flush()
        return code
    except (StoreError, ThemeError) as error:
        sys.stdout.flush()
        return fail(error.as_dict(), as_json)
    except click.Abort:
        return 130
    except click.UsageError as error:
        if not as_json and error.ctx is not None:
            print(error.ctx.get_usage(), file=sys.stderr)
        fail({"code": "usage", "message": format_usage_error(error), "value": offending(error, args)}, as_json)
        return 2
    except click.ClickException as error:
        return fail({"code": "command", "message": error.format_message(), "value": None}, as_json)
    except (BrokenPipeError, KeyboardInterrupt):
        raise
    except OSError as error:
        if not error.filename:
            raise
        return fail(system_error(error), as_json)
    except Exception as error:
        from hermes_memory_tui.crash_report import write_crash_report  # here, not above: hardly any run ends so

        said = f"something went wrong inside hermes-memory-tui ({type(error).__name__}); nothing was half done"
        report = write_crash_report(error)
        said += f"; a report without any of your facts is at {report}" if report else ""
        return fail({"code": "internal", "message": said, "value": None if report is None else str(report)}, as_json)


def invoke(args: list[str], obj: object = None) -> int:
    """Run a command without click's own handling of errors, which takes a reader that has gone for a failure.

    :param obj: the `Settings` to begin with
    """
    from hermes_memory_tui.cli import cli

    if COMPLETING in os.environ:
        cli.main(args, prog_name=PROGRAM, complete_var=COMPLETING)
    try:
        with cli.make_context(PROGRAM, args, obj=obj) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return code if isinstance(code, int) else 0


def fail(error: dict[str, Any], as_json: bool) -> int:
    """Say what is wrong on standard error; the exit code 1."""
    try:
        if as_json:
            print(json.dumps({"error": error}, ensure_ascii=False), file=sys.stderr)
        else:
            print(f"error: {printable(error['message'])}", file=sys.stderr)
    except OSError:
        # Nobody listens to errors; the exit code still tells.
        silence(sys.stderr)
    return 1


def system_error(error: OSError) -> dict[str, Any]:
    """What the operating system refused, in the form of our own errors."""
    reason = error.strerror or str(error)
    said = f"{error.filename}: {reason}" if error.filename else f"the answer could not be written: {reason}"
    return {"code": "file", "message": said, "value": None if error.filename is None else str(error.filename)}


def offending(error: click.UsageError, args: list[str]) -> Any:
    """The value that a usage error is about, as it was typed; the option's name where there is none."""
    value = getattr(error, "value", None)
    if value is not None:
        return shorten(value)
    names = error.param.opts if isinstance(error, click.BadParameter) and error.param is not None else []
    for place, arg in enumerate(args):
        name, is_joined, joined = arg.partition("=")
        if name in names:
            return shorten(joined if is_joined else args[place + 1] if place + 1 < len(args) else name)
    quoted = re.match(r"'([^']*)' is ", error.message)
    return quoted[1] if quoted else getattr(error, "option_name", None) or (names[0] if names else None)


def silence(stream: IO[str]) -> None:
    """Let what is still buffered go nowhere, so that the interpreter does not fail on it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
