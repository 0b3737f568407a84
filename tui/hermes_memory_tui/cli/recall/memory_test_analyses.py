"""What `test` says beside running tests: what broke one, and proposals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.context.given import MakeNearest
from hermes_memory_store.journal.rewind import parse_past_moment
from hermes_memory_store.memory_tests.break_search import BreakingChange, find_breaking_change
from hermes_memory_store.memory_tests.case_file import format_case
from hermes_memory_store.memory_tests.case_proposals import propose_cases
from hermes_memory_store.memory_tests.case_run import CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.journal_lines import JournalPrinter
from hermes_memory_tui.cli.json_documents import change_json, print_document
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import format_quantity


def report_break(
    store: Store, case: MemoryCase, theme: str, nearest: MakeNearest | None, good: str | None, *, as_json: bool
) -> int:
    """Find and print the change that broke a test; return the exit code: 0 when it passes."""
    moment = None if good is None else parse_past_moment(store, good)
    with progress_bar("looking") as progress:
        breaking = find_breaking_change(store, case, theme=theme, make_nearest=nearest, good=moment, progress=progress)
    if as_json:
        print_document({"name": case.name, "broken_by": None if breaking is None else break_json(breaking)})
    elif breaking is None:
        click.echo(f"{to_printable(case.name)} passes: nothing broke it")
    else:
        print_break(store, breaking)
    return 0 if breaking is None else 1


def print_break(store: Store, breaking: BreakingChange) -> None:
    """Print the change that broke a test: its number, when, who, what, and how it is undone."""
    first = breaking.rows[0]
    click.echo(
        f"{to_printable(breaking.case.name)} was broken by change {breaking.number}, {format_iso_time(first.at)}:"
    )
    printer = JournalPrinter(store, with_origin=True)
    for row in breaking.rows:
        printer.print(row)
    for failure in breaking.after.failures:
        click.echo(f"since then: {to_printable(failure)}")
    click.echo(
        f"looked at {breaking.looks} moments; undo it with: hermes-memory-tui undo --change {breaking.number}", err=True
    )


def break_json(breaking: BreakingChange) -> dict[str, Any]:
    return {
        "change": breaking.number,
        "rows": [change_json(row) for row in breaking.rows],
        "failures": list(breaking.after.failures),
        "looks": breaking.looks,
    }


def report_proposals(
    store: Store, present: Sequence[MemoryCase], theme: str, nearest: MakeNearest | None, file: Path, *, as_json: bool
) -> int:
    """Print tests that can be added to a file, each with the reason for it and whether it passes now."""
    runner = CaseRunner(store, theme, nearest)
    proposals = []
    for case, reason in propose_cases(store, theme, present):
        outcome = runner.run(case)
        state = "passes now" if outcome.status is CaseStatus.PASSED else f"fails now: {'; '.join(outcome.failures)}"
        proposals.append((case, f"{reason}; {state}", format_case(case, comment=f"{reason}; {state}")))
    if as_json:
        print_document(
            {"proposed": [{"name": case.name, "why": reason, "toml": text} for case, reason, text in proposals]}
        )
        return 0
    for _, _, text in proposals:
        click.echo(text, nl=False)
    click.echo(
        f"{format_quantity(len(proposals), 'test')} proposed; add what you want to {to_printable(str(file))}", err=True
    )
    return 0
