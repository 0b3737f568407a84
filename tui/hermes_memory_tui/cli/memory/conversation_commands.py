"""`turns`: search or purge captured conversations."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time, parse_duration, system_clock
from hermes_memory_store.compact_json import to_members
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.find.recall import SessionHit, list_session_hits
from hermes_memory_store.model import Turn
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import origin_json, print_document
from hermes_memory_tui.cli.memory.ranked_search import search_turns
from hermes_memory_tui.cli.table_output import (
    ORIGIN_FIELDS,
    Listing,
    add_list_options,
    after_option,
    print_cursor,
    print_rows,
)
from hermes_memory_tui.cli.terminal_output import format_quantity

SHOWN = 160
"""Characters of a turn that a line shows."""


TURNS = Listing(
    fields=("uid", "theme", "session", "session_title", "role", "content", "at", "score", "origin", *ORIGIN_FIELDS),
    shown=("uid", "at", "session_title", "role", "content"),
)


@add_examples(
    ("turns friday", "messages that speak of something"),
    ("turns --session claude-code --limit 100 -o jsonl", "what was said in a session"),
)
@click.command("turns", short_help="List, search or purge captured messages.")
@click.argument("query", required=False)
@click.option(
    "--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="Maximum number of messages."
)
@click.option(
    "--session", metavar="NAME", help="Only this session: its name, title or client, or a beginning that only it has."
)
@after_option("UID", "The page that follows this message, as the page before it says.")
@click.option("--fact", metavar="UID", help="Only the messages that this fact was written from, whole.")
@click.option("--purge", is_flag=True, help="Purge them instead. Cannot be undone.")
@click.option("--older-than", metavar="AGE", help="With --purge: only messages older than this, e.g. 30d.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@add_list_options(TURNS)
@add_common_options
@pass_settings
def turns_command(
    settings: CommandSettings,
    query: str | None,
    limit: int,
    session: str | None,
    after: str | None,
    fact: str | None,
    purge: bool,
    older_than: str | None,
    yes: bool,
) -> None:
    """List captured messages, newest first, or search them for QUERY, best match first.

    With --purge they are purged, which cannot be undone.
    """
    if purge:
        if query or session or fact or after:
            raise ArgumentError(
                "--purge selects messages by age only; leave QUERY, --session, --fact and --after out",
                query or session or fact or after,
            )
        purge_conversations(settings, 0 if older_than is None else parse_duration(older_than), yes)
        return
    if older_than is not None:
        raise ArgumentError("--older-than requires --purge", older_than)
    if fact is not None and (query or session):
        raise ArgumentError("--fact lists the messages of one fact; leave QUERY and --session out", query or session)
    if after is not None and (query or fact):
        raise ArgumentError("--after goes on with a list of all messages; leave QUERY and --fact out", query or fact)
    with settings.store() as store:
        theme = settings.reading_theme(store)
        cursor = None
        session = None if session is None else store.sessions.find(session, theme=theme).name
        matches: list[tuple[Turn, float | None]]
        ranked_by = ""
        sessions: list[SessionHit] = []
        if fact is not None:
            note = None
            origin = store.facts.get(fact, theme=settings.confining_theme(store)).origin
            matches = [(turn, None) for turn in store.turns.by_uids(origin.turns)]
        elif query:
            matches, ranked_by = search_turns(store, theme, query, limit=limit, session=session)
            note = store.turns.note()
            sessions = list_session_hits(store.host_sessions, [turn for turn, _ in matches], query)
        else:
            note = None
            page = store.turns.list(theme, session=session, after=after, limit=limit)
            matches = [(turn, None) for turn in page]
            if len(page) == limit and store.turns.list(theme, session=session, after=page[-1].uid, limit=1):
                cursor = page[-1].uid
    if settings.as_json:
        beside = {name: value for name, value in (("ranked_by", ranked_by), ("note", note), ("next", cursor)) if value}
        by_session = {"by_session": [hit.to_data() for hit in sessions]} if sessions else {}
        listed = [conversation_turn_json(turn, score) for turn, score in matches]
        print_document({"turns": listed, **beside, **by_session})
        return
    if note is not None:
        click.echo(f"note: {note}", err=True)
    if settings.is_tabular:
        print_rows(settings, TURNS, (conversation_turn_json(turn, score) for turn, score in matches))
    else:
        print_sessions(sessions)
    for turn, _ in () if settings.is_tabular else matches:
        text = to_printable(" ".join(turn.content.split()))
        shown = text if fact is not None or len(text) <= SHOWN else f"{text[:SHOWN]}…"
        click.echo(f"{format_iso_time(turn.at)}  {turn.role:<9}  {shown}")
    if not matches:
        click.echo("no captured messages" if not query else "no matching messages", err=True)
    if cursor is not None:
        print_cursor(cursor)


def print_sessions(hits: Sequence[SessionHit]) -> None:
    """Print a line for each session, and below it how its host goes on with it."""
    from hermes_memory_tui.text.display_formats import format_age  # here, not above: it imports rich

    for hit in hits:
        place = ", ".join(filter(None, (hit.host, hit.project, format_age(hit.at, system_clock()))))
        click.echo(f"{to_printable(place)}: {to_printable(hit.sentence)}")
        click.echo(f"    {hit.resume or to_printable(hit.session)}")
    if hits:
        click.echo()


def conversation_turn_json(turn: Turn, score: float | None) -> dict[str, Any]:
    return {
        **to_members(turn, "uid theme session role content"),
        "at": format_iso_time(turn.at),
        "score": score,
        "session_title": turn.title,
        "origin": origin_json(turn.origin),
    }


def purge_conversations(settings: CommandSettings, older_than_ms: int, yes: bool) -> None:
    from hermes_memory_bridge.connect.terminal_prompt import confirm_on_terminal

    with settings.store(writing=True) as store:
        theme = settings.reading_theme(store)
        count = store.turns.count(theme, older_than_ms=older_than_ms)
        actions = store.turns.count_actions(theme, older_than_ms=older_than_ms)
        quantity = format_quantity(count, "message") + (f" and {format_quantity(actions, 'action')}" if actions else "")
        reach = " on all machines of the team" if store.shared_turns.is_known_to_team(theme) else ""
        if (count or actions) and not yes:
            if not sys.stdin.isatty():
                raise ArgumentError(
                    f"{quantity} would be purged{reach}; pass --yes to skip the confirmation",
                    count,
                )
            if not confirm_on_terminal(
                f"Purge {quantity} of theme {theme!r}{reach}? This cannot be undone.",
                sys.stderr,
            ):
                raise ArgumentError("not confirmed; nothing was purged")
        erased, unreached = store.turns.erase(theme, older_than_ms=older_than_ms) if count or actions else (0, ())
    if settings.as_json:
        print_document({"purged": erased, "actions": actions, "unreached": list(unreached)})
        return
    click.echo(f"{quantity} of theme {theme!r} purged")
    for copy in unreached:
        click.echo(f"not removed from a backup that could not be opened: {to_printable(copy)}", err=True)
