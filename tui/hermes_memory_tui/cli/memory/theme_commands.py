"""`status` and `themes`: the capacity of the memory."""

from __future__ import annotations

import click

from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import gauge_json, print_document
from hermes_memory_tui.cli.terminal_output import format_gauge_line, format_quantity


@click.command("status", short_help="Show the gauge and the context block.")
@add_common_options
@pass_settings
def status_command(settings: CommandSettings) -> None:
    """Show how full the memory is, and the context an agent receives now.

    Viewing it does not count as a read: only context blocks sent to agents are recorded.
    """
    with settings.store() as store:
        theme = settings.reading_theme(store)
        told = store.injection.status(theme)
    if settings.as_json:
        print_document(
            {
                "theme": theme,
                "gauge": gauge_json(told.gauge),
                "text": told.text,
                "tokens": told.tokens,
                "facts": len(told.facts),
                "left_out": told.left_out,
                "fact_tokens": told.fact_tokens,
                "told": [fact.uid for fact in told.facts],
                "scopes": told.scopes,
            }
        )
        return
    click.echo(format_gauge_line(told.gauge))
    cost = f"{format_quantity(len(told.facts), 'fact')} in {format_quantity(told.fact_tokens, 'token')}"
    click.echo(f"context: {cost}, {told.left_out:,} omitted; {told.tokens:,} tokens in total:\n")
    click.echo("\n".join(to_printable(line) for line in told.text.splitlines()))


@click.command("themes", short_help="List themes with their gauges.")
@add_common_options
@pass_settings
def themes_command(settings: CommandSettings) -> None:
    """List themes with their capacity and number of open scopes."""
    with settings.store() as store:
        themes = store.themes()
    if settings.as_json:
        print_document(
            {
                "themes": [
                    {
                        "name": theme.name,
                        "gauge": gauge_json(theme.gauge),
                        "facts": {tier.value: number for tier, number in theme.facts.items()},
                        "scopes": theme.scopes,
                    }
                    for theme in themes
                ]
            }
        )
        return
    width = max((len(theme.name) for theme in themes), default=0)
    for theme in themes:
        held = format_quantity(sum(theme.facts.values()), "fact")
        click.echo(f"{format_gauge_line(theme.gauge, width)}  {held}, {format_quantity(theme.scopes, 'open scope')}")
    if not themes:
        click.echo("no facts yet; write one with: hermes-memory-tui write 'D[topic]: what was decided'")
