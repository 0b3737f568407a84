"""`themes adopt|split|move`: a theme for each project, a theme split by projects, and facts moved between themes."""

from __future__ import annotations

from typing import Any

import click

from hermes_memory_store.model import ChangeResult
from hermes_memory_store.projects.place_themes import AdoptionPlan
from hermes_memory_store.projects.theme_moves import SplitPlan
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_themes.theme_identity import DEFAULT
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    ask_first,
    complete_themes,
    pass_settings,
)
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.table_output import print_table
from hermes_memory_tui.cli.terminal_output import format_quantity

SHOWN = 12
"""Facts of each group that a plan prints; `--json` has all."""

UNDO_HINT = "hermes-memory-tui undo --change {}"


@click.command("adopt")
@click.option("--keep-default", is_flag=True, help="Choose the opposite: `default` for every place.")
@click.option("--dry-run", is_flag=True, help="Show what would be so; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_common_options
@pass_settings
def adopt_command(settings: CommandSettings, keep_default: bool, dry_run: bool, yes: bool) -> None:
    """Give each project a theme of its own from now on. No fact is moved, and undo returns to what was.

    What stands in `default` is still given where it was written, and what was written in no known place everywhere.
    """
    with settings.store(writing=not dry_run) as store:
        plan = store.place_themes.plan_adoption()
        if not settings.as_json and not keep_default:
            print_adoption_plan(plan)
        if dry_run:
            seqs: tuple[int, ...] = ()
        elif keep_default:
            seqs = store.place_themes.keep_default()
        else:
            if not plan.is_adopted:
                ask_first(settings, "Give each project its own theme?", yes=yes)
            seqs = store.place_themes.adopt()
        chosen = store.place_themes.choice.value
    if settings.as_json:
        print_document(adoption_plan_json(plan) | {"chosen": chosen, "changes": list(seqs), "dry_run": dry_run})
    elif keep_default and not dry_run:
        click.echo("every place has the theme default; `hermes-memory-tui theme adopt` changes that")
    elif not dry_run:
        undo = f"; {UNDO_HINT.format(seqs[0])} takes it back" if seqs else ""
        click.echo(f"each project has a theme of its own{undo}")


def print_adoption_plan(plan: AdoptionPlan) -> None:
    """Print which project has which theme, and how much of `default` was written there."""
    if plan.places:
        rows = [(to_printable(place.project), place.theme, place.facts) for place in plan.places]
        print_table(("project", "theme", "facts of default given there"), rows)
    click.echo(
        f"{format_quantity(plan.unplaced, 'fact')} of no known place: given in every project until they are split"
    )


def adoption_plan_json(plan: AdoptionPlan) -> dict[str, Any]:
    places = [{"project": place.project, "theme": place.theme, "facts": place.facts} for place in plan.places]
    return {"projects": places, "unplaced": plan.unplaced, "adopted": plan.is_adopted}


@click.command("split")
@click.argument("source", default=DEFAULT, metavar="[THEME]", shell_complete=complete_themes)
@click.option("--dry-run", is_flag=True, help="Show the plan; move nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@add_common_options
@pass_settings
def split_command(settings: CommandSettings, source: str, dry_run: bool, yes: bool) -> None:
    """Sort the facts of THEME (default) into the themes of their projects, as one change.

    By where a fact was written, else by its session, its scope, and the words it shares with one project alone. What
    nothing decides is left, and still given in every project.
    """
    with settings.store(writing=not dry_run) as store:
        plan = store.theme_split.plan(source)
        if not settings.as_json:
            print_split_plan(plan)
        result: ChangeResult | None = None
        if plan.groups and not dry_run:
            ask_first(settings, f"Move {format_quantity(plan.moved_count, 'fact')}?", yes=yes)
            result = store.theme_split.split(plan)
        change = None if result is None else find_change(store, result)
    if settings.as_json:
        print_document(split_plan_json(plan) | {"change": change, "dry_run": dry_run})
    elif change is not None:
        click.echo(f"moved {format_quantity(plan.moved_count, 'fact')}; {UNDO_HINT.format(change)} takes it back")


def find_change(store: Store, result: ChangeResult) -> int | None:
    return store.journal.get(result.seqs[0]).change if result.seqs else None


def print_split_plan(plan: SplitPlan) -> None:
    """Print which facts go to which theme, and why, and which are left."""
    for group in plan.groups:
        owner = f"project {to_printable(group.project)}" if group.project else "the person's own"
        click.echo(f"{group.theme} ({owner}): {format_quantity(len(group.moves), 'fact')}")
        for move in group.moves[:SHOWN]:
            click.echo(f"  {to_printable(move.notation)}  ({move.reason})")
        if len(group.moves) > SHOWN:
            click.echo(f"  … and {len(group.moves) - SHOWN:,} more; --json lists them")
    click.echo(f"left in {plan.source}: {format_quantity(len(plan.left), 'fact')}")
    for _, notation in plan.left[:SHOWN]:
        click.echo(f"  {to_printable(notation)}")
    if len(plan.left) > SHOWN:
        click.echo(f"  … and {len(plan.left) - SHOWN:,} more; --json lists them")


def split_plan_json(plan: SplitPlan) -> dict[str, Any]:
    return {
        "theme": plan.source,
        "groups": [
            {
                "theme": group.theme,
                "project": group.project,
                "facts": [
                    {"uid": move.uid, "notation": move.notation, "why": move.reason.value} for move in group.moves
                ],
            }
            for group in plan.groups
        ],
        "left": [{"uid": uid, "notation": notation} for uid, notation in plan.left],
    }


@click.command("move")
@click.argument("uids", nargs=-1, required=True, metavar="UID...")
@click.option("--to", "target", required=True, metavar="THEME", shell_complete=complete_themes, help="Where to.")
@add_common_options
@pass_settings
def move_command(settings: CommandSettings, uids: tuple[str, ...], target: str) -> None:
    """Move facts to another theme, such as `personal`, as one change."""
    with settings.store(writing=True) as store:
        result = store.theme_moves.move(uids, target, within=settings.confining_theme(store))
        change = find_change(store, result)
    if settings.as_json:
        print_document({"theme": target, "changed": list(result.uids), "change": change})
    elif change is None:
        click.echo(f"nothing to move: all of it is in {to_printable(target)} already")
    else:
        click.echo(f"moved {format_quantity(len(uids), 'fact')}; {UNDO_HINT.format(change)} takes it back")
