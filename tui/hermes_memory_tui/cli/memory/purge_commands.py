"""`purge`: erase facts permanently, after showing exactly which."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from hermes_memory_store.clock import parse_duration
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.intake.spans import find_mark_names
from hermes_memory_store.model import FactPurgePlan, PurgePlan, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, scope_option
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity

TIERS = [tier.value for tier in Tier if tier is not Tier.WITHDRAWN]


SHOWN_FACTS = 20
"""Facts that are shown before they are purged; the rest is counted."""

SHOWN_TURNS = 10
"""Captured turns that are shown before they are purged; the rest is counted."""

SHOWN_CHARS = 100
"""Characters of each of them."""


@add_examples(
    ("purge --scope login --dry-run", "what would go for good"),
    ("purge 3ca146fb --yes", "one fact, everywhere, without a question"),
)
@click.command("purge", short_help="Purge facts. Cannot be undone.")
@click.argument("uids", nargs=-1, metavar="[UID...]")
@scope_option("This scope; all its tiers unless --tier says otherwise.")
@click.option("--older-than", metavar="AGE", help="Only facts not changed for this long, e.g. 30d.")
@click.option("--tier", "tiers", type=click.Choice(TIERS), multiple=True, help="Only this tier; repeatable.")
@click.option("--keep-turns", is_flag=True, help="Keep captured messages that hold the words.")
@click.option("--dry-run", is_flag=True, help="Show what would be purged, without writing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@add_common_options
@pass_settings
def purge_command(
    settings: CommandSettings,
    uids: tuple[str, ...],
    scope: str | None,
    older_than: str | None,
    tiers: tuple[str, ...],
    keep_turns: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Purge facts from the store, the journal, the index and the backups too. This cannot be undone.

    The captured messages of the theme that hold their words go with them. UID... purges these facts. Without UID, --scope and
    --tier: superseded and archived facts. To remove facts reversibly, use archive.
    """
    if uids:
        if scope is not None or older_than is not None or tiers:
            raise click.UsageError("UID names the facts to purge; leave --scope, --older-than and --tier out")
        purge_named_facts(settings, uids, with_turns=not keep_turns, dry_run=dry_run, yes=yes)
        return
    with settings.store(writing=not dry_run) as store:
        theme = settings.reading_theme(store)
        selection: dict[str, Any] = {
            "scope": scope,
            "older_than_ms": None if older_than is None else parse_duration(older_than),
            "tiers": [Tier(tier) for tier in tiers] or None,
            "with_turns": not keep_turns,
        }
        plan = PurgePlan(theme, scope, {}, erasure=FactPurgePlan((), 0, (), 0, 0, 0))
        if scope is not None or store.names.theme_or_none(theme) is not None:
            plan = store.purge.preview(theme, **selection)
        if plan.total and not dry_run:
            if not yes:
                confirm_purge(plan)
            plan = store.purge.execute(theme, **selection)
    assert plan.erasure is not None
    heading = format_purge_plan(plan, "would be purged" if dry_run else "purged")
    print_purge(settings, heading, plan.erasure, plan.unreached, dry_run=dry_run)


def purge_named_facts(
    settings: CommandSettings, uids: tuple[str, ...], *, with_turns: bool, dry_run: bool, yes: bool
) -> None:
    """Purge single facts after showing everything that goes with them."""
    with settings.store(writing=not dry_run) as store:
        theme = settings.confining_theme(store)
        plan = store.purge.preview_facts(uids, theme=theme, with_turns=with_turns)
        if not dry_run:
            if not yes:
                heading = format_fact_purge(plan, "would be purged")
                confirm_on_screen(heading, fact_purge_details(plan), len(plan.facts))
            plan = store.purge.execute_facts([fact.uid for fact in plan.facts], theme=theme, with_turns=with_turns)
    heading = format_fact_purge(plan, "would be purged" if dry_run else "purged")
    print_purge(settings, heading, plan, plan.unreached, dry_run=dry_run)


def print_purge(
    settings: CommandSettings, heading: str, plan: FactPurgePlan, unreached: Sequence[str], *, dry_run: bool
) -> None:
    if settings.as_json:
        counts = {tier: sum(fact.tier == tier for fact in plan.facts) for tier in TIERS}
        print_document(
            {
                "purged": counts,
                "dry_run": dry_run,
                "total": len(plan.facts),
                "unreached": list(unreached),
                "facts": [fact.uid for fact in plan.facts],
                "versions": plan.versions,
                "turns": [turn.uid for turn in plan.turns],
                **to_members(plan, "records backups team_rows"),
                "others": [fact.uid for fact in plan.others],
                "lasting": list(plan.lasting),
            }
        )
        return
    click.echo(heading)
    for line in fact_purge_details(plan) if dry_run else fact_purge_notes(plan):
        click.echo(line)
    print_unreached(unreached)


