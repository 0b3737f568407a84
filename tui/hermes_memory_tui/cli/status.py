"""`status` and `themes`: how full the memory is."""

from __future__ import annotations

import click

from hermes_memory_store.text import printable
from hermes_memory_tui.cli.documents import document, gauge_json
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import counted, gauge_line


@click.command("status", short_help="How full the memory is, and what an agent is told.")
@common
@pass_settings
def status_command(settings: Settings) -> None:
    """How full the memory is, and what an agent is told of it now.

    Looking does not count as reading: only what an agent is told is recorded.
    """
    with settings.store() as store:
        theme = settings.reading_theme(store)
        told = store.injection.status(theme)
    if settings.as_json:
        document(
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
    click.echo(gauge_line(told.gauge))
    cost = f"{counted(len(told.facts), 'fact')} in {counted(told.fact_tokens, 'token')}"
    click.echo(f"an agent is told {cost}, {told.left_out:,} left out; the whole block costs {told.tokens:,}:\n")
    click.echo("\n".join(printable(line) for line in told.text.splitlines()))


@click.command("themes", short_help="Whose memories there are, and how full.")
@common
@pass_settings
def themes_command(settings: Settings) -> None:
    """Whose memories there are, how full, and how many scopes are open."""
    with settings.store() as store:
        themes = store.themes()
    if settings.as_json:
        document(
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
        held = counted(sum(theme.facts.values()), "fact")
        click.echo(f"{gauge_line(theme.gauge, width)}  {held}, {counted(theme.scopes, 'open scope')}")
    if not themes:
        click.echo("nothing is remembered yet; write a fact with: hermes-memory-tui write 'D[topic]: what was decided'")
