"""`repo`: a project's facts in its repository, reviewed in a pull request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.files.fact_files import FactFile
from hermes_memory_store.files.repository_checks import RepositoryFinding, check_repository, to_sarif
from hermes_memory_store.files.repository_facts import PullPlan, RepositoryFacts
from hermes_memory_store.places.git_files import Repository, find_repository
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.projects.borrowed_objects import GitFailed
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.system.filesystem import atomic_write
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    ask_first,
    is_at_terminal,
    pass_settings,
    scope_option,
)
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@add_examples(
    ("repo export --dry-run", "the files that would be written, one a fact"),
    ("repo pull --yes", "let agents be given what is committed there"),
    ("repo verify --base main --sarif facts.sarif", "in CI: what a pull request does to the facts"),
)
@click.group("repo", short_help="Keep a project's facts in its repository.")
def repo_command() -> None:
    """Keep a project's constraints, decisions and cited values in its repository, as files of .memory/facts.

    They are reviewed in a pull request like code, and read by whoever agrees to.
    """


@repo_command.command("export")
@scope_option("Only this scope.")
@click.option("--dry-run", is_flag=True, help="Show what would be written.")
@yes_option
@add_common_options
@pass_settings
def repo_export_command(settings: CommandSettings, scope: str | None, dry_run: bool, yes: bool) -> None:
    """Write the chosen facts into the working tree, one file each: constraints, decisions, and values that cite something.

    Never personal ones, nor what waits or holds a secret. Files of facts that are chosen no longer go, after a question.
    """
    with settings.store() as store:
        exchange = open_exchange(store)
        plan = exchange.plan_export(scope)
        for verb, paths in (("write", plan.texts), ("remove", plan.removed)):
            echo_lines(settings, (f"{verb}  {path}" for path in paths))
        echo_lines(settings, (f"left out  {line}: {reason}" for line, reason in plan.left_out.items()))
        removing = bool(plan.removed) and not dry_run
        if removing and not yes:
            can_ask = is_at_terminal() and not settings.as_json
            removing = can_ask and click.confirm(f"Remove {format_quantity(len(plan.removed), 'file')}?", err=True)
        if not dry_run:
            exchange.export(plan, removing=removing)
    counts = {"written": len(plan.texts), "unchanged": plan.unchanged, "removed": len(plan.removed) * removing}
    if settings.as_json:
        document = {"paths": [*plan.texts], "gone": plan.removed, "left_out": plan.left_out, "dry_run": dry_run}
        print_document(counts | document)
    else:
        click.echo(", ".join(f"{count:,} {state}" for state, count in counts.items()) + " (dry run)" * dry_run)


@repo_command.command("pull")
@click.option("--no", "refused", is_flag=True, help="Never read them; they are not proposed any more.")
@yes_option
@add_common_options
@pass_settings
def repo_pull_command(settings: CommandSettings, refused: bool, yes: bool) -> None:
    """Take over the committed facts of this repository, once you agree; from then on agents' sessions do at their start.

    What is suspicious waits in `review`. New orders, permissions and guards ask again.
    """
    find_own_repository()
    with settings.store(creating=True) as store:
        exchange = open_exchange(store)
        if refused:
            exchange.keep_answer(False)
            click.echo("the facts of this repository are not read", err=True)
            return
        plan = plan_reading(exchange)
        asked = [file for file in plan.new if plan.waiting.get(file.uid) == "proposed"] + [*plan.asking]
        if exchange.answer is not True or asked:
            echo_lines(settings, describe_files(asked or plan.new))
            noun = f"these {format_quantity(len(asked), 'fact')}" if asked else "what is committed there later"
            ask_first(settings, f"Shall agents here be given {noun}?", yes=yes, first="")
            exchange.keep_answer(True)
            plan = plan_reading(exchange, agreed=True)
        plan = exchange.pull(plan)
    print_pulled(settings, plan, {"changes": list(plan.seqs)})


@repo_command.command("status")
@add_common_options
@pass_settings
def repo_status_command(settings: CommandSettings) -> None:
    """Say what the repository's facts would change here, and what is proposed until you agree."""
    with settings.store() as store:
        exchange = open_exchange(store)
        plan, answer = plan_reading(exchange), exchange.answer
    if not settings.as_json:
        unasked = "proposed: `repo pull` lets agents be given them"
        click.echo(unasked if answer is None else "its facts are given" if answer else "its facts are not read")
        echo_lines(settings, describe_files([*plan.new, *plan.changed, *plan.asking]))
    print_pulled(settings, plan, {"agreed": answer})