def format_fact_purge(plan: FactPurgePlan, verb: str) -> str:
    return f"{format_quantity(len(plan.facts), 'fact')} {verb}: {format_erasure(plan)}"


def format_erasure(plan: FactPurgePlan) -> str:
    counts = [
        format_quantity(plan.versions, "version"),
        format_quantity(len(plan.turns), "captured message"),
        format_quantity(plan.records, "record") + " of questions, answers and origins",
        f"from {format_quantity(plan.backups, 'backup')}",
        f"{format_quantity(plan.team_rows, 'row')} of the team database",
    ]
    return ", ".join(counts)


def fact_purge_details(plan: FactPurgePlan) -> list[str]:
    """Return lines that show the facts and captured messages, and what stays."""
    lines = [f"  {to_printable(fact.notation)}" for fact in plan.facts[:SHOWN_FACTS]]
    if len(plan.facts) > SHOWN_FACTS:
        lines.append(
            f"  and {format_quantity(len(plan.facts) - SHOWN_FACTS, 'more fact')}; see their uids with --dry-run --json"
        )
    for turn in plan.turns[:SHOWN_TURNS]:
        text = to_printable(" ".join(turn.content.split()))
        cut = text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"
        lines.append(f"  {turn.role} ({to_printable(turn.title or 'no session')}): {cut}")
    if len(plan.turns) > SHOWN_TURNS:
        lines.append(
            f"  and {format_quantity(len(plan.turns) - SHOWN_TURNS, 'more message')}; see them with --dry-run --json, "
            "or keep with --keep-turns"
        )
    return lines + fact_purge_notes(plan)


def fact_purge_notes(plan: FactPurgePlan) -> list[str]:
    """Return lines on what a purge of single facts leaves where it is."""
    lines = [
        f"the same words stand in {short_uid(fact.uid)} as well; name it, too, to purge it"
        for fact in plan.others[:SHOWN_FACTS]
    ]
    lines += [f"{record} holds the same words, and stays: the journal repeats it" for record in plan.lasting]
    if len(plan.others) > SHOWN_FACTS:
        lines.append(
            f"and in {format_quantity(len(plan.others) - SHOWN_FACTS, 'more fact')}; see their uids with --json"
        )
    marks = {(fact.theme, name) for fact in plan.facts for name in find_mark_names(fact.content)}
    lines += [
        f"‹secret:{name}› stays in the vault; remove it with: hermes-memory-bridge secret forget {name} --theme {theme}"
        for theme, name in sorted(marks)
    ]
    if plan.team_rows:
        lines.append("the team database and the other machines purge their rows at their next sync")
    return lines


def print_unreached(copies: Iterable[str]) -> None:
    for copy in copies:
        click.echo(f"not removed from a backup that could not be opened: {copy}")


def confirm_purge(plan: PurgePlan) -> None:
    """Show what would be purged and ask for confirmation. Without a terminal nothing is purged."""
    assert plan.erasure is not None
    confirm_on_screen(format_purge_plan(plan, "would be purged"), fact_purge_details(plan.erasure), plan.total)


def confirm_on_screen(heading: str, lines: Sequence[str], facts: int) -> None:
    """Show what would be purged and ask. :raises ArgumentError: not confirmed, or nobody is there to ask"""
    from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal

    if not sys.stdin.isatty():
        raise ArgumentError(
            f"{format_quantity(facts, 'fact')} would be purged; pass --yes to skip the confirmation", facts
        )
    for line in (heading, *lines):
        click.echo(line, err=True)
    if not confirm_on_terminal("Purge them? This cannot be undone.", sys.stderr):
        raise ArgumentError("not confirmed; nothing was purged")


def format_purge_plan(plan: PurgePlan, verb: str) -> str:
    place = (
        f"theme {plan.theme!r}"
        if plan.scope is None
        else f"scope {shorten_value(plan.scope)!r} of theme {plan.theme!r}"
    )
    counts = ", ".join(f"{number:,} {tier.value}" for tier, number in plan.by_tier.items() if number)
    sentence = f"{format_quantity(plan.total, 'fact')} of {place} {verb}" + (f": {counts}" if counts else "")
    return f"{sentence}; with {format_erasure(plan.erasure)}" if plan.total and plan.erasure else sentence
