"""`watch` and `stats`: what goes on in the memory now, and what its days are like."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import click

from hermes_memory_store.clock import DAY_MS
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.model import FactType, Tier
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.store import Store
from hermes_memory_store.uids import parse_uid, short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
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

USES_SHOWN = 10
"""Facts of which it is said what sessions did with them: those that were contradicted first."""

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
)
@click.command("stats", short_help="Count facts, writes and reads.")
@click.option("--days", type=click.IntRange(1, 3_650), default=7, show_default=True, help="Days that are counted.")
@add_list_options(STATS)
@add_common_options
@pass_settings
def stats_command(settings: CommandSettings, days: int) -> None:
    """Count the facts of each theme by tier and type, what was written and given, and how many were never read.

    Below stand the facts that sessions were given: how often, in how many of them what was said or done used the fact, and in how
    many an act contradicted it, such as another port. With --json, all of them as `uses`.
    """
    with settings.store() as store:
        only_theme = settings.confining_theme(store)
        rows = [row for row in count_themes(store, days) if only_theme in (None, row["theme"])]
        uses = store.fact_uses.list(only_theme, limit=-1 if settings.as_json else USES_SHOWN)
    if settings.as_json:
        members = "uid theme target given used contradicted"
        print_document({"days": days, "themes": rows, "uses": [to_members(use, members) for use in uses]})
        return
    print_rows(settings, STATS, rows)
    for use in () if settings.is_tabular else uses:
        counts = f"given {use.given}, used {use.used}, contradicted {use.contradicted}"
        print_hanging(f"{short_uid(use.uid)}  ", f"{to_printable(use.theme)} {to_printable(use.target)}: {counts}")


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
