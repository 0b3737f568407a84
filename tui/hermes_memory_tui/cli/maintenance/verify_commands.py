"""`cite` and `verify`: what facts cite, and whether it still stands there."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Change, ChangeResult
from hermes_memory_store.places.citations import (
    Citation,
    CitationCheck,
    CitationState,
    check_command,
    cite_named,
    cite_other,
)
from hermes_memory_store.places.cited_values import FactWords
from hermes_memory_store.places.git_files import find_repository, read_branch_tip, read_head
from hermes_memory_store.places.project_sighting import to_project
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid
from hermes_memory_store.upkeep.fact_citations import FactCheck, count_states
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, is_at_terminal, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.model.working_folder import see_working_folder

RUN_S = 60
"""How long a cited command may take."""

LOCAL_OPS = ("cite", "uncite", "edit")
"""What only somebody here does: other changes bring citations from elsewhere, or back."""


@add_examples(
    ("cite 3ca146fb --command 'make lint' --output 'no issues'", "what a person or CI may run, by `verify --run`"),
    ("cite 3ca146fb --remove all", "no longer"),
)
@click.command("cite", short_help="Say which lines, commit or command a fact rests on.")
@click.argument("uid")
@click.argument("places", nargs=-1, metavar="[PATH:LINES]...")
@click.option("--commit", "commits", multiple=True, metavar="COMMIT", help="A commit, which the branch must have.")
@click.option("--command", "commands", multiple=True, help="A command; only `verify --run` runs it.")
@click.option("--exit", "exit_code", type=int, default=0, help="Its expected exit code.", show_default=True)
@click.option("--output", default="", metavar="PATTERN", help="A pattern that its output is expected to have.")
@click.option("--url", "urls", multiple=True, help="An address; it is never fetched.")
@click.option("--turn", "turns", multiple=True, metavar="UID", help="A message of a conversation.")
@click.option("--remove", "removed", metavar="WHAT", help="Take a citation away, or all with 'all'.")
@add_common_options
@pass_settings
def cite_command(
    settings: CommandSettings,
    uid: str,
    places: tuple[str, ...],
    commits: tuple[str, ...],
    commands: tuple[str, ...],
    exit_code: int,
    output: str,
    urls: tuple[str, ...],
    turns: tuple[str, ...],
    removed: str | None,
) -> None:
    """Say what a fact rests on: lines of a file, a commit, a command with its outcome, an address, a message.

    PATH:12-20 is relative to the working folder. A digest is kept, and none of the text. `verify` compares the lines with the
    file as it is then.
    """
    named = [
        *(cite_other("commit", find_commit(commit) or commit) for commit in commits),
        *(cite_other("command", command, exit_code=exit_code, output=output) for command in commands),
        *(cite_other("url", url) for url in urls),
        *(cite_other("turn", turn) for turn in turns),
    ]
    if bool(named or places) == (removed is not None):
        raise ArgumentError("name what the fact cites, PATH:12-20 for example, or --remove WHAT", uid)
    with settings.store(writing=True) as store:
        theme = settings.confining_theme(store)
        fact = store.facts.get(uid, theme=theme)
        words, now = FactWords(fact.target, fact.content), int(time.time() * 1000)
        cited = [*(cite_named(os.getcwd(), place, now, words) for place in places), *named]  # noqa: PTH109 - as Git names it
        if removed is None:
            changed = store.citations.add(uid, cited, theme=theme)
        else:
            changed = store.citations.remove(uid, "" if removed == "all" else removed, theme=theme)
    print_citing(settings, "cites" if removed is None else "cites no longer", cited, removed or "", changed)


def find_commit(name: str) -> str | None:
    """Return the commit that `HEAD` or a branch of the working folder's repository is at."""
    repository = find_repository(os.path.realpath("."))
    if repository is None:
        return None
    return read_head(repository)[1] if name == "HEAD" else read_branch_tip(repository, name)


def print_citing(
    settings: CommandSettings, verb: str, cited: Sequence[Citation], removed: str, changed: ChangeResult
) -> None:
    if settings.as_json:
        words = [citation.to_words() for citation in cited]
        print_document({"changed": list(changed.uids), "changes": list(changed.seqs), "cites": words})
        return
    labels = ", ".join(citation.label for citation in cited) or removed
    for seq in changed.seqs:
        line = f"{short_uid(changed.uids[0])} {verb} {labels}  (undo: hermes-memory-tui undo --change {seq})"
        click.echo(to_printable(line))
    if not changed.seqs:
        click.echo("nothing to change")


