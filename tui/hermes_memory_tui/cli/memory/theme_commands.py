"""`status` and `themes`: the capacity of the memory."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hermes_memory_bridge.cli.click_support import LazyGroup
from hermes_memory_store.clock import format_iso_time, system_clock
from hermes_memory_store.context.given import MOST_LEFT_OUT
from hermes_memory_store.context.start_choice import StartCandidate
from hermes_memory_store.context.start_situation import Situation, find_situation
from hermes_memory_store.hosts.capture_switch import describe_capture
from hermes_memory_store.model import Fact, ThemeSummary, Tier
from hermes_memory_store.notation.token_count import count_tokens, estimate_from_pieces
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import gauge_json, print_document
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows
from hermes_memory_tui.cli.terminal_output import cell_width, format_other_themes, format_quantity, print_gauge
from hermes_memory_tui.text.reason_lines import format_reason_lines

if TYPE_CHECKING:
    from hermes_memory_bridge.connect.hooks.host_states import HostState


@add_examples(
    ("status", "the gauge, and what an agent that starts here is given"),
    ("status --why --exact", "and why, fact by fact, with the tokens that an agent is charged"),
)
@click.command("status", short_help="Show the gauge and the context block.")
@click.option("--why", "show_reasons", is_flag=True, help="Say fact by fact why it is given or left out.")
@click.option("--exact", is_flag=True, help="Count tokens as for an agent instead of estimating them.")
@add_common_options
@pass_settings
def status_command(settings: CommandSettings, show_reasons: bool, exact: bool) -> None:
    """Show how full the memory is, and the context an agent receives now that starts in the working folder.

    Viewing it does not count as a read: only context blocks sent to agents are recorded.
    """
    from hermes_memory_bridge.backfill.disk_sessions import list_expiring
    from hermes_memory_bridge.connect.hooks.host_states import MOST_SESSIONS, list_host_states

    count = count_tokens if exact else estimate_from_pieces
    with settings.store() as store:
        theme = settings.reading_theme(store)
        situation = find_situation(store.db.rows, str(Path.cwd()), store.clock())
        has_turns = store.db.value(
            "SELECT EXISTS (SELECT 1 FROM turns)"
        )  # who has none does not import what finds them
        earlier = store.turns.describe_sessions(theme) if has_turns else None
        block = store.context.status(theme, record=False, situation=situation, sessions=earlier, count=count)
        reasons = list_start_reasons(store, theme, situation, count) if show_reasons else []
        project, places = store.place_themes.project_of(theme), store.place_themes.choice.value
        undecided = store.place_themes.is_undecided
        twins = store.projects.find_twins(project) if project else []
        strays = store.theme_split.count_strays(theme)
        proposed = store.facts.count_proposed(theme)
        other_themes = {} if block.facts or block.left_out else store.place_themes.count_elsewhere(theme)
        sessions = [] if settings.past is not None else store.sessions.list(most_ended=MOST_SESSIONS)
        hosts = [] if settings.past is not None else list_host_states(store, sessions)
    exposed = []
    if sessions:
        from hermes_memory_bridge.connect.hooks.exposed_entries import find_exposed_entries

        exposed = find_exposed_entries()
    expiring = [] if settings.past is not None else list_expiring(settings.path())
    stopped = "" if settings.past is not None else describe_capture(str(settings.path()), str(Path.cwd()))
    if settings.as_json:
        print_document(
            {
                "theme": theme,
                "project": project,
                "places": places,
                "undecided": undecided,
                "gauge": gauge_json(block.gauge),
                "text": block.text,
                "tokens": block.tokens,
                "facts": len(block.facts),
                "left_out": block.left_out,
                "fact_tokens": block.fact_tokens,
                "told": [fact.uid for fact in block.facts],
                "scopes": block.scopes,
                "capture_stopped": stopped or None,
                "hosts": [host_state_json(state) for state in hosts],
                "twins": twins,
                "strays": strays,
                **({"other_themes": other_themes} if other_themes else {}),
                "exposed_entries": exposed,
                **({"expiring": expiring} if expiring else {}),
                **({"proposed": proposed} if proposed else {}),
                **({"why": [reason_json(reason) for reason in reasons]} if show_reasons else {}),
            }
        )
        return
    print_gauge(block.gauge)
    if undecided:
        click.echo("every place has the theme default; `theme adopt` gives each project its own, and shows them first")
    if stopped:
        click.echo(f"{to_printable(stopped)}; `hermes-memory-tui capture status` says more")
    for line in [*exposed, *expiring, *(f"{state.host}: {state.describe(system_clock())}" for state in hosts)]:
        click.echo(to_printable(line))
    if proposed:
        click.echo(f"{format_quantity(proposed, 'fact')} proposed: hermes-memory-tui review")
    for twin in twins[:3]:
        way = to_printable(f"hermes-memory-tui projects --join {shlex.join((str(project), twin))}")
        click.echo(f"{to_printable(twin)} has the same first commit; if it is the same project: {way}")
    for name, facts in strays.items():
        stray = f"{format_quantity(facts, 'fact')} written in other projects"
        click.echo(f"{name} has {stray}: `hermes-memory-tui theme split {name}` shows and moves them")
    if other_themes:
        click.echo(f"{format_other_themes(other_themes)}; `hermes-memory-tui themes` lists them")
    for line in [] if settings.past is not None else list_permission_lines(settings.path()):
        click.echo(line)
    cost = f"{format_quantity(len(block.facts), 'fact')} in {format_quantity(block.fact_tokens, 'token')}"
    click.echo(f"context: {cost}, {block.left_out:,} omitted; {format_quantity(block.tokens, 'token')} in total:\n")
    click.echo("\n".join(to_printable(line) for line in block.text.splitlines()))
    for reason in reasons:
        click.echo(f"\n{'given' if reason.is_given else 'left out'}: {to_printable(reason.fact.notation)}")
        for line in format_reason_lines(reason.candidate.parts, reason.candidate.value, reason.candidate.cost):
            click.echo(f"  {line}")


def list_permission_lines(path: Path) -> list[str]:
    """Return which connected hosts ask before each writing, for those whose person was never told."""
    from hermes_memory_bridge.connect.hooks.installation_record import list_hosts_without_offer

    hosts = list_hosts_without_offer(path)
    if hosts:
        from hermes_memory_bridge.connect.connect_plan import list_unpermitted_hosts

        hosts = list_unpermitted_hosts(path, hosts)
    return [
        f"{host}: agents may not write without asking yet; `hermes-memory-tui connect {host} --allow` lets them"
        for host in hosts
    ]


class StartReason(NamedTuple):
    """A fact that may be given at a start, and what it is worth."""

    fact: Fact
    candidate: StartCandidate
    is_given: bool


def list_start_reasons(
    store: Store, theme: str, situation: Situation, count: Callable[[str], int]
) -> list[StartReason]:
    """Return the facts that are given, and then the best of those left out."""
    choice = store.context.choose(theme, situation, store.policies.for_theme(theme).injection_tokens, count=count)
    shown = [*choice.given, *choice.left_out[:MOST_LEFT_OUT]]
    facts = {fact.id: fact for fact in store.context.load_facts(shown)}
    return [
        StartReason(facts[ranked.key], ranked, at < len(choice.given))
        for at, ranked in enumerate(shown)
        if ranked.key in facts
    ]


def reason_json(reason: StartReason) -> dict[str, Any]:
    """Return why a fact is given or left out as a JSON document."""
    return {
        "uid": reason.fact.uid,
        "notation": reason.fact.notation,
        "given": reason.is_given,
        "value": round(reason.candidate.value, 3),
        "tokens": reason.candidate.cost,
        "parts": {name: round(value, 3) for name, value in reason.candidate.parts},
    }


def host_state_json(state: HostState) -> dict[str, Any]:
    report = state.report
    return {
        "host": state.host,
        "installed_at": None if state.installed_at is None else format_iso_time(state.installed_at),
        "heard_at": None if report is None else format_iso_time(report.heard_at),
        "heard_event": None if report is None else report.last.heard_event,
        "given_at": None if report is None or report.last.given_at is None else format_iso_time(report.last.given_at),
        "given_facts": 0 if report is None else report.last.given_facts,
        "given_tokens": 0 if report is None else report.last.given_tokens,
        "silent": state.is_silent,
    }


THEMES = Listing(
    fields=(
        "name",
        *(f"gauge.{name}" for name in ("pct", "level", "used", "budget", "tokens", "facts", "pinned")),
        *(f"facts.{tier.value}" for tier in Tier if tier is not Tier.WITHDRAWN),
        "scopes",
    ),
    shown=("name", "gauge.pct", "gauge.level", "gauge.used", "gauge.budget", "facts.hot", "facts.cold", "scopes"),
)


@add_examples(
    ("themes", "every memory and how full it is"),
    ("themes -o csv --fields name,gauge.pct,scopes", "the same for a spreadsheet"),
    ("themes adopt --dry-run", "which project would get which theme"),
    ("themes split --dry-run", "which facts would go where"),
    ("themes move 3ca146fb --to ops", "move a fact by hand"),
)
@click.group(
    "themes",
    cls=LazyGroup,
    locations={
        verb: f"hermes_memory_tui.cli.memory.place_commands:{verb}_command" for verb in ("adopt", "split", "move")
    },
    invoke_without_command=True,
    short_help="List themes with their gauges; give each project its own.",
)
@add_list_options(THEMES)
@add_common_options
@click.pass_context
def themes_command(ctx: click.Context) -> None:
    """List themes with their capacity and number of open scopes.

    With a command: give each project a theme of its own, split what was written before, move facts between themes.
    """
    if ctx.invoked_subcommand is not None:
        return
    settings = ctx.ensure_object(CommandSettings)
    with settings.store() as store:
        themes = store.themes()
    if settings.as_json:
        print_document({"themes": [theme_json(theme) for theme in themes]})
        return
    if settings.is_tabular:
        print_rows(settings, THEMES, map(theme_json, themes))
        return
    width = max((cell_width(theme.name) for theme in themes), default=0)
    for theme in themes:
        quantity = format_quantity(theme.live, "fact")
        print_gauge(theme.gauge, names_wide=width, end=f"  {quantity}, {format_quantity(theme.scopes, 'open scope')}")
    if not themes:
        click.echo("no facts yet; write one with: hermes-memory-tui write 'D[topic]: what was decided'")


def theme_json(theme: ThemeSummary) -> dict[str, Any]:
    return {
        "name": theme.name,
        "gauge": gauge_json(theme.gauge),
        "facts": {tier.value: number for tier, number in theme.facts.items()},
        "scopes": theme.scopes,
    }
