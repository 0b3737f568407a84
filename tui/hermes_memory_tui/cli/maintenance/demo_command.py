"""`demo`: try the inspector on a temporary memory that agents use. All demo data is deleted at the end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity, style_text

if TYPE_CHECKING:
    from hermes_memory_tui.demo.demo_environment import DemoEnvironment

MOST_AGENTS = 50

SHOWN = 90
"""Characters of what was called that a line shows."""


@add_examples(("demo --no-inspector --seconds 2", "watch simulated agents, without the inspector"))
@click.command("demo", short_help="Open a temporary memory with simulated agents.")
@click.option("--agents", type=click.IntRange(1, MOST_AGENTS), default=3, show_default=True, help="Number of agents.")
@click.option("--seconds", type=click.FloatRange(1), help="Exit after this many seconds.")
@click.option(
    "--facts", type=click.IntRange(0, 1_000_000), default=0, help="Add this many facts, in a theme of their own."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the simulated agents.")
@click.option("--no-inspector", is_flag=True, help="Print the calls instead of opening the inspector.")
@add_common_options
@pass_settings
def demo_command(
    settings: CommandSettings, agents: int, seconds: float | None, facts: int, seed: int, no_inspector: bool
) -> int:
    """Open the inspector on a temporary memory with a bridge and simulated agents.

    A second machine shares the theme marketing with it through a folder. The demo data is deleted when you quit.
    """
    from hermes_memory_tui.demo.demo_environment import DemoEnvironment

    if settings.db is not None:
        raise click.UsageError("demo creates its own store; leave --db out")
    if settings.as_json and not no_inspector:
        raise click.UsageError("--json requires --no-inspector")
    if no_inspector:
        with DemoEnvironment(agents, facts, seed, listening=True) as stage:
            return run_headless(settings, stage, seconds)
    from hermes_memory_tui.app import has_interactive_terminal, run_inspector

    theme = settings.named_theme() if settings.theme else None
    if not has_interactive_terminal():
        return run_inspector()  # which says why not
    with DemoEnvironment(agents, facts, seed) as stage:
        code = run_inspector(stage.store, theme, leave_after_s=seconds)
        print_note(stage)
        return code


def print_note(stage: DemoEnvironment) -> None:
    """Print why there was no second machine, if there was none."""
    if (note := stage.find_note()) is not None:
        print(f"without a second machine: {to_printable(note)}", file=sys.stderr)


def run_headless(settings: CommandSettings, stage: DemoEnvironment, seconds: float | None) -> int:
    """Print the calls of the agents, and at the end their number."""
    from hermes_memory_tui.demo.demo_environment import DemoSignalReceived

    calls: Counter[str] = Counter()
    refused = 0
    started = time.monotonic()
    failure = None
    try:
        for call in stage.reports(seconds):
            started = started if calls else time.monotonic()
            calls[call["tool"]] += 1
            refused += not call["done"]
            if not settings.as_json:
                click.echo(format_demo_call(call))
    except DemoSignalReceived as error:
        failure = error
    took_s = round(time.monotonic() - started, 1)
    if settings.as_json:
        print_document(
            {"agents": stage.agents, "seconds": took_s, "calls": dict(sorted(calls.items())), "refused": refused}
        )
    else:
        summary = (
            f"{format_quantity(calls.total(), 'call')} by {format_quantity(stage.agents, 'agent')} in {took_s:g} s"
        )
        click.echo(summary + (f", {refused} refused" if refused else ""))
    print_note(stage)
    if failure is not None:
        raise failure
    return 0 if calls else report_no_calls(stage)


def report_no_calls(stage: DemoEnvironment) -> int:
    """Print why no agent made a call, as far as the bridge reports it, and return the exit code."""
    lines = (stage.home / "bridge.out").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    print(f"no agent reached the bridge{': ' + to_printable(lines[-1]) if lines else ''}", file=sys.stderr)
    return 1


def format_demo_call(call: dict[str, Any]) -> str:
    text = to_printable(" ".join(str(call["said"]).split()))
    text = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    answer = to_printable(" ".join(str(call["answer"]).split("\n", 1)[0].split()))[:SHOWN]
    failed = "" if call["done"] else style_text("  refused", fg="red")
    return f"{call['agent']:<12}  {call['tool']:<19}  {text}{failed}  {style_text('→ ' + answer, dim=True)}"
