"""`demo`: a memory to look at while agents use it. Everything it makes is thrown away."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import counted, paint

if TYPE_CHECKING:
    from hermes_memory_tui.demo.stage import Stage

MOST_AGENTS = 50

SHOWN = 90
"""Characters of what was called that a line shows."""


@click.command("demo", short_help="Look at a memory that agents are using.")
@click.option("--agents", type=click.IntRange(1, MOST_AGENTS), default=3, show_default=True, help="How many.")
@click.option("--seconds", type=click.FloatRange(1), help="End by itself after so long.")
@click.option(
    "--facts", type=click.IntRange(0, 1_000_000), default=0, help="So many more facts, in a theme of their own."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Other agents do other things.")
@click.option("--no-inspector", is_flag=True, help="Print what is called instead.")
@common
@pass_settings
def demo_command(
    settings: Settings, agents: int, seconds: float | None, facts: int, seed: int, no_inspector: bool
) -> int:
    """The inspector on a memory of its own, with a bridge and simulated agents that use it. It all goes when you leave."""
    from hermes_memory_tui.demo.stage import Stage

    if settings.db is not None:
        raise click.UsageError("demo makes a store of its own; leave --db out")
    if settings.as_json and not no_inspector:
        raise click.UsageError("--json goes with --no-inspector")
    if no_inspector:
        with Stage(agents, facts, seed, listening=True) as stage:
            return headless(settings, stage, seconds)
    from hermes_memory_tui.app import on_a_screen, run_inspector

    theme = settings.named_theme() if settings.theme else None
    if not on_a_screen():
        return run_inspector()  # which says why not
    with Stage(agents, facts, seed) as stage:
        return run_inspector(stage.store, theme, leave_after_s=seconds)


def headless(settings: Settings, stage: Stage, seconds: float | None) -> int:
    """Say what agents call, and in the end how much that was."""
    from hermes_memory_tui.demo.stage import Told

    calls: Counter[str] = Counter()
    refused = 0
    started = time.monotonic()
    told = None
    try:
        for one in stage.reports(seconds):
            started = started if calls else time.monotonic()
            calls[one["tool"]] += 1
            refused += not one["done"]
            if not settings.as_json:
                click.echo(line(one))
    except Told as error:
        told = error
    took_s = round(time.monotonic() - started, 1)
    if settings.as_json:
        document({"agents": stage.agents, "seconds": took_s, "calls": dict(sorted(calls.items())), "refused": refused})
    else:
        said = f"{counted(calls.total(), 'call')} by {counted(stage.agents, 'agent')} in {took_s:g} s"
        click.echo(said + (f", {refused} refused" if refused else ""))
    if told is not None:
        raise told
    return 0 if calls else nothing_came(stage)


def nothing_came(stage: Stage) -> int:
    """Say why no agent called anything, as far as the bridge told; the exit code."""
    said = (stage.home / "bridge.out").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    print(f"no agent reached the bridge{': ' + printable(said[-1]) if said else ''}", file=sys.stderr)
    return 1


def line(one: dict[str, Any]) -> str:
    """A call in a line."""
    said = printable(" ".join(str(one["said"]).split()))
    said = said if len(said) <= SHOWN else said[: SHOWN - 1] + "…"
    answer = printable(" ".join(str(one["answer"]).split("\n", 1)[0].split()))[:SHOWN]
    failed = "" if one["done"] else paint("  refused", fg="red")
    return f"{one['agent']:<12}  {one['tool']:<19}  {said}{failed}  {paint('→ ' + answer, dim=True)}"