@add_examples(
    ("verify", "each fact of this project: true, moved, changed, missing, not cited"),
    ("verify --run --junit verify.xml", "in CI: cited commands, too; exit code 1 where anything changed"),
)
@click.command("verify", short_help="Check facts against the lines they cite.")
@click.option("--here", is_flag=True, help="Only facts that cite what lies in the working folder.")
@click.option("--run", is_flag=True, help="Also run cited commands, each after a question; with --yes without.")
@click.option("--yes", is_flag=True, help="Do not ask before a command is run.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), help="Also write the outcome as JUnit XML.")
@add_common_options
@click.pass_context
def verify_command(ctx: click.Context, here: bool, run: bool, yes: bool, junit: Path | None) -> None:
    """Check the facts of this folder's project against what they cite, in the working tree as it is.

    Lines that moved are followed, into other files where Git has them. The exit code is 1 where cited lines changed or are
    missing, or a command came out otherwise, and 0 else. Nothing is run without --run, and nothing is ever fetched.
    """
    settings = ctx.ensure_object(CommandSettings)
    folder = os.path.realpath(os.getcwd())  # noqa: PTH109
    repository = find_repository(folder)
    with settings.store() as store:
        seen = to_project(see_working_folder())
        project = None if seen is None else store.projects.find(seen)
        checks = store.citations.verify(settings.reading_theme(store), repository, project)
        strangers = {
            check.fact.uid: find_stranger(store, check.fact.uid) for check in checks if run and cites_command(check)
        }
    if here and repository is not None:
        below = "" if folder == repository.root else os.path.relpath(folder, repository.root) + "/"
        checks = [
            check
            for check in checks
            if any(cited.citation.kind == "lines" and cited.citation.what.startswith(below) for cited in check.checks)
        ]
    if run:
        root = folder if repository is None else repository.root
        checks = [
            replace(
                check,
                checks=tuple(
                    run_cited(cited, root, strangers.get(check.fact.uid, ""), yes=yes) for cited in check.checks
                ),
            )
            for check in checks
        ]
    print_checked(settings, checks)
    if junit is not None:
        write_junit(junit, checks)
    ctx.exit(1 if any(check.is_stale for check in checks) else 0)


def find_stranger(store: Store, uid: str) -> str:
    """Return who let a fact cite what it cites, where that was not done by a person or an agent here."""
    last = next((change for change in store.facts.history(uid)[::-1] if cites_otherwise(change)), None)
    return "" if last is None or last.op in LOCAL_OPS else f"{last.op} by {last.actor}"


def cites_command(check: FactCheck) -> bool:
    return any(cited.citation.kind == "command" for cited in check.checks)


def cites_otherwise(change: Change) -> bool:
    return (change.before or {}).get("cites") != (change.after or {}).get("cites")


def run_cited(check: CitationCheck, root: str, stranger: str, *, yes: bool) -> CitationCheck:
    """Run a cited command in a shell, where the person agrees, and compare how it comes out.

    :param stranger: who cited it elsewhere; then the person is asked in any case
    """
    command = check.citation.what
    if check.citation.kind != "command":
        return check
    question = f"run {to_printable(command)} in {root}?" + (
        f" It came by {to_printable(stranger)}." if stranger else ""
    )
    if (stranger or not yes) and not (is_at_terminal() and click.confirm(question, err=True)):
        return replace(check, note=f"it came by {stranger}, so a person is asked first") if stranger else check
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=RUN_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return CitationCheck(check.citation, CitationState.CHANGED, note=f"it took longer than {RUN_S} s")
    return check_command(check.citation, done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace"))


def print_checked(settings: CommandSettings, checks: Sequence[FactCheck]) -> None:
    counts = count_states(checks)
    if settings.as_json:
        facts = [
            {
                "uid": check.fact.uid,
                "notation": check.fact.notation,
                "state": check.state,
                "cites": [
                    cited.citation.to_words()
                    | {"state": cited.state, "line": cited.first or None, "note": cited.note or None}
                    | ({"says": cited.other.ours, "file_says": cited.other.theirs} if cited.other else {})
                    for cited in check.checks
                ],
            }
            for check in checks
        ]
        print_document({"counts": counts, "facts": facts})
        return
    for check in checks:
        for cited in check.checks:
            moved = (
                f", now {cited.note or cited.citation.what}:{cited.first}" if cited.state is CitationState.MOVED else ""
            )
            note = f" ({cited.note})" if cited.note and not moved else ""
            note += f" (says {cited.other.ours}, {cited.other.label})" if cited.other else ""
            place = f"[{cited.citation.label}{moved}]{note}"
            state = "contradicted" if cited.other else cited.state
            click.echo(to_printable(f"{state:<8} {check.fact.notation}  {place}  ({short_uid(check.fact.uid)})"))
    click.echo(", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no facts")


def write_junit(file: Path, checks: Sequence[FactCheck]) -> None:
    from hermes_memory_store.memory_tests.case_reports import format_checks_junit
    from hermes_memory_store.system.filesystem import atomic_write

    with atomic_write(file, encoding="utf-8") as out:
        out.write(
            format_checks_junit(
                (
                    check.fact.notation,
                    "; ".join(f"{cited.citation.label}: {cited.state}" for cited in check.checks),
                    check.state,
                )
                for check in checks
                if check.checks
            )
        )
