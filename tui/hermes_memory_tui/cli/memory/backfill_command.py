"""The command `backfill`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_memory_store.clock import format_iso_time, parse_duration, system_clock
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import ArgumentError, NothingToUndo, QueryError, shorten_value
from hermes_memory_store.hosts.capture_settings import keep_history, open_capture_switch
from hermes_memory_store.hosts.capture_switch import load_capture_switch
from hermes_memory_store.hosts.host_data import find_hosts_with, load_host
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store, is_store_missing
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    ask_first,
    is_at_terminal,
    pass_settings,
    temporary_store,
)
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.memory.purge_commands import print_unreached
from hermes_memory_tui.cli.progress_bars import progress_bar
from hermes_memory_tui.cli.terminal_output import format_quantity

if TYPE_CHECKING:
    from hermes_memory_bridge.backfill.history import HistoryPlan, HistoryReport

MOST_SKIPPED = 5
"""Files that are named which are not read; more are counted."""


@add_examples(
    ("backfill --dry-run", "which sessions lie on this disk, and what they would bring"),
    ("backfill --here --since 90d", "bring in those of this project"),
    ("backfill --git --here --dry-run", "which commit messages of this project it would bring in, too"),
    ("backfill --yes --actions", "keep what agents ran and edited, too"),
    ("backfill --undo --dry-run", "what erasing the newest run would take back"),
)
@click.command("backfill", short_help="Bring in the sessions that hosts keep on this disk.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    type=click.Choice([*find_hosts_with("sessions")]),
    help="Only of this host; may be given more than once.",
)
@click.option("--here", is_flag=True, help="Only of the project of the working folder.")
@click.option("--project", default="", metavar="NAME", help="Only of the project of this name.")
@click.option("--since", metavar="AGE", help="Only messages younger than this, such as 90d.")
@click.option("--git", is_flag=True, help="Also the commit messages of the projects' repositories.")
@click.option("--undo", is_flag=True, help="Erase what the newest run brought in; a later one may bring it again.")
@click.option("--dry-run", is_flag=True, help="Show the plan, without bringing anything in.")
@click.option("--keep/--no-keep", default=None, help="Bring in later sessions daily, or not; asked otherwise.")
@click.option("--propose/--no-propose", default=True, help="Propose what messages state as facts, for review, or not.")
@click.option("--actions/--no-actions", default=None, help="Keep what agents ran and edited, or not; asked once.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_common_options
@pass_settings
def backfill_command(
    settings: CommandSettings,
    hosts: tuple[str, ...],
    here: bool,
    project: str,
    since: str | None,
    git: bool,
    undo: bool,
    dry_run: bool,
    keep: bool | None,
    propose: bool,
    actions: bool | None,
    yes: bool,
) -> None:
    """Read the sessions that agents' hosts keep on this disk, and keep what was said in them, each message once.

    Hosts delete them in time, Claude Code and Gemini CLI after 30 days. What you and the agent said becomes captured messages of
    the projects they belong to: with secrets masked, without what tools returned. It can be stopped and run again at any time.
    What was paused, switched off in a folder, or purged stays out. Sentences of captured messages that decide, forbid, prescribe
    or name a value are then proposed as facts, which wait in `review`.

    Commands with their exit codes, and the files that were read and edited, are kept where you say yes to that as well:
    --yes does not. `capture actions off` ends it.
    """
    from hermes_memory_bridge.backfill.disk_sessions import find_disk_sessions
    from hermes_memory_bridge.backfill.git_commits import find_git_sessions
    from hermes_memory_bridge.backfill.history import History, HistoryReport, Wanted
    from hermes_memory_bridge.connect.hosts import find_here

    if undo:
        if hosts or here or project or since or git or keep is not None or actions is not None:
            raise ArgumentError("--undo takes the newest run back whole; leave what narrows a run out", None)
        with settings.store(writing=True) as store:
            newest = store.turns.find_newest_run()
            if newest is None:
                raise NothingToUndo("no backfill is left to take back")
            undo_backfill(settings, store, newest[0], dry_run=dry_run, yes=yes)
        return
    if here and project:
        raise ArgumentError("--here names a project, and so does --project; leave one of them out", project)
    is_narrow, started = bool(here or project or since), system_clock()
    hosts = hosts or tuple(find_hosts_with("sessions"))
    if keep and is_narrow:
        raise ArgumentError("--keep is for all projects; leave --here, --project and --since out", None)
    wanted = Wanted(str(Path.cwd()) if here else "", project, started - parse_duration(since) if since else 0)
    found, skipped = find_disk_sessions(find_here(), hosts)
    is_new = is_store_missing(settings.path())
    with temporary_store() if is_new else settings.store() as store:
        if git:
            folders = [wanted.folder] if here else [disk.folder for disk in found if disk.folder]
            with contextlib.suppress(QueryError):
                folders += store.projects.get(project).paths if project else ()
            found.extend(find_git_sessions(folders, skipped if here else []))
        answer = load_capture_switch(settings.path()).actions if actions is None else actions
        is_asked = answer is None and is_at_terminal() and not (yes or dry_run or settings.as_json)
        history = History(store, wanted, found, reads_actions=is_asked or answer is True)
        plan = history.plan()
        if project and not (plan.sessions or plan.known):
            require_project(store, project, history.list_projects())
    plan.skipped = [*skipped, *plan.skipped]
    report = HistoryReport()
    if not settings.as_json:
        print_plan(plan)
    if plan.sessions and not dry_run:
        purpose = ", and propose facts for your review" if propose else ""
        if plan.messages or not is_asked:
            brought = format_brought(plan.messages, 0 if is_asked else plan.actions)
            ask_first(settings, f"Bring in {brought}{purpose}?", yes=yes)
        if is_asked and plan.actions:
            question = f"Keep what was run and edited: {format_quantity(plan.actions, 'action')}, and later ones?"
            actions = click.confirm(question, default=False)
    if actions is not None and not dry_run:
        with open_capture_switch(settings.path()) as switch:
            switch.actions = actions
    if plan.sessions and not dry_run:
        with settings.store(creating=True) as store, progress_bar("sessions") as progress:
            report = History(store, wanted, found).bring(plan, progress)
    if propose and not dry_run and not is_store_missing(settings.path()):
        with settings.store(writing=True) as store:
            themes = report.themes if is_narrow else store.names.all_themes()
            report.proposed = sum(len(store.proposals.propose(theme)) for theme in themes)
    if settings.as_json:
        print_document({**plan_json(plan), "dry_run": dry_run, **report_json(report), "erased": 0, "unreached": []})
    elif plan.sessions and not dry_run:
        print_report(report)
        unanswered = set(hosts) - load_capture_switch(settings.path()).history.keys()
        if keep is None and not yes and not is_narrow and unanswered:
            keep = click.confirm("Bring in later sessions, too, daily and where no hook does?", default=False)
    if report.proposed and not settings.as_json:
        click.echo(f"{format_quantity(report.proposed, 'fact')} proposed: hermes-memory-tui review shows them")
    if keep is not None and not dry_run:
        keep_history(settings.path(), hosts, started if keep else 0)


def require_project(store: Store, name: str, names: set[str]) -> None:
    """Refuse a name that neither a session on disk nor the store knows. :param names: of the sessions' projects"""
    with contextlib.suppress(QueryError):
        names = {*names, store.projects.get(name).name}
    if name not in names:
        hint = f"those of sessions on this disk: {', '.join(sorted(names))}" if names else "no session here has one"
        raise ArgumentError(f"no project is called {shorten_value(name)!r}; {hint}", name)


