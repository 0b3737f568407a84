"""`write`, `edit`, `pin`, `unpin`, `archive`, `restore`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from hermes_memory_store.model import PERSON, Actor, Changed, WriteResult
from hermes_memory_store.uids import short
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import document, gauge_json


@click.command("write")
@click.argument("notation", nargs=-1, required=True)
@click.option("--scope", metavar="LABEL", help="The unit of work it belongs to; opened if new.")
@click.option("--split", is_flag=True, help="Store an over-long content as numbered parts.")
@common
@pass_settings
def write_command(settings: Settings, notation: tuple[str, ...], scope: str | None, split: bool) -> None:
    """Write a fact: TYPE[target]: content, e.g. 'C[db.id]: UUID mndtry'. A single - reads one fact a line.

    Types: C constraint, D decision, V value, ? unknown, ✓ done, ~ obsolete.
    """
    if notation == ("-",):
        write_lines(settings, sys.stdin.read().splitlines(), scope, split)
        return
    with settings.store(writing=True) as store:
        result = store.facts.write(settings.resolved_theme(), " ".join(notation), scope=scope, split=split)
    if settings.as_json:
        document(written_json(result))
    else:
        say_written(result)


def write_lines(settings: Settings, lines: list[str], scope: str | None, split: bool) -> None:
    """Write the facts of standard input one by one; stops at the first that is refused, keeping those before it."""
    with settings.store(writing=True) as store:
        theme = settings.resolved_theme()
        results = [store.facts.write(theme, line, scope=scope, split=split) for line in lines if line.strip()]
    if settings.as_json:
        document({"written": [written_json(result) for result in results]})
        return
    for result in results:
        say_written(result)


def written_json(result: WriteResult) -> dict[str, Any]:
    """The document of one write."""
    return {
        "uid": result.fact.uid,
        "status": result.status,
        "superseded": list(result.superseded),
        "theme": result.fact.theme,
        "scope": result.fact.scope,
        "gauge": gauge_json(result.gauge),
        "notation": result.fact.notation,
        "closed": list(result.closed),
        "parts": [part.uid for part in result.parts],
        "relief": {
            "merged": result.relief.merged,
            "cooled": result.relief.cooled,
            "archived": result.relief.archived,
        },
        "changes": list(result.seqs),
    }


def say_written(result: WriteResult) -> None:
    """One write for a person."""
    click.echo(f"{result.status} {result.fact.uid}  gauge {result.gauge.pct:.1f}%")
    for uid in result.superseded:
        click.echo(f"  superseded {uid}")
    for label in result.closed:
        click.echo(f"  closed scope {label}")
    moved = result.relief
    if moved.merged or moved.cooled or moved.archived:
        click.echo(
            f"  relief: {moved.merged} merged, {moved.cooled} cooled, {moved.archived} archived (undo takes it back)"
        )


@click.command("edit")
@click.argument("uid")
@click.argument("content", nargs=-1, required=True)
@common
@pass_settings
def edit_command(settings: Settings, uid: str, content: tuple[str, ...]) -> None:
    """Give a fact another content. It keeps its uid; `history` and `undo` know what stood there before."""
    with settings.store(writing=True) as store:
        answer(
            settings,
            "edited",
            store.facts.edit(uid, " ".join(content), theme=settings.theme and settings.resolved_theme()),
        )


def each_fact(name: str, done: str, help_text: str, change: Callable[..., Changed]) -> click.Command:
    """A command that changes every fact it is given, all or none."""

    @click.command(name, help=help_text)
    @click.argument("uids", nargs=-1, required=True, metavar="UID...")
    @common
    @pass_settings
    def command(settings: Settings, uids: tuple[str, ...]) -> None:
        with settings.store(writing=True) as store:
            theme = settings.resolved_theme() if settings.theme else None
            answer(settings, done, change(store.facts, uids, actor=PERSON, theme=theme))

    return command


def pinned(facts: Any, uids: tuple[str, ...], *, actor: Actor, theme: str | None) -> Changed:
    """Pin."""
    changed: Changed = facts.pin(uids, actor=actor, theme=theme)
    return changed


def unpinned(facts: Any, uids: tuple[str, ...], *, actor: Actor, theme: str | None) -> Changed:
    """Unpin."""
    changed: Changed = facts.pin(uids, False, actor=actor, theme=theme)
    return changed


def archived(facts: Any, uids: tuple[str, ...], *, actor: Actor, theme: str | None) -> Changed:
    """Archive."""
    changed: Changed = facts.archive(uids, actor=actor, theme=theme)
    return changed


def restored(facts: Any, uids: tuple[str, ...], *, actor: Actor, theme: str | None) -> Changed:
    """Restore."""
    changed: Changed = facts.restore(uids, actor=actor, theme=theme)
    return changed


pin_command = each_fact("pin", "pinned", "Pin facts: pressure never moves them out of the hot tier.", pinned)
unpin_command = each_fact("unpin", "unpinned", "Let pressure move pinned facts again.", unpinned)
archive_command = each_fact("archive", "archived", "Put facts away: kept, but not found unless asked for.", archived)
restore_command = each_fact("restore", "restored", "Bring cold, archived or superseded facts back to hot.", restored)


def answer(settings: Settings, done: str, changed: Changed) -> None:
    """What a change of single facts did."""
    if settings.as_json:
        document({"changed": list(changed.uids), "changes": list(changed.seqs)})
    elif not changed.seqs:
        click.echo("nothing to change")
    else:
        names = ", ".join(short(uid) for uid in changed.uids)
        click.echo(f"{done} {names}  (take it back: hermes-memory-tui undo --change {changed.seqs[0]})")
