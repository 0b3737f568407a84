"""`purge`: erase facts permanently, after showing exactly which."""

from __future__ import annotations

import sys
from typing import Any

import click

from hermes_memory_store.clock import parse_duration
from hermes_memory_store.errors import ArgumentError, shorten_value
from hermes_memory_store.model import PurgePlan, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, scope_option
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.terminal_output import format_quantity, print_facts

TIERS = [tier.value for tier in Tier if tier is not Tier.WITHDRAWN]


@click.command("purge", short_help="Purge facts. Cannot be undone.")
@scope_option("This scope; all its tiers unless --tier says otherwise.")
@click.option("--older-than", metavar="AGE", help="Only facts not changed for this long, e.g. 30d.")
@click.option("--tier", "tiers", type=click.Choice(TIERS), multiple=True, help="Only this tier; repeatable.")
@click.option("--dry-run", is_flag=True, help="Show what would be purged, without writing.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@add_common_options
@pass_settings
def purge_command(
    settings: CommandSettings,
    scope: str | None,
    older_than: str | None,
    tiers: tuple[str, ...],
    dry_run: bool,
    yes: bool,
) -> None:
    """Purge facts from the store, the journal, the index and the backups too. This cannot be undone.

    Without --scope and --tier: superseded and archived facts. To remove facts reversibly, use archive.
    """
    with settings.store(writing=not dry_run) as store:
        theme = settings.reading_theme(store)
        wanted: dict[str, Any] = {
            "scope": scope,
            "older_than_ms": None if older_than is None else parse_duration(older_than),
            "tiers": [Tier(tier) for tier in tiers] or None,
        }
        plan = PurgePlan(theme, scope, {})
        if scope is not None or store.names.theme_or_none(theme) is not None:
            plan = store.purge.preview(theme, **wanted)
        if plan.total and not dry_run:
            if not yes:
                confirm_purge(plan)
            plan = store.purge.execute(theme, **wanted)
    if settings.as_json:
        counts = {tier: plan.by_tier.get(Tier(tier), 0) for tier in TIERS}
        print_document({"purged": counts, "dry_run": dry_run, "total": plan.total, "unreached": list(plan.unreached)})
        return
    click.echo(format_purge_plan(plan, "would be purged" if dry_run else "purged"))
    if dry_run:
        print_facts(plan.samples, indent="  ")
    for copy in plan.unreached:
        click.echo(f"not removed from a backup that could not be opened: {copy}")


def confirm_purge(plan: PurgePlan) -> None:
    """Show what would be purged and ask for confirmation. Without a terminal nothing is purged."""
    from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal

    if not sys.stdin.isatty():
        raise ArgumentError(
            f"{format_quantity(plan.total, 'fact')} would be purged; pass --yes to skip the confirmation",
            plan.total,
        )
    click.echo(format_purge_plan(plan, "would be purged"), err=True)
    for fact in plan.samples:
        click.echo(f"  {to_printable(fact.notation)}", err=True)
    if plan.total > len(plan.samples):
        click.echo(f"  and {plan.total - len(plan.samples):,} more", err=True)
    if not confirm_on_terminal("Purge them? This cannot be undone.", sys.stderr):
        raise ArgumentError("not confirmed; nothing was purged")


def format_purge_plan(plan: PurgePlan, verb: str) -> str:
    """Format the counts, tier by tier."""
    place = (
        f"theme {plan.theme!r}"
        if plan.scope is None
        else f"scope {shorten_value(plan.scope)!r} of theme {plan.theme!r}"
    )
    counts = ", ".join(f"{number:,} {tier.value}" for tier, number in plan.by_tier.items() if number)
    return f"{format_quantity(plan.total, 'fact')} of {place} {verb}" + (f": {counts}" if counts else "")
