"""`write`, `edit`, and what moves single facts: `pin`, `unpin`, `archive`, `restore`."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

import click

from hermes_memory_store.errors import StoreError
from hermes_memory_store.model import Changed, Fact, WriteResult
from hermes_memory_store.notation import parse
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui.cli.documents import document, gauge_json
from hermes_memory_tui.cli.options import Settings, common, pass_settings, scope_option


@click.command("write", short_help="Write a fact.")
@click.argument("notation", nargs=-1, required=True)
@scope_option("The unit of work it belongs to; opened if new.")
@click.option("--split", is_flag=True, help="Store an over-long content as numbered parts.")
@common
@pass_settings
def write_command(settings: Settings, notation: tuple[str, ...], scope: str | None, split: bool) -> None:
    """Write a fact: TYPE[target]: content, e.g. 'C[db.id]: UUID mndtry'. A single - reads one fact a line.

    Types: C constraint, D decision, V value, ? unknown, ✓ done, ~ obsolete.
    """
    line = " ".join(notation)
    if line != "-":
        parse(line, limit=len(line))  # what is no fact creates no store
    with settings.store(creating=True) as store:
        theme = settings.resolved_theme()
        if line != "-":
            result = store.facts.write(theme, line, scope=scope, split=split)
            if settings.as_json:
                document(written_json(result))
            else:
                say_written(result)
            return
        written: list[WriteResult] = []
        try:
            for number, line in standard_input():
                try:
                    written.append(store.facts.write(theme, line, scope=scope, split=split))
                except StoreError as error:
                    error.message = f"line {number}: {error.message}; what came before it is written"
                    raise
                if not settings.as_json:
                    say_written(written[-1])
        finally:
            # What was acknowledged is told even when a later line is refused.
            if settings.as_json:
                document({"written": [written_json(result) for result in written]})


def standard_input() -> Iterator[tuple[int, str]]:
    """The lines of standard input that say something, with their numbers; bytes that are no text stay recognisable."""
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line.rstrip("\n")


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
        "tier": result.fact.tier.value,
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
    click.echo(f"{result.status} {result.fact.uid}  gauge {result.gauge.pct:.1f} %")
    if result.parts:
        click.echo(f"  stored in {len(result.parts)} parts")
    for uid in result.superseded:
        click.echo(f"  superseded {uid}")
    for label in result.closed:
        click.echo(f"  closed scope {printable(label)}")
    moved = result.relief
    if moved.merged or moved.cooled or moved.archived:
        click.echo(
            f"  relief: {moved.merged} merged, {moved.cooled} cooled, {moved.archived} archived (undo takes it back)"
        )


@click.command("edit", short_help="Give a fact another content.")
@click.argument("uid")
@click.argument("content", nargs=-1, required=True)
@common
@pass_settings
def edit_command(settings: Settings, uid: str, content: tuple[str, ...]) -> None:
    """Give a fact another content. It keeps its uid; `history` and `undo` know what stood there before."""
    with settings.store(writing=True) as store:
        fact = store.facts.get(uid, theme=settings.confining_theme(store))
        answer(settings, "edited", store.facts.edit(fact.uid, without_head(fact, " ".join(content))))


def without_head(fact: Fact, content: str) -> str:
    """The content alone, when somebody copied the whole line and changed its end."""
    return content.removeprefix(f"{fact.type.value}[{fact.target}]:").strip()


def uids_argument(command: Any) -> Any:
    """`UID...`, and the common options."""
    return click.argument("uids", nargs=-1, required=True, metavar="UID...")(common(pass_settings(command)))


@click.command("pin", short_help="Keep facts hot whatever the pressure.")
@click.option("--off", is_flag=True, help="Unpin instead.")
@uids_argument
def pin_command(settings: Settings, uids: tuple[str, ...], off: bool) -> None:
    """Pin facts: pressure never moves them out of the hot tier."""
    with settings.store(writing=True) as store:
        changed = store.facts.pin(uids, not off, theme=settings.confining_theme(store))
    answer(settings, "unpinned" if off else "pinned", changed)


@click.command("unpin", short_help="Let pressure move pinned facts again.")
@uids_argument
def unpin_command(settings: Settings, uids: tuple[str, ...]) -> None:
    """Let pressure move pinned facts again."""
    with settings.store(writing=True) as store:
        changed = store.facts.pin(uids, False, theme=settings.confining_theme(store))
    answer(settings, "unpinned", changed)


@click.command("archive", short_help="Put facts away; kept, and found when asked for.")
@uids_argument
def archive_command(settings: Settings, uids: tuple[str, ...]) -> None:
    """Put facts away: kept, but not found unless asked for (tier:archived)."""
    with settings.store(writing=True) as store:
        changed = store.facts.archive(uids, theme=settings.confining_theme(store))
    answer(settings, "archived", changed)


@click.command("restore", short_help="Bring facts back to hot.")
@uids_argument
def restore_command(settings: Settings, uids: tuple[str, ...]) -> None:
    """Bring cold, archived, superseded or quarantined facts back to hot."""
    with settings.store(writing=True) as store:
        changed = store.facts.restore(uids, theme=settings.confining_theme(store))
    answer(settings, "restored", changed)


def answer(settings: Settings, done: str, changed: Changed) -> None:
    """What a change of single facts did."""
    if settings.as_json:
        document({"changed": list(changed.uids), "changes": list(changed.seqs)})
    elif not changed.seqs:
        click.echo("nothing to change")
    else:
        names = ", ".join(short(uid) for uid in changed.uids)
        click.echo(f"{done} {names}  (take it back: hermes-memory-tui undo --change {changed.seqs[0]})")
