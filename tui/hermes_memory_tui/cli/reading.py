"""`search`, `facts`, `fact`, `history`, `status`, `themes`."""

from __future__ import annotations

from dataclasses import replace

import click

from hermes_memory_store.clock import iso
from hermes_memory_store.model import Fact, Sort
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_tui.cli.options import Settings, common, pass_settings
from hermes_memory_tui.cli.output import (
    change_json,
    change_line,
    document,
    fact_json,
    fact_line,
    gauge_json,
    gauge_line,
    table,
)

LIMIT = click.IntRange(1, 1000)


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option("--scope", metavar="LABEL", help="Only in this scope.")
@click.option("--limit", type=LIMIT, default=20, show_default=True)
@click.option("--all-themes", is_flag=True, help="In the memory of every theme.")
@common
@pass_settings
def search_command(settings: Settings, query: tuple[str, ...], scope: str | None, limit: int, all_themes: bool) -> None:
    """Find facts by words, "phrases", -exclusions and filters.

    Filters: type: scope: tier: target: before: after: by:  — e.g. 'login type:decision after:7d -draft'.
    """
    with settings.store() as store:
        theme = None if all_themes else settings.reading_theme(store)
        found = store.search.find(theme, joined(query), scope=scope, limit=limit)
    show(settings, found.facts, found.total, more=found.more)


@click.command("facts")
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@click.option("--scope", metavar="LABEL", help="Only of this scope.")
@click.option("--limit", type=LIMIT, default=50, show_default=True)
@click.option("--sort", type=click.Choice([sort.value for sort in Sort]), default="updated", show_default=True)
@click.option("--ascending", is_flag=True, help="Oldest, or A, first.")
@click.option("--all-themes", is_flag=True, help="Of every theme.")
@common
@pass_settings
def facts_command(
    settings: Settings,
    filters: tuple[str, ...],
    scope: str | None,
    limit: int,
    sort: str,
    ascending: bool,
    all_themes: bool,
) -> None:
    """List facts, those changed last first. Takes the same filters as search."""
    from hermes_memory_store.query import parse_query

    with settings.store() as store:
        theme = None if all_themes else settings.reading_theme(store)
        query = parse_query(joined(filters), theme=theme, now=store.clock())
        if query.has_text:
            found = store.search.find(theme, joined(filters), scope=scope, limit=limit)
            facts, total = found.facts, found.total
        else:
            wanted = query.filter
            if scope is not None:
                wanted = replace(wanted, scopes=frozenset({scope}))
            page = store.facts.page(wanted, sort=Sort(sort), descending=not ascending, limit=limit)
            facts, total = page.facts, page.total
    show(settings, facts, total)


def joined(words: tuple[str, ...]) -> str:
    """Arguments as one search line: what the shell kept together stays a phrase."""
    return " ".join(f'"{word}"' if " " in word and ":" not in word and len(words) > 1 else word for word in words)


def show(settings: Settings, facts: list[Fact], total: int, *, more: bool = False) -> None:
    """A list of facts."""
    if settings.as_json:
        document({"facts": [fact_json(fact) for fact in facts], "total": total, "more": more})
        return
    for fact in facts:
        click.echo(fact_line(fact))
    if not facts:
        click.echo("no facts")
    elif total > len(facts):
        click.echo(f"{len(facts)} of {'more than ' if more else ''}{total} (--limit shows more)")


@click.command("fact")
@click.argument("uid")
@common
@pass_settings
def fact_command(settings: Settings, uid: str) -> None:
    """Show one fact with everything that is known of it."""
    with settings.store() as store:
        fact = store.facts.get(uid, theme=confined(settings, store))
        chain = store.facts.chain(fact.uid)
    if settings.as_json:
        document(fact_json(fact) | {"chain": [one.uid for one in chain]})
        return
    click.echo(printable(fact.notation))
    table(
        ("", ""),
        [
            ("uid", fact.uid),
            ("theme", fact.theme),
            ("scope", fact.scope or "(none)"),
            ("tier", fact.tier.value + (", pinned" if fact.pinned else "")),
            ("written", f"{iso(fact.created_at)} by {fact.actor}"),
            ("changed", iso(fact.updated_at)),
            ("read", f"{fact.reads} times" + (f", last {iso(fact.read_at)}" if fact.read_at else "")),
            ("costs", f"{fact.tokens} tokens"),
        ],
    )
    for one in chain:
        if one.uid != fact.uid:
            relation = "superseded by" if one.uid == fact.superseded_by else "in its chain"
            click.echo(f"{relation}: {fact_line(one)}")


@click.command("history")
@click.argument("uid")
@common
@pass_settings
def history_command(settings: Settings, uid: str) -> None:
    """Every change of one fact: when, by whom, before and after."""
    with settings.store() as store:
        changes = store.facts.history(uid, theme=confined(settings, store))
    if settings.as_json:
        document({"changes": [change_json(change) for change in changes]})
        return
    for change in changes:
        click.echo(change_line(change))


@click.command("status")
@common
@pass_settings
def status_command(settings: Settings) -> None:
    """How full the memory is, and what an agent is told of it now."""
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
    click.echo(f"an agent is told {len(told.facts)} facts in {told.fact_tokens} tokens, {told.left_out} left out:\n")
    click.echo("\n".join(printable(line) for line in told.text.splitlines()))


@click.command("themes")
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
    for theme in themes:
        click.echo(gauge_line(theme.gauge))
    if not themes:
        click.echo("nothing is remembered yet; write a fact with: hermes-memory-tui write 'D[topic]: what was decided'")


def confined(settings: Settings, store: Store) -> str | None:
    """The theme a uid is looked up in: any, unless one was named."""
    return settings.reading_theme(store) if settings.theme else None
