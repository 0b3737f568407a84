"""`write`, `edit`, and changes of tier and pin: `pin`, `unpin`, `archive`, `restore`."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import InputError, SecretUnconfirmed, StoreError, UnsafeText
from hermes_memory_store.intake.intake import Writer
from hermes_memory_store.intake.spans import to_secret_placeholder
from hermes_memory_store.model import ChangeResult, Fact, WriteResult
from hermes_memory_store.notation.memory_spec import parse_notation
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    is_at_terminal,
    pass_settings,
    scope_option,
)
from hermes_memory_tui.cli.json_documents import gauge_json, print_document

T = TypeVar("T")


@add_examples(
    ("write 'D[auth]: JWT, 7 days' --scope login", "a decision, in a scope that opens if it is new"),
    ("write - < facts.txt", "one fact a line from standard input"),
)
@click.command("write", short_help="Write a fact.")
@click.argument("notation", nargs=-1, required=True)
@scope_option("Scope of the fact; opened if new.")
@click.option("--split", is_flag=True, help="Store an over-long content as numbered parts.")
@click.option("--yes", is_flag=True, help="Mask secrets and remove hidden characters without asking.")
@add_common_options
@pass_settings
def write_command(
    settings: CommandSettings, notation: tuple[str, ...], scope: str | None, split: bool, yes: bool
) -> None:
    """Write a fact: TYPE[target]: content, e.g. 'C[db.id]: UUID mndtry'. A single - reads facts, one per line.

    Types: C constraint, D decision, V value, ? unknown, ✓ done, ~ obsolete.

    At a terminal, secrets and hidden characters are asked about. Without one, the writer counts as an agent: secrets
    are masked, and what reads like an instruction is quarantined.
    """
    line = " ".join(notation)
    if line != "-":
        refuse_no_fact(line)
    with settings.store(creating=True) as store:
        if line != "-":
            theme = settings.writing_theme(store, line)
            result = ask_to_mask(
                store, yes, lambda agreed: store.facts.write(theme, line, scope=scope, split=split, confirmed=agreed)
            )
            if settings.as_json:
                print_document(write_result_json(result))
            else:
                print_write_result(result)
            return
        written: list[WriteResult] = []
        refused: list[tuple[int, InputError]] = []
        try:
            for number, line in stdin_fact_lines():
                try:
                    theme = settings.writing_theme(store, line)
                    written.append(store.facts.write(theme, line, scope=scope, split=split, confirmed=yes))
                except InputError as error:
                    refused.append((number, error))
                    if not settings.as_json:
                        click.echo(to_printable(f"line {number}: {error.message}"), err=True)
                    continue
                except StoreError as error:
                    error.message = f"line {number}: {error.message}; the lines before it were written"
                    raise
                if not settings.as_json:
                    print_write_result(written[-1])
        finally:
            # What was acknowledged is told even when another line is refused.
            if settings.as_json:
                errors = [{"line": number, **error.as_dict()} for number, error in refused]
                print_document({"written": [write_result_json(result) for result in written], "errors": errors})
        if refused:
            number, first = refused[0]
            first.message = f"line {number}: {first.message}; of all lines {len(refused):,} refused, the others written"
            raise first


def refuse_no_fact(line: str) -> None:
    """Refuse what is no fact before a store is created for it. :raises InputError: with what is wrong"""
    try:
        parse_notation(line, limit=len(line))
    except UnsafeText:
        if not is_at_terminal():
            raise


def ask_to_mask(store: Store, yes: bool, write: Callable[[bool], T]) -> T:
    """Write what a person gave; ask about secrets and hidden characters, and write it then without them."""
    try:
        return write(yes)
    except (SecretUnconfirmed, UnsafeText) as error:
        if yes or store.intake.writer is not Writer.PERSON:
            raise
        action = "mask it" if isinstance(error, SecretUnconfirmed) else "remove what is hidden"
        click.confirm(f"{to_printable(error.message)}\n{action}, and write?", abort=True, err=True)
    return write(True)


def stdin_fact_lines() -> Iterator[tuple[int, str]]:
    """Return the non-empty lines of standard input with their numbers; undecodable bytes stay recognisable."""
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line.rstrip("\n")


def write_result_json(result: WriteResult) -> dict[str, Any]:
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
        "relief": to_members(result.relief, "merged cooled archived"),
        "changes": list(result.seqs),
        "masked": list(result.masked),
        "unkept": result.unkept,
        "near": [{"uid": other.uid, "notation": other.notation} for other in result.near],
        "rule": None if result.suspicion is None else result.suspicion.rule,
    }


def print_masked(result: WriteResult | ChangeResult) -> None:
    for name in result.masked:
        click.echo(f"  masked {to_secret_placeholder(name)}")
    if result.unkept:
        lost = f"{result.unkept} masked and NOT kept, the value is gone: keep it yourself"
        click.echo(f"  {lost} (no keyring can be reached)", err=True)


def print_write_result(result: WriteResult) -> None:
    click.echo(f"{result.status} {result.fact.uid}  gauge {result.gauge.pct:.1f} %")
    if result.suspicion is not None:
        click.echo(f"  it {result.suspicion.what}; see: hermes-memory-tui review", err=True)
    print_masked(result)
    if result.parts:
        click.echo(f"  stored in {len(result.parts)} parts")
    for uid in result.superseded:
        click.echo(f"  superseded {uid}")
    for other in result.near:
        click.echo(f"  close to {other.type.value}[{to_printable(other.target)}] {other.uid}; archive one of both?")
    for label in result.closed:
        click.echo(f"  closed scope {to_printable(label)}")
    moved = result.relief
    if moved.merged or moved.cooled or moved.archived:
        click.echo(
            f"  relief: {moved.merged} merged, {moved.cooled} cooled, {moved.archived} archived (undo: hermes-memory-tui undo)"
        )


@add_examples(("edit 3ca146fb 'UUIDv7 mndtry'", "other words for the same fact"))
@click.command("edit", short_help="Edit the content of a fact.")
@click.argument("uid")
@click.argument("content", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Mask secrets and remove hidden characters without asking.")
@add_common_options
@pass_settings
def edit_command(settings: CommandSettings, uid: str, content: tuple[str, ...], yes: bool) -> None:
    """Replace the content of a fact. It keeps its uid; `history` shows and `undo` restores the previous content."""
    with settings.store(writing=True) as store:
        fact = store.facts.get(uid, theme=settings.confining_theme(store))
        text = strip_fact_head(fact, " ".join(content))
        changed = ask_to_mask(store, yes, lambda agreed: store.facts.edit(fact.uid, text, confirmed=agreed))
    print_tier_change(settings, "edited", changed)
    if not settings.as_json:
        print_masked(changed)


def strip_fact_head(fact: Fact, content: str) -> str:
    """Return the content alone, when the whole line was copied and edited at its end."""
    return content.removeprefix(f"{fact.type.value}[{fact.target}]:").strip()


def uid_arguments(command: Any) -> Any:
    """Add the argument `UID...` and the common options."""
    return click.argument("uids", nargs=-1, required=True, metavar="UID...")(add_common_options(pass_settings(command)))


@add_examples(("pin 3ca146fb", "keep it in the hot tier, whatever the pressure"))
@click.command("pin", short_help="Pin facts to the hot tier.")
@click.option("--off", is_flag=True, help="Unpin instead.")
@uid_arguments
def pin_command(settings: CommandSettings, uids: tuple[str, ...], off: bool) -> None:
    """Pin facts: pressure never moves them out of the hot tier."""
    with settings.store(writing=True) as store:
        changed = store.facts.pin(uids, not off, theme=settings.confining_theme(store))
    print_tier_change(settings, "unpinned" if off else "pinned", changed)


@add_examples(("unpin 3ca146fb", "let pressure move it again"))
@click.command("unpin", short_help="Unpin facts.")
@uid_arguments
def unpin_command(settings: CommandSettings, uids: tuple[str, ...]) -> None:
    """Unpin facts, so that pressure may move them again."""
    with settings.store(writing=True) as store:
        changed = store.facts.pin(uids, False, theme=settings.confining_theme(store))
    print_tier_change(settings, "unpinned", changed)


@add_examples(("archive 3ca146fb", "put it away; `restore` brings it back"))
@click.command("archive", short_help="Archive facts.")
@uid_arguments
def archive_command(settings: CommandSettings, uids: tuple[str, ...]) -> None:
    """Archive facts: kept, but found only on request (tier:archived)."""
    with settings.store(writing=True) as store:
        changed = store.facts.archive(uids, theme=settings.confining_theme(store))
    print_tier_change(settings, "archived", changed)


@add_examples(("restore 3ca146fb", "bring it back to the hot tier"))
@click.command("restore", short_help="Restore facts to the hot tier.")
@uid_arguments
def restore_command(settings: CommandSettings, uids: tuple[str, ...]) -> None:
    """Restore cold, archived, superseded or quarantined facts to hot."""
    with settings.store(writing=True) as store:
        changed = store.facts.restore(uids, theme=settings.confining_theme(store))
    print_tier_change(settings, "restored", changed)


def print_tier_change(settings: CommandSettings, verb: str, changed: ChangeResult) -> None:
    if settings.as_json:
        print_document({"changed": list(changed.uids), "changes": list(changed.seqs)})
    elif not changed.seqs:
        click.echo("nothing to change")
    else:
        names = ", ".join(short_uid(uid) for uid in changed.uids)
        click.echo(f"{verb} {names}  (undo: hermes-memory-tui undo --change {changed.seqs[0]})")
