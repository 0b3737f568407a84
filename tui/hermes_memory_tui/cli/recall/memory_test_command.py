"""`test`: run the tests of a memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.errors import ArgumentError, CaseFileError, ImportFileError, closest_names, shorten_value
from hermes_memory_store.memory_tests.case_file import FILE_NAME, CaseFile, read_case_file
from hermes_memory_store.memory_tests.case_reports import format_junit, outcome_json
from hermes_memory_store.memory_tests.case_run import CaseOutcome, CaseRunner, CaseStatus
from hermes_memory_store.memory_tests.memory_case import MemoryCase
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_themes.theme_identity import DEFAULT
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.command_runner import print_error
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, temporary_store
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.local_meaning import find_by_meaning
from hermes_memory_tui.cli.recall.memory_test_analyses import (
    report_break,
    report_proposals,
)
from hermes_memory_tui.cli.terminal_output import format_quantity, style_text
from hermes_memory_tui.model.memory_test_file import case_file_places, find_case_file

MARKS = {CaseStatus.PASSED: ("✓", "green"), CaseStatus.FAILED: ("✗", "red"), CaseStatus.ERROR: ("!", "yellow")}

MISTAKEN = 2
"""Exit code of a file with mistakes, as of arguments that are wrong."""


@add_examples(
    ("test memory-tests.toml", "run the tests of a file"),
    ("test --learn memory-tests.toml", "print tests for what the memory holds"),
)
@click.command("test", short_help="Run the tests of a memory.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--only", "only", multiple=True, metavar="NAME", help="Run the tests of this name alone; again for more.")
@click.option(
    "--export", "export", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run them on an export (JSONL or MEMORY_SPEC lines) instead of the store.",
)  # fmt: skip
@click.option("--words", is_flag=True, help="Rank by words alone, without the model on this machine.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write the outcome as JUnit XML.")
@click.option("--bisect", metavar="NAME", help="Find the change in the journal that broke the test of this name.")
@click.option("--good", metavar="TIME", help="With --bisect: when the test passed.  [default: looked for]")
@click.option("--learn", is_flag=True, help="Propose tests from pins, corrections and what sessions asked and used.")
@add_common_options
@pass_settings
def test_command(
    settings: CommandSettings,
    file: Path | None,
    only: tuple[str, ...],
    export: Path | None,
    words: bool,
    junit: Path | None,
    bisect: str | None,
    good: str | None,
    learn: bool,
) -> int:
    """Ask what FILE asks, and check that what must be given is given, and what must never be is not.

    FILE is memory-tests.toml of the working folder's repository, else the one beside the store. Exit code 0: all pass;
    1: a test fails; 2: FILE has mistakes. --bisect and --learn do that instead of running the tests.
    """
    if bisect is not None and learn:
        raise click.UsageError("--bisect and --learn do different things; choose one")
    if good is not None and bisect is None:
        raise click.UsageError("--good applies to --bisect; leave it out, or name the test")
    try:
        case_file = load_cases(settings, file, may_be_missing=learn)
    except CaseFileError as error:
        for message in [error.message] if settings.as_json else error.message.split("\n"):
            print_error(error.as_dict() | {"message": message}, settings.as_json)
        return MISTAKEN
    cases = choose_cases(case_file, (bisect,) if bisect is not None else only)
    with open_tested_store(settings, export) as (store, theme), find_by_meaning(store, by_words=words) as nearest:
        if bisect is not None:
            return report_break(store, cases[0], theme, nearest, good, as_json=settings.as_json)
        if learn:
            return report_proposals(store, cases, theme, nearest, case_file.path, as_json=settings.as_json)
        outcomes = CaseRunner(store, theme, nearest).run_all(cases)
    if junit is not None:
        with atomic_write(junit, encoding="utf-8") as out:
            out.write(format_junit(outcomes, str(case_file.path)))
    if settings.as_json:
        print_document(outcomes_json(case_file, outcomes))
    else:
        print_outcomes(case_file, outcomes)
    return 0 if all(outcome.status is CaseStatus.PASSED for outcome in outcomes) else 1


def require_case_file(store_path: Path) -> Path:
    """Return the file of tests of the working folder's repository, else the one beside the store.

    :raises ArgumentError: there is neither
    """
    case_file = find_case_file(store_path)
    if case_file is None:
        places = " or ".join(map(str, case_file_places(store_path)))
        raise ArgumentError(
            f"no {FILE_NAME} in {places}; name a file, or begin one with: hermes-memory-tui test --learn", places
        )
    return case_file


def load_cases(settings: CommandSettings, file: Path | None, *, may_be_missing: bool) -> CaseFile:
    """Return the tests to run. :param may_be_missing: where there is no file, return none, with where it would stand"""
    if file is None and may_be_missing:
        file = find_case_file(settings.path())
        if file is None:
            return CaseFile(case_file_places(settings.path())[0] / FILE_NAME, ())
    return read_case_file(file or require_case_file(settings.path()))


def choose_cases(case_file: CaseFile, names: Sequence[str]) -> list[MemoryCase]:
    """Return the tests of these names, all without a name. :raises ArgumentError: no test has a name"""
    by_name = {case.name: case for case in case_file.cases}
    for name in names:
        if name not in by_name:
            near = closest_names(name, by_name)
            hint = f"did you mean {near[0]!r}?" if near else "names stand in the file"
            raise ArgumentError(f"no test of {case_file.path} is named {shorten_value(name)!r}; {hint}", name)
    return [by_name[name] for name in names] or list(case_file.cases)


@contextmanager
def open_tested_store(settings: CommandSettings, export: Path | None) -> Iterator[tuple[Store, str]]:
    """Yield the store that is tested, or an export as one, and the theme of tests that name none."""
    if export is None:
        with settings.store() as store:
            yield store, settings.reading_theme(store)
        return
    with temporary_store() as store:
        theme = settings.named_theme() or DEFAULT
        fill_from_export(store, export, theme)
        yield store, theme


def fill_from_export(store: Store, export: Path, theme: str) -> None:
    """Put an export into an empty store, as it was. :raises ImportFileError: it is none, or a line of it is not"""
    from hermes_memory_store.files.export_import import import_file

    report = import_file(store, export, theme=theme)
    if report.errors:
        more = f", and {len(report.errors) - 1} more" if len(report.errors) > 1 else ""
        raise ImportFileError(f"{export}: {report.errors[0]}{more}; repair the export, or make it again", str(export))


def print_outcomes(case_file: CaseFile, outcomes: Sequence[CaseOutcome]) -> None:
    """Print a line for each test, below it why it does not pass, and the counts."""
    for outcome in outcomes:
        mark, colour = MARKS[outcome.status]
        spent = "" if outcome.given is None else f"  ({outcome.given.tokens} of {outcome.budget} tokens)"
        click.echo(f"{style_text(mark, fg=colour)} {to_printable(outcome.case.name)}{spent}")
        for failure in outcome.failures:
            click.echo(f"    {case_file.path.name}:{outcome.case.line}: {to_printable(failure)}")
    counts = Counter(outcome.status for outcome in outcomes)
    totals = [f"{counts[status]} {status}" for status in CaseStatus if counts[status] or status is CaseStatus.PASSED]
    seconds = sum(outcome.seconds for outcome in outcomes)
    click.echo(f"{format_quantity(len(outcomes), 'test')}: {', '.join(totals)}  ({seconds:.2f} s)", err=True)


def outcomes_json(case_file: CaseFile, outcomes: Sequence[CaseOutcome]) -> dict[str, Any]:
    counts = Counter(outcome.status for outcome in outcomes)
    return {
        "file": str(case_file.path),
        **{status.value: counts[status] for status in CaseStatus},
        "tests": [outcome_json(outcome) for outcome in outcomes],
    }
