"""`repo`: a project's facts in its repository, reviewed in a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.files.fact_files import FactFile
from hermes_memory_store.files.repository_checks import check_repository, to_sarif
from hermes_memory_store.files.repository_facts import PullPlan, RepositoryFacts
from hermes_memory_store.items.tier_columns import PROPOSED
from hermes_memory_store.places.git_files import find_repository
from hermes_memory_store.places.project_sighting import ProjectSighting
from hermes_memory_store.safe_text import to_printable
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
from hermes_memory_tui.model.working_folder import see_working_folder

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@add_examples(
    ("repo export --dry-run", "the files that would be written, one a fact"),
    ("repo pull --yes", "let agents be given what is committed there"),
    ("repo verify --base main --sarif facts.sarif", "in CI: what a pull request does to the facts"),
)
@click.group("repo", short_help="Keep a project's facts in its repository.")
@add_common_options
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
        exchange = RepositoryFacts(store, see_repository())
        plan = exchange.plan_export(scope)
        for verb, paths in (("write", plan.texts), ("remove", plan.removed)):
            print_lines(settings, (f"{verb}  {path}" for path in paths))
        print_lines(settings, (f"left out  {line}: {reason}" for line, reason in plan.left_out.items()))
        removing = bool(plan.removed) and not dry_run and (yes or (is_at_terminal() and not settings.as_json))
        if removing and not yes:
            removing = click.confirm(f"Remove {format_quantity(len(plan.removed), 'file')}?", err=True)
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
    see_repository()
    with settings.store(creating=True) as store:
        exchange = RepositoryFacts(store, see_repository())
        if refused:
            exchange.keep_answer(False)
            print_pulled(settings, PullPlan(is_agreed=False), {"agreed": False})
            return
        committed = exchange.read_committed()
        plan, is_first = exchange.plan_pull(committed), exchange.answer is not True
        asked = [file for file in plan.new if plan.waiting.get(file.uid) == PROPOSED] + plan.asking + plan.proposed
        question = f"Shall agents here be given {f'these {len(asked):,}' if asked else 'what is committed there'}?"
        if is_first or (asked and not yes and is_at_terminal() and not settings.as_json):
            print_files(settings, asked)
        if is_first:
            ask_first(settings, question, yes=yes, first="")
            exchange.keep_answer(True)
        if is_first or (asked and (yes or (is_at_terminal() and not settings.as_json and click.confirm(question)))):
            plan = exchange.plan_pull(committed, agreed=True)
        plan = exchange.pull(plan)
    print_pulled(settings, plan, {"changes": list(plan.seqs)})


@repo_command.command("status")
@add_common_options
@pass_settings
def repo_status_command(settings: CommandSettings) -> None:
    """Say what the repository's facts would change here, and what is proposed until you agree."""
    with settings.store() as store:
        exchange = RepositoryFacts(store, see_repository())
        plan, answer = exchange.plan_pull(exchange.read_committed()), exchange.answer
    if not settings.as_json:
        unasked = "proposed: `repo pull` lets agents be given them"
        click.echo(unasked if answer is None else "its facts are given" if answer else "its facts are not read")
    print_files(settings, [*plan.new, *plan.proposed, *plan.changed, *plan.asking])
    print_pulled(settings, plan, {"agreed": answer})


def see_repository() -> ProjectSighting:
    """Return what the working folder shows of its repository. :raises ArgumentError: it is in none"""
    seen = see_working_folder()
    if seen is None or seen.common is None:
        raise ArgumentError("this folder lies in no Git repository", None)
    return seen


def print_files(settings: CommandSettings, files: Iterable[FactFile]) -> None:
    people = {file.path: file.change.people or "by whom is not known" for file in files}
    print_lines(settings, (f"{file.label}  ({people[file.path]}; {file.path})" for file in files))


def print_lines(settings: CommandSettings, lines: Iterable[str]) -> None:
    for line in () if settings.as_json else lines:
        click.echo(to_printable(line))


def print_pulled(settings: CommandSettings, plan: PullPlan, more: dict[str, Any]) -> None:
    lists = {"new": plan.new, "waiting": plan.waiting, "proposed": plan.proposed, "approved": plan.approved}
    lists |= {"changed": plan.changed, "asking": plan.asking, "withdrawn": plan.withdrawn}
    counts = {name: len(items) for name, items in lists.items()}
    if settings.as_json:
        print_document(counts | more | {"mistakes": [mistake._asdict() for mistake in plan.mistakes]})
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
    settings, repository = ctx.ensure_object(CommandSettings), find_repository(see_repository().root)
    findings = check_repository(repository, base, budget) if repository is not None else []
    if sarif is not None:
        from hermes_memory_bridge.version import __version__

        with atomic_write(sarif, encoding="utf-8", mode=0o644) as file:
            json.dump(to_sarif(findings, __version__), file, indent=2)
    if settings.as_json:
        print_document({"findings": [finding._asdict() | {"level": finding.level} for finding in findings]})
    print_lines(settings, (str(finding) for finding in findings))
    print_lines(settings, [format_quantity(len(findings), "finding")])
    ctx.exit(1 if any(finding.level == "error" for finding in findings) else 0)
