"""`watch` and `stats`: what goes on in the memory now, and what its days are like."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import click

from hermes_memory_store.clock import DAY_MS, format_iso_time
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.model import FactFilter, FactType, Tier
from hermes_memory_store.places.git_files import repository_at
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid, short_uid
from hermes_memory_store.upkeep.fact_citations import CitationChecker
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import (
    CommandSettings,
    add_common_options,
    pass_settings,
    reject_blank,
    scope_option,
)
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.memory.log_commands import POLL_S
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows
from hermes_memory_tui.cli.terminal_output import print_hanging

STATS = Listing(
    fields=(
        "theme", "facts", *(tier.value for tier in Tier), *(f"types.{kind.value}" for kind in FactType), "days",
        "written", "written_a_day", "given_tokens", "given_tokens_a_day", "read", "never_read",
    ),
    shown=("theme", "facts", "hot", "cold", "written_a_day", "given_tokens_a_day", "read", "never_read"),
)  # fmt: skip

USES = Listing(
    fields=(
        "uid", "theme", "project", "scope", "tier", "notation", "given", "used", "contradicted", "corrected", "tokens", "reads",
        "used_at", "verified", "verified_at",
    ),
    shown=("uid", "given", "used", "contradicted", "corrected", "tokens", "verified", "notation"),
)  # fmt: skip

COUNTED = "given used contradicted corrected tokens"
UNVERIFIED = ("not cited", "unknown")

NOT_COUNTED = (
    "not counted: a rule that is kept without a word of it, what hosts without hooks do, and what a search found (`reads`);"
    " tokens are those of each line as it is worded now"
)

USES_SHOWN, USES_OF_FACTS_SHOWN = 10, 50
"""Facts of which it is said what sessions did with them: those that were contradicted first; rows of `--facts` in a table."""

LIVE = "FROM facts WHERE tier IN ('hot', 'cold')"


@add_examples(
    ("watch", "who is at work, what needs you, and what happens from now on"),
    ("watch --once", "the same at this moment alone"),
    ("watch --plain", "one sentence, said again when it changes"),
    ("watch --here", "beside an agent: each fact that one in this project is given, and why"),
)
@click.command("watch", short_help="Watch what agents write and are given.")
@click.option("--once", is_flag=True, help="Say how it is, and end.")
@click.option("--plain", is_flag=True, help="One sentence, said again when it changes.")
@click.option(
    "--here", is_flag=True, help="Only what agents of the working folder's project are given, with the reasons."
)
@add_common_options
@pass_settings
def watch_command(settings: CommandSettings, once: bool, plain: bool, here: bool) -> None:
    """Print who is at work, how full each memory is and what needs you, then each event as it happens, until ctrl+c.

    With --json, the state as one document, then one document per line for each event. With --here, what was given last in
    this project, then each giving as it happens: when, how, to which session, and each fact with the reason.
    """
    if here and plain:
        raise click.UsageError("--here prints each giving; leave --plain out")
    if here:
        watch_givings(settings, once=once)
        return
    from hermes_memory_tui.cli.now.now_output import print_event, print_state
    from hermes_memory_tui.cli.terminal_output import print_hanging
    from hermes_memory_tui.model.now_state import NowReader

    with settings.store() as store, suppress(KeyboardInterrupt):
        theme = settings.confining_theme(store)
        reader = NowReader()
        version = store.data_version()
        state = reader.read(store, store.clock())
        print_state(state, store.clock(), settings.as_json, plain=plain, theme=theme)
        seen = {event.key for event in state.events}
        while not once:
            time.sleep(POLL_S)
            now = store.data_version()
            is_stale = state.lapses_at is not None and state.lapses_at < store.clock()
            if now == version and not is_stale:
                continue
            version = now
            sentence, state = state.sentence(), reader.read(store, store.clock())
            if plain and sentence != state.sentence():
                print_hanging("", state.sentence())
            for event in reversed(state.events):
                if event.key not in seen and not plain and theme in (None, event.theme):
                    print_event(event, settings.as_json)
            seen |= {event.key for event in state.events}
            sys.stdout.flush()


def watch_givings(settings: CommandSettings, *, once: bool) -> None:
    """Print what agents of this project were given last, and what they are given from then on."""
    from hermes_memory_tui.cli.now.now_output import NEWEST, print_giving
    from hermes_memory_tui.model.now_state import list_givings_here

    with settings.store() as store, suppress(KeyboardInterrupt):
        last: int | None = None
        if not settings.as_json and not once:
            click.echo("what agents of this project are given, as it happens; ctrl-c ends it")
        while True:
            version = store.data_version()  # taken before reading: the next check sees what is written in between
            records = list_givings_here(store, last)
            for record in records[-NEWEST:] if last is None else records:
                print_giving(store, record, settings.as_json)
            last = max([last or 0, *(record.id for record in records)])
            sys.stdout.flush()
            if once:
                return
            while store.data_version() == version:
                time.sleep(POLL_S)


@add_examples(
    ("stats", "facts, writes and reads of each theme"),
    ("stats --days 30 -o csv --fields all > stats.csv", "for a spreadsheet"),
    ("stats --facts --sort tokens", "what each fact cost and was good for, and each project's"),
)
@click.command("stats", short_help="Count facts, writes and reads.")
@click.option("--days", type=click.IntRange(1, 3_650), default=7, show_default=True, help="Days that are counted.")
@click.option("--facts", "of_facts", is_flag=True, help="Count what became of each live fact, and of each project's.")
@click.option(
    "--sort",
    type=click.Choice([*COUNTED.split(), "used_at"]),
    help="With --facts: most of this first.  [default: tokens]",
)
@click.option(
    "--project", metavar="NAME", callback=reject_blank, help="With --facts: those that came from this project."
)
@scope_option("With --facts: those of this scope.")
@add_list_options(Listing((*STATS.fields, *USES.fields), ()))
@add_common_options
@pass_settings
def stats_command(
    settings: CommandSettings, days: int, of_facts: bool, sort: str | None, project: str | None, scope: str | None
) -> None:
    """Count the facts of each theme by tier and type, what was written and given, and how many were never read.

    Below stand the facts that sessions were given: how often, in how many of them what was said or done used the fact, and in how
    many an act contradicted it, such as another port. With --json, all of them as `uses`.

    With --facts, every live fact: also how often it was corrected, what giving it cost in tokens, and whether the lines that it
    cites stand in its project now.
    """
    if of_facts:
        print_uses(settings, sort or "tokens", project, scope)
        return
    if sort or project or scope:
        raise click.UsageError("--sort, --project and --scope are of --facts; add it")
    with settings.store() as store:
        only_theme = settings.confining_theme(store)
        rows = [row for row in count_themes(store, days) if only_theme in (None, row["theme"])]
        uses = store.fact_uses.list(only_theme, limit=-1 if settings.as_json else USES_SHOWN)
    if settings.as_json:
        documents = [to_members(use.fact, "uid theme target") | use.to_counts() for use in uses]
        print_document({"days": days, "themes": rows, "uses": documents})
        return
    print_rows(settings, STATS, rows)
    for use in () if settings.is_tabular else uses:
        counts = ", ".join(f"{name} {count}" for name, count in use.to_counts().items())
        print_hanging(
            f"{short_uid(use.fact.uid)}  ", f"{to_printable(use.fact.theme)} {to_printable(use.fact.target)}: {counts}"
        )


def print_uses(settings: CommandSettings, sort: str, project: str | None, scope: str | None) -> None:
    """Print what became of each live fact, those with most of one count first, and the sums of each project."""
    with settings.store() as store:
        theme = settings.confining_theme(store) if scope is None else settings.reading_theme(store)
        scopes, projects = (frozenset(() if name is None else (name,)) for name in (scope, project))
        uses = store.fact_uses.of_facts(store.facts.ids(FactFilter(theme, scopes=scopes, projects=projects)))
        verified_at = format_iso_time(store.clock())
    uses.sort(key=lambda use: -(getattr(use, sort) or 0))
    roots = {use.fact.origin.root for use in uses if use.fact.cites}
    checkers = {root: CitationChecker(repository_at(root) if root else None, is_quick=True) for root in roots}
    states = [
        checkers[use.fact.origin.root].check_fact(use.fact).state if use.fact.cites else UNVERIFIED[0] for use in uses
    ]
    sums: dict[str | None, Counter[str]] = {}
    verified: dict[str | None, Counter[str]] = {}
    for use, state in zip(uses, states, strict=True):
        project_sums = sums.setdefault(use.fact.origin.project, Counter(dict.fromkeys(["facts", *COUNTED.split()], 0)))
        project_sums.update({"facts": 1, **to_members(use, COUNTED)})
        verified.setdefault(use.fact.origin.project, Counter()).update([state])
    shown = len(uses) if settings.as_json or settings.is_tabular else USES_OF_FACTS_SHOWN
    rows = [
        {
            **to_members(use.fact, "uid theme scope notation reads"),
            "project": use.fact.origin.project,
            "tier": use.fact.tier.value,
            **to_members(use, COUNTED),
            "used_at": None if use.used_at is None else format_iso_time(use.used_at),
            "verified": state,
            "verified_at": None if state in UNVERIFIED else verified_at,
        }
        for use, state in zip(uses[:shown], states, strict=False)
    ]
    if settings.as_json:
        projects_counts = [{"project": name, **counts, "verified": verified[name]} for name, counts in sums.items()]
        print_document({"facts": rows, "projects": projects_counts, "note": NOT_COUNTED})
        return
    print_rows(settings, USES, rows)
    if settings.is_tabular:
        return
    if shown < len(uses):
        click.echo(f"the first {shown} of {len(uses):,} facts; -o table prints all")
    for name, counts in sums.items():
        parts = (", ".join(f"{many:,} {word}" for word, many in part.items()) for part in (counts, verified[name]))
        print_hanging(f"{to_printable(name or 'no project')}: ", "; cited lines: ".join(parts))
    print_hanging("", NOT_COUNTED)


def count_themes(store: Store, days: int) -> Iterable[dict[str, Any]]:
    """Yield what is counted of each theme, of live facts but for the tiers. A fact is read when a context record holds it."""
    from hermes_memory_tui.model.now_state import find_first_row

    since = store.clock() - days * DAY_MS
    written: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    first = find_first_row(store, "journal", "seq", since)
    sql = "SELECT theme_id, count(*) FROM journal WHERE seq >= ? AND at >= ? AND entity = 'fact' GROUP BY 1"
    written.update(dict(store.db.rows(sql, (first, since))))
    first = find_first_row(store, "injections", "id", since)
    sql = "SELECT theme_id, sum(tokens) FROM injections WHERE id >= ? AND at >= ? GROUP BY 1"
    tokens.update(dict(store.db.rows(sql, (first, since))))
    types: dict[int, dict[str, int]] = {}
    for key, kind, many in store.db.rows(f"SELECT theme_id, type, count(*) {LIVE} GROUP BY 1, 2"):
        types.setdefault(key, {})[kind] = many
    sql = "SELECT DISTINCT j.value FROM injections i, json_each(i.facts) j"
    seen = {parse_uid(uid) for (uid,) in store.db.rows(sql)}
    read = Counter(key for key, uid in store.db.rows(f"SELECT theme_id, uid {LIVE}") if uid in seen)
    for theme in store.themes():
        key = store.names.theme_or_none(theme.name) or 0
        yield {
            "theme": theme.name,
            "facts": theme.live,
            **{tier.value: theme.facts.get(tier, 0) for tier in Tier},
            "types": {kind.value: types.get(key, {}).get(kind.value, 0) for kind in FactType},
            "days": days,
            "written": written[key],
            "written_a_day": round(written[key] / days, 1),
            "given_tokens": tokens[key],
            "given_tokens_a_day": round(tokens[key] / days, 1),
            "read": read[key],
            "never_read": theme.live - read[key],
        }
