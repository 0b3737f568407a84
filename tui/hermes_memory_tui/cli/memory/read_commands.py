"""The commands `search`, `facts`, `fact` and `history`."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import AmbiguousUid, ArgumentError, UnknownFact
from hermes_memory_store.find.ranked_listing import RankedListing
from hermes_memory_store.model import Fact, PageCursor, Sort
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid_digits, short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings, scope_option
from hermes_memory_tui.cli.journal_lines import CHANGES, FACTS, JournalPrinter, fact_row, format_actor, print_changes
from hermes_memory_tui.cli.json_documents import change_json, fact_json, print_document
from hermes_memory_tui.cli.query_arguments import QueryCommand, join_query
from hermes_memory_tui.cli.table_output import (
    add_list_options,
    after_option,
    print_cursor,
    print_rows,
)
from hermes_memory_tui.cli.terminal_output import (
    describe_altered,
    format_other_themes,
    format_quantity,
    print_facts,
    print_hanging,
    print_pairs,
)
from hermes_memory_tui.text.origin_text import origin_values

LIMIT = click.IntRange(1, 1000)

SHOWN_CHARS = 200
"""Characters of a captured message that are shown beside the fact that was written from it."""


@add_examples(
    ("search login type:decision after:7d -draft", "words, filters, and a word that must not be there"),
    ("search by:claude-code --all-themes -o tsv --fields uid,content", "what an agent wrote, for a program"),
)
@click.command("search", short_help="Find facts by words and filters.", cls=QueryCommand)
@click.argument("query", nargs=-1, required=True)
@scope_option("Only in this scope.")
@click.option("--limit", "-n", type=LIMIT, default=20, show_default=True)
@click.option("--all-themes", is_flag=True, help="Search all themes.")
@add_list_options(FACTS)
@add_common_options
@pass_settings
def search_command(
    settings: CommandSettings, query: tuple[str, ...], scope: str | None, limit: int, all_themes: bool
) -> None:
    """Find facts by words, "phrases", -exclusions and filters.

    Filters: type: scope: tier: target: before: after: by: from: in: branch: host:  — e.g. login type:decision after:7d -draft

    by: takes a session, a client or "person", from: a way in (tool, import, screen …), in: a project, branch: a branch,
    host: an agent host.
    """
    from hermes_memory_tui.cli.memory.ranked_search import search_facts

    with settings.store(noting=True) as store:
        theme = None if all_themes else settings.reading_theme(store)
        also = settings.other_themes(store, theme)
        listing = search_facts(store, theme, join_query(query), scope=scope, limit=limit, also=also)
        listing = note_listing(store, theme, listing)
    print_found_facts(settings, listing, with_theme=all_themes)


@add_examples(
    ("facts tier:cold --sort target --ascending", "cold facts, by what they are about"),
    ("facts tier:all --limit 1000 -o csv > facts.csv", "for a spreadsheet"),
    ("facts type:decision -o table --fields target,content,by", "the columns you want"),
    ("facts 3ca146fb", "one fact: where it came from, what it replaced, what is close to it"),
)
@click.command("facts", short_help="List facts, recently changed first, or show one.", cls=QueryCommand)
@click.argument("filters", nargs=-1, metavar="[FILTER|UID]...")
@scope_option("Only of this scope.")
@click.option("--limit", "-n", type=LIMIT, default=50, show_default=True)
@click.option("--sort", type=click.Choice([sort.value for sort in Sort]), default="updated", show_default=True)
@click.option("--ascending", is_flag=True, help="Sort ascending: oldest or A first.")
@click.option("--all-themes", is_flag=True, help="Include all themes.")
@after_option("UID", "The page that follows this fact, as the page before it says.")
@add_list_options(FACTS)
@add_common_options
@click.pass_context
def facts_command(
    ctx: click.Context,
    filters: tuple[str, ...],
    scope: str | None,
    limit: int,
    sort: str,
    ascending: bool,
    all_themes: bool,
    after: str | None,
) -> None:
    """List facts, most recently changed first. Takes the same filters as search.

    With search words, the best match comes first, as in search. A uid alone shows that fact with all its details.
    """
    from hermes_memory_store.find.query_syntax import parse_query

    settings = ctx.ensure_object(CommandSettings)
    line = join_query(filters)
    with settings.store(noting=True) as store:
        theme = None if all_themes else settings.reading_theme(store)
        also = settings.other_themes(store, theme)
        cursor = None
        query = parse_query(line, theme=theme, now=store.clock())
        named = find_named_fact(store, line, settings.confining_theme(store))
        if named is not None:
            listing = RankedListing([named], 1, False)
        elif query.has_text:
            if ascending or ctx.get_parameter_source("sort") is not ParameterSource.DEFAULT:
                raise click.UsageError("words are ranked by relevance; leave --sort and --ascending out", ctx)
            if after is not None:
                raise click.UsageError("words are ranked by relevance, at most 1,000 facts; leave --after out", ctx)
            from hermes_memory_tui.cli.memory.ranked_search import search_facts  # here, not above: it imports recall

            listing = search_facts(store, theme, line, scope=scope, limit=limit, also=also)
        else:
            selection = replace(query.filter, also=also)
            if scope is not None:
                selection = replace(selection, scopes=frozenset({scope}))
            order, begin = Sort(sort), None if after is None else find_cursor(store, Sort(sort), after)
            page = store.facts.page(selection, sort=order, descending=not ascending, after=begin, limit=limit)
            listing = RankedListing(page.facts, page.total, page.more)
            follows = (
                page.next is not None
                and store.facts.page(selection, sort=order, descending=not ascending, after=page.next, limit=1).facts
            )
            cursor = to_cursor(order, page.facts[-1]) if follows else None
        listing = note_listing(store, theme, listing)
    if named is not None and not (settings.as_json or settings.is_tabular):
        ctx.invoke(fact_command, uid=named.uid)
    else:
        print_found_facts(settings, listing, with_theme=all_themes, cursor=cursor)


def find_named_fact(store: Store, line: str, theme: str | None) -> Fact | None:
    """Return the fact whose uid a line is; a word in the letters of a uid that belongs to none is a word."""
    if parse_uid_digits(line) is None:
        return None
    try:
        return store.facts.get(line, theme=theme)
    except (UnknownFact, AmbiguousUid):
        return None


def note_listing(store: Store, theme: str | None, listing: RankedListing) -> RankedListing:
    """Return a listing with a note of facts that were altered, or of where there are facts where it is empty."""
    altered = len(listing.facts) - len(store.facts.as_written(listing.facts))
    if altered:
        return replace(listing, note="; ".join(filter(None, (listing.note, describe_altered(altered)))))
    note = "" if theme is None or listing.facts else format_other_themes(store.place_themes.count_elsewhere(theme))
    return replace(listing, note=f"{note}; --all-themes looks there, too") if note and listing.note is None else listing


def to_cursor(order: Sort, fact: Fact) -> str:
    """Return where the page after this fact begins.

    An order by time has the time with it: the fact may be changed, and move, before the next page is asked for.
    """
    return f"{fact.uid}@{fact.updated_at}" if order in (Sort.UPDATED, Sort.TYPE) else fact.uid


def find_cursor(store: Store, order: Sort, text: str) -> PageCursor:
    """Return the place that `--after` names. :raises UnknownFact: AmbiguousUid, ArgumentError"""
    uid, at, moment = text.partition("@")
    if at and not moment.isdecimal():
        raise ArgumentError(f"{moment!r} is no time in milliseconds; --after takes what the page before says", text)
    fact = store.facts.get(uid)
    updated = int(moment) if at else fact.updated_at
    keys: dict[Sort, Any] = {
        Sort.UPDATED: updated,
        Sort.CREATED: fact.created_at,
        Sort.TARGET: fact.target,
        Sort.TYPE: (fact.type.value, updated),
    }
    return PageCursor((keys[order], fact.id))


def print_found_facts(
    settings: CommandSettings, listing: RankedListing, *, with_theme: bool, cursor: str | None = None
) -> None:
    """Print a list of facts; as JSON it names what ranked them. :param cursor: where the next page begins"""
    facts, total, more = listing.facts, listing.total, listing.more
    if settings.as_json:
        beside = {"ranked_by": listing.ranked_by, "note": listing.note, "next": cursor}
        notes = {name: value for name, value in beside.items() if value}
        print_document({"facts": [fact_json(fact) for fact in facts], "total": total, "more": more, **notes})
        return
    if listing.note is not None:
        click.echo(f"note: {listing.note}", err=True)
    if settings.is_tabular:
        print_rows(settings, FACTS, map(fact_row, facts))
    else:
        whole = max(0, total - listing.partial)
        print_facts(facts[:whole], with_theme=with_theme, with_origin=True)
        if facts[whole:]:
            # Into a pipe go facts and nothing else.
            click.echo(f"-- {listing.partial_note} --", err=not sys.stdout.isatty())
            print_facts(facts[whole:], with_theme=with_theme, with_origin=True)
    if not facts:
        click.echo("no facts", err=True)
    elif total > len(facts):
        # On standard error, so that what is piped on is facts and nothing else.
        click.echo(
            f"{len(facts):,} of {'more than ' if more else ''}{format_quantity(total, 'fact')}; --limit N shows more",
            err=True,
        )
    if cursor is not None:
        print_cursor(cursor)


@add_examples(("fact 3ca146fb --json", "one fact as a document"))
@click.command("fact", hidden=True, short_help="Show one fact.")
@click.argument("uid")
@add_common_options
@pass_settings
def fact_command(settings: CommandSettings, uid: str) -> None:
    """Show one fact with all its details.

    UID is the full uid, or its last or first characters, six or more.
    """
    with settings.store() as store:
        fact = store.facts.get(uid, theme=settings.confining_theme(store))
        chain = store.facts.chain(fact.uid)
        turns = store.turns.by_uids(fact.origin.turns)
        near = store.facts.near_duplicates(fact.uid)
        if not store.facts.as_written([fact]):
            click.echo(describe_altered(1), err=True)
    if settings.as_json:
        print_document(fact_json(fact) | {"chain": [row.uid for row in chain], "near": [row.uid for row in near]})
        return
    erased = len(fact.origin.turns) - len(turns)
    written_from = f"written from {format_quantity(len(turns), 'captured message')}"
    written_from += f", {erased} more erased since" if erased else ""
    written_from += f"; whole: turns --fact {short_uid(fact.uid)}" if turns else ""
    print_hanging("", to_printable(fact.notation))
    click.echo()
    print_pairs(
        [
            ("uid", fact.uid),
            ("theme", fact.theme),
            ("scope", fact.scope or "(none)"),
            ("type", fact.type.word),
            ("tier", fact.tier.value + (", pinned" if fact.pinned else "")),
            ("written", f"{format_iso_time(fact.created_at)} by {format_actor(fact.actor)}"),
            ("changed", format_iso_time(fact.updated_at)),
            (
                "read",
                format_quantity(fact.reads, "time")
                + (f", last {format_iso_time(fact.read_at)}" if fact.read_at else ""),
            ),
            ("costs", format_quantity(fact.tokens, "token")),
            *origin_values(fact.origin),
            *([("turns", written_from)] if fact.origin.turns else []),
        ]
    )
    for turn in turns:
        print_hanging(f"  {to_printable(turn.role)}: ", to_printable(" ".join(turn.content.split())[:SHOWN_CHARS]))
    place = [other.uid for other in chain].index(fact.uid)
    beside = (("replaces", chain[:place]), ("superseded by", chain[place + 1 :]), ("close to", list(near)))
    for heading, facts in beside:
        if facts:
            click.echo(f"\n{heading}")
            print_facts(facts, indent="  ")


@add_examples(
    ("history 3ca146fb", "every change of a fact"),
    ("history 3ca146fb -o jsonl --fields at,by,text", "the same for a program"),
)
@click.command("history", short_help="Show the history of a fact.")
@click.argument("uid")
@add_list_options(CHANGES)
@add_common_options
@pass_settings
def history_command(settings: CommandSettings, uid: str) -> None:
    """List every change of one fact: time, author, values before and after."""
    with settings.store() as store:
        changes = store.facts.history(uid, theme=settings.confining_theme(store))
        if settings.as_json:
            print_document({"changes": [change_json(change) for change in changes]})
        elif settings.is_tabular:
            print_rows(settings, CHANGES, map(JournalPrinter(store).to_row, changes))
        else:
            print_changes(store, changes, with_origin=True)