def undo_backfill(settings: CommandSettings, store: Store, run: int, *, dry_run: bool, yes: bool = False) -> None:
    """Erase what a run brought, after a question."""
    from hermes_memory_bridge.backfill.history import HistoryPlan, HistoryReport

    what, erased, unreached = store.turns.describe_run(run), 0, tuple[str, ...]()
    if not dry_run:
        ask_first(settings, f"Erase {what}?", yes=yes)
        erased, unreached = store.turns.take_back(run)
    if settings.as_json:
        empty = plan_json(HistoryPlan()) | report_json(HistoryReport())
        print_document({**empty, "dry_run": dry_run, "erased": erased, "unreached": list(unreached)})
        return
    click.echo(f"{'would be erased' if dry_run else 'erased'}: {what}")
    print_unreached(unreached)


def print_plan(plan: HistoryPlan) -> None:
    if not plan.sessions:
        here = f"; {format_quantity(plan.known, 'session')} there bring nothing new" if plan.known else ""
        click.echo(f"no sessions of hosts on this disk to bring in{here}")
    for (host, project), group in plan.groups.items():
        days = f"{format_iso_time(group.first_at)[:10]} to {format_iso_time(group.last_at)[:10]}"
        where = to_printable(project) or "no project"
        counts = f"{format_quantity(group.sessions, 'session')}, {format_quantity(group.messages, 'message')}"
        counts = format_quantity(group.messages, "commit") if host == "git" else counts
        size = f"{group.size / 1e6:,.1f} MB" if group.size >= 1e6 else f"{max(1, round(group.size / 1e3))} KB"
        click.echo(f"{load_host(host)['title']}, {where}: {counts}, {days}, {size}")
    if plan.sampled:
        click.echo(
            f"of {plan.sampled:,} looked at, {plan.masked:,} would have secrets masked and {plan.held:,} be kept from agents; "
            f"about {max(1, round(plan.seconds)):,} s"
        )
    if plan.actions:
        click.echo(f"and {format_quantity(plan.actions, 'action')}: what was run, read and edited")
    for file in plan.skipped[:MOST_SKIPPED]:
        click.echo(to_printable(f"left out: {file.path}: {file.reason}"), err=True)
    if len(plan.skipped) > MOST_SKIPPED:
        click.echo(f"and {len(plan.skipped) - MOST_SKIPPED:,} more left out", err=True)


def format_brought(messages: int, actions: int) -> str:
    more = f" and {format_quantity(actions, 'action')}" if actions else ""
    return format_quantity(messages, "message") + more


def print_report(report: HistoryReport) -> None:
    text = (
        f"brought in {format_brought(report.messages, report.actions)} of {format_quantity(report.sessions, 'session')}"
    )
    click.echo(text + (f"; {report.refused:,} refused by their themes" if report.refused else ""))


def plan_json(plan: HistoryPlan) -> dict[str, Any]:
    return {
        "plan": [
            {
                "host": host,
                "project": project or None,
                "sessions": group.sessions,
                "messages": group.messages,
                "bytes": group.size,
                "first_at": format_iso_time(group.first_at),
                "last_at": format_iso_time(group.last_at),
            }
            for (host, project), group in plan.groups.items()
        ],
        **to_members(plan, "known sampled masked held"),
        "skipped": [{"host": file.host, "path": file.path, "reason": file.reason} for file in plan.skipped],
    }


def report_json(report: HistoryReport) -> dict[str, int]:
    return to_members(report, "sessions messages actions refused proposed")
