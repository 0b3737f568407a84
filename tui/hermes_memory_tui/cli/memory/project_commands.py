"""The commands `projects` and `projects trust`."""

from __future__ import annotations

from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Project, ProjectSummary
from hermes_memory_store.places.project_sighting import read_project
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, ask_first, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows

COMMIT_DIGITS = 12

PROJECTS = Listing(
    fields=("name", "uid", "remotes", "roots", "paths", "facts", "sessions", "seen_at", "trusted", "recognised_by"),
    shown=("name", "facts", "sessions", "trusted", "recognised_by"),
)


@add_examples(
    ("projects", "where facts came from"),
    ("projects -o csv --fields all", "everything known of them"),
)
@click.group("projects", invoke_without_command=True, short_help="List projects, rename, join or trust one.")
@click.option("--rename", nargs=2, metavar="OLD NEW", help="Give a project another name; its old one still finds it.")
@click.option(
    "--join", nargs=2, metavar="COPY NAME", help="Let a copy or a clone be one project with what it was made from."
)
@click.option("--all-themes", is_flag=True, help="Include all themes, even with --theme.")
@add_list_options(PROJECTS)
@add_common_options
@click.pass_context
def projects_command(
    ctx: click.Context, rename: tuple[str, str] | None, join: tuple[str, str] | None, all_themes: bool
) -> None:
    """List the projects that facts and sessions came from, and what each is recognised by.

    A project is recognised by its remote URL, else by where it lies and its first commit; its name is only a label, and
    is never given to another project. All themes unless --theme names one.
    """
    settings = ctx.ensure_object(CommandSettings)
    if ctx.invoked_subcommand is not None:
        return
    if rename is not None:
        if all_themes:
            raise ArgumentError("--rename renames one project in all themes; leave --all-themes out", "--all-themes")
        with settings.store(writing=True) as store:
            before = store.projects.get(rename[0]).name
            project = store.projects.rename(*rename)
        sentence = f"{before} is called {project.name} now; the old name still finds it"
        print_project(settings, project, {"renamed": before}, sentence)
        return
    if join is not None:
        with settings.store(writing=True) as store:
            project = store.projects.join(*join)
        sentence = f"{join[0]} and {project.name} are one project, whose facts are one memory"
        print_project(settings, project, {"joined": join[0]}, sentence)
        return
    with settings.store() as store:
        projects = store.projects.list(None if all_themes else settings.confining_theme(store))
    if settings.as_json:
        print_document({"projects": [project_json(summary) for summary in projects]})
        return
    rows = (project_json(summary) | {"recognised_by": format_identity(summary.project)} for summary in projects)
    print_rows(settings, PROJECTS, rows)
    if not projects:
        click.echo("no projects yet", err=True)


@projects_command.command("trust")
@click.argument("path", default=".", type=click.Path(exists=True, file_okay=False))
@click.option("--undo", is_flag=True, help="Trust it no longer.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_common_options
@pass_settings
def trust_command(settings: CommandSettings, path: str, undo: bool, yes: bool) -> None:
    """Let the files of the repository at PATH (here) count as your own words, as committed, whoever wrote them.

    Without it only lines do whose last commit is yours, by the address in your own Git configuration. Whoever may commit
    there then speaks to agents as you do.
    """
    seen = read_project(path)
    with settings.store(writing=True) as store:
        if seen.common is not None and not undo and not store.projects.is_trusted(seen):
            question = f"Shall the words of whoever commits to {to_printable(seen.root)} count as yours?"
            ask_first(settings, question, yes=yes, first="")
        project = store.projects.trust(seen, trusted=not undo)
    whose = "yours only where you committed them last" if undo else "yours; --undo ends that"
    print_project(settings, project, {"trusted": not undo}, f"committed lines of {project.name} are {whose}")


def print_project(settings: CommandSettings, project: Project, change: dict[str, Any], sentence: str) -> None:
    if settings.as_json:
        print_document(change | {"name": project.name, "uid": project.uid})
    else:
        click.echo(to_printable(sentence))


def format_identity(project: Project) -> str:
    """Format what a project is recognised by first: a remote, else its first commit, else a path."""
    if project.remotes:
        return ", ".join(project.remotes)
    return f"first commit {project.roots[0][:COMMIT_DIGITS]}" if project.roots else ", ".join(project.paths)


def project_json(summary: ProjectSummary) -> dict[str, Any]:
    return {
        "name": summary.project.name,
        "uid": summary.project.uid,
        "remotes": list(summary.project.remotes),
        "roots": list(summary.project.roots),
        "paths": list(summary.project.paths),
        "facts": summary.facts,
        "sessions": summary.sessions,
        "seen_at": format_iso_time(summary.seen_at),
        "trusted": summary.project.is_trusted,
    }
