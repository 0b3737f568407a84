"""`review`: suspicious facts that wait for a person, and what is ruled about where they come from."""

from __future__ import annotations

import difflib
from typing import Any

import click

from hermes_memory_store.clock import iso
from hermes_memory_store.model import FactFilter, Rule, Tier, Waiting
from hermes_memory_store.sources import source_of
from hermes_memory_store.store import Store
from hermes_memory_store.text import printable
from hermes_memory_store.uids import short
from hermes_memory_tui.cli.documents import document, rule_json, waiting_json
from hermes_memory_tui.cli.options import Settings, common, completed, pass_settings
from hermes_memory_tui.cli.output import counted, hanging, short_uids, table
from hermes_memory_tui.cli.writing import answer, uids_argument

SAID = {
    "always": "suspicious facts from {} are let in without asking",
    "never": "suspicious facts from {} are refused",
    None: "each suspicious fact from {} waits for you",
}


@click.group("review", invoke_without_command=True, short_help="Decide on suspicious facts that wait.")
@common
@click.pass_context
def review_command(ctx: click.Context) -> None:
    """Suspicious facts that agents wrote and that wait for a person: list them, let them in, refuse them.

    Without a verb they are listed.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_waiting)


@review_command.command("list", short_help="What waits, and the rules.")
@common
@pass_settings
def list_waiting(settings: Settings) -> None:
    """What waits, newest first, with why and from where; and the rules. Of all themes unless --theme names one."""
    with settings.store() as store:
        theme = settings.confining_theme(store)
        waiting, rules = store.facts.waiting(theme), store.sources.list(theme)
        total = store.facts.count(FactFilter(theme=theme, tiers=frozenset({Tier.QUARANTINED})))
    if settings.as_json:
        told = {"waiting": [waiting_json(one) for one in waiting], "total": total}
        document(told | {"rules": [rule_json(one) for one in rules]})
        return
    print_waiting(waiting)
    if total > len(waiting):
        click.echo(f"and {counted(total - len(waiting), 'older fact')}", err=True)
    if not waiting:
        click.echo("nothing waits", err=True)
    if rules:
        click.echo()
        table(
            ("source", "theme", "rule", "since"),
            [(one.source, one.theme, one.rule, iso(one.at)[:16].replace("T", " ")) for one in rules],
        )


def print_waiting(waiting: list[Waiting]) -> None:
    """What waits for people: who wrote it, where and what is wrong with it, and below that the fact."""
    from hermes_memory_bridge.trust.rules import explained

    length = short_uids([one.fact.uid for one in waiting])
    for one in waiting:
        when, source = iso(one.at)[:16].replace("T", " "), printable(one.source or "(unknown)")
        hanging(
            f"{short(one.fact.uid, length)}  ", f"{when}  {one.fact.theme}  {source}  {printable(explained(one.why))}"
        )
        scope = f"  ({printable(one.fact.scope)})" if one.fact.scope else ""
        hanging("    ", printable(one.fact.notation) + scope)


@review_command.command("approve", short_help="Let facts in.")
@uids_argument
def approve(settings: Settings, uids: tuple[str, ...]) -> None:
    """Let facts in: they stand from now on, by the rules of a write."""
    with settings.store(writing=True) as store:
        changed = store.facts.approve(uids, theme=settings.confining_theme(store))
    answer(settings, "let in", changed)


@review_command.command("refuse", short_help="Put facts away; undo brings them back.")
@uids_argument
def refuse(settings: Settings, uids: tuple[str, ...]) -> None:
    """Put facts away: shown nowhere, erased when the theme's retention (7 days) is over, and brought back by undo until
    then."""
    with settings.store(writing=True) as store:
        changed = store.facts.refuse(uids, theme=settings.confining_theme(store))
    answer(settings, "refused", changed)


def known_sources(store: Store, theme: str | None = None) -> list[str]:
    """The programs that wrote here."""
    written = (one.source for one in store.facts.waiting(theme) if one.source)
    return sorted({*written, *map(source_of, store.sessions.list(theme))})


def sources_argument(command: Any) -> Any:
    """`SOURCE`, and the common options."""
    return click.argument("source", shell_complete=lambda ctx, _, begun: completed(ctx, begun, known_sources))(
        common(pass_settings(command))
    )


@review_command.command("always", short_help="Let in what SOURCE writes from now on.")
@sources_argument
def always(settings: Settings, source: str) -> None:
    """From now on let in what SOURCE writes into the theme, however suspicious."""
    set_rule(settings, source, "always")


@review_command.command("never", short_help="Refuse what is suspicious of SOURCE from now on.")
@sources_argument
def never(settings: Settings, source: str) -> None:
    """From now on refuse what SOURCE writes into the theme when it is suspicious."""
    set_rule(settings, source, "never")


@review_command.command("ask", short_help="Take the rule on SOURCE away.")
@sources_argument
def ask(settings: Settings, source: str) -> None:
    """Take the rule on SOURCE away: what is suspicious waits for you again."""
    set_rule(settings, source, None)


def set_rule(settings: Settings, source: str, rule: Rule | None) -> None:
    """Rule on a source, and say what holds now."""
    theme = settings.resolved_theme()
    with settings.store(creating=True) as store:
        seqs = store.sources.set(theme, source, rule)
        known = known_sources(store) if rule is not None and not settings.as_json else [source.strip()]
    if settings.as_json:
        document({"theme": theme, "source": source.strip(), "rule": rule, "changes": list(seqs)})
        return
    if source.strip() not in known:
        near = difflib.get_close_matches(source, known, n=2)
        meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        click.echo(f"no program of that name has written here yet{printable(meant)}", err=True)
    click.echo(f"theme {theme}: {SAID[rule].format(printable(source.strip()))}")
