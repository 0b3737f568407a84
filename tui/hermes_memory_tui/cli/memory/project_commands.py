"""The command `projects`."""

from __future__ import annotations

from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.model import Project, ProjectSummary
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows

COMMIT_DIGITS = 12

PROJECTS = Listing(
    fields=("name", "uid", "remotes", "roots", "paths", "facts", "sessions", "seen_at", "recognised_by"),
    shown=("name", "facts", "sessions", "recognised_by"),
)


@add_examples(
    ("projects", "where facts came from"),
    ("projects -o csv --fields all", "everything known of them"),
)
@click.command("projects", short_help="List projects, rename one, or join two.")
@click.option("--rename", nargs=2, metavar="OLD NEW", help="Give a project another name; its old one still finds it.")
@click.option(
    "--join", nargs=2, metavar="COPY NAME", help="Let a copy or a clone be one project with what it was made from."
)
@click.option("--all-themes", is_flag=True, help="Include all themes, even with --theme.")
@add_list_options(PROJECTS)
@add_common_options
@pass_settings
def projects_command(
    settings: CommandSettings, rename: tuple[str, str] | None, join: tuple[str, str] | None, all_themes: bool
) -> None:
    """List the projects that facts and sessions came from, and what each is recognised by.

    A project is recognised by its remote URL, else by where it lies and its first commit; its name is only a label, and
    is never given to another project. All themes unless --theme names one.
    """
    if rename is not None:
        if all_themes:
            raise ArgumentError("--rename renames one project in all themes; leave --all-themes out", "--all-themes")
        rename_listed_project(settings, *rename)
        return
    if join is not None:
        with settings.store(writing=True) as store:
            project = store.projects.join(*join)
        if settings.as_json:
            print_document({"joined": join[0], "name": project.name, "uid": project.uid})
        else:
            click.echo(
                f"{to_printable(join[0])} and {to_printable(project.name)} are one project, whose facts are one memory"
            )
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


def rename_listed_project(settings: CommandSettings, old: str, new: str) -> None:
    with settings.store(writing=True) as store:
        before = store.projects.get(old).name
        project = store.projects.rename(old, new)
    if settings.as_json:
        print_document({"renamed": before, "name": project.name, "uid": project.uid})
    else:
        click.echo(f"{to_printable(before)} is called {to_printable(project.name)} now; the old name still finds it")


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
    }