def find_own_repository() -> Repository:
    """Return the repository of the working folder. :raises ArgumentError: it is in none"""
    repository = find_repository(os.path.realpath(os.getcwd()))  # noqa: PTH109 - as Git names it
    if repository is None:
        raise ArgumentError("this folder lies in no Git repository", None)
    return repository


def open_exchange(store: Store) -> RepositoryFacts:
    seen = read_project(os.getcwd())  # noqa: PTH109 - as Git names it
    return RepositoryFacts(store, seen if store.db.read_only else store.projects.trace(seen))


def plan_reading(exchange: RepositoryFacts, *, agreed: bool = False) -> PullPlan:
    try:
        return exchange.plan_pull(exchange.read_committed(), agreed=agreed)
    except GitFailed as error:
        raise ArgumentError(f"the repository cannot be read: {error}", None) from error


def describe_files(files: Iterable[FactFile]) -> Iterable[str]:
    return (f"{file.notation}  ({file.change.people or 'not known by whom'}; {file.path})" for file in files)


def echo_lines(settings: CommandSettings, lines: Iterable[str]) -> None:
    for line in () if settings.as_json else lines:
        click.echo(to_printable(line))


def print_pulled(settings: CommandSettings, plan: PullPlan, more: dict[str, object]) -> None:
    counts = {"new": len(plan.new), "waiting": len(plan.waiting), "approved": len(plan.approved)}
    counts |= {"changed": len(plan.changed), "asking": len(plan.asking), "withdrawn": len(plan.withdrawn)}
    if settings.as_json:
        mistakes = [mistake._asdict() for mistake in plan.mistakes]
        print_document(counts | more | {"mistakes": mistakes})
        return
    for mistake in plan.mistakes:
        click.echo(to_printable(f"{mistake.path}:{mistake.line}: {mistake.message}"), err=True)
    click.echo(", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "nothing to change")


@repo_command.command("verify")
@click.option(
    "--base",
    metavar="REF",
    help="Compare with where this branch, tag or commit forked off.  [default: the default branch]",
)
@click.option(
    "--sarif", type=click.Path(dir_okay=False, path_type=Path), help="Also write the findings as SARIF 2.1.0."
)
@click.option("--budget", type=click.IntRange(1), metavar="TOKENS", help="Tokens that all facts may take.")
@add_common_options
@click.pass_context
def repo_verify_command(ctx: click.Context, base: str | None, sarif: Path | None, budget: int | None) -> None:
    """Say what is new, changed, removed, contradicted, untested, over budget or suspicious in the working tree.

    It needs no memory, and runs nothing. The exit code is 1 where a finding is an error, and 0 else.
    """
    settings = ctx.ensure_object(CommandSettings)
    findings = check_repository(find_own_repository(), base, budget)
    if sarif is not None:
        from hermes_memory_bridge.version import __version__

        with atomic_write(sarif, encoding="utf-8", mode=0o644) as file:
            json.dump(to_sarif(findings, __version__), file, indent=2)
    print_findings_of(settings, findings)
    ctx.exit(1 if any(finding.level == "error" for finding in findings) else 0)


def print_findings_of(settings: CommandSettings, findings: Sequence[RepositoryFinding]) -> None:
    if settings.as_json:
        print_document({"findings": [finding._asdict() | {"level": finding.level} for finding in findings]})
        return
    for finding in findings:
        place = f"{finding.path}:{finding.line}"
        click.echo(to_printable(f"{place}: {finding.level}: {finding.message} [{finding.rule}]"))
    click.echo(format_quantity(len(findings), "finding"))
