"""`why`: the facts that an agent's words most likely came from."""

from __future__ import annotations

import sys
from typing import Any

import click

from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.errors import ArgumentError
from hermes_memory_store.journal.saying_sources import Saying, SayingExplanation, SayingSource, explain_saying
from hermes_memory_store.safe_text import to_printable
from hermes_memory_store.uids import short_uid
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import fact_json, print_document
from hermes_memory_tui.cli.terminal_output import format_quantity, print_hanging


@add_examples(
    ("why the database uses UUID", "the facts these words of an agent came from"),
    ("why --session claude-code we deploy on Friday", "as that session was given them"),
    ("why --json the database uses UUID", "with the change that wrote each fact, which undo --change takes"),
)
@click.command("why", short_help="Find what an agent's words came from.")
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@click.option("--session", metavar="NAME", help="Who said it: a session's name, title or client.")
@click.option("--limit", "-n", type=click.IntRange(1, 100), default=12, show_default=True)
@add_common_options
@pass_settings
def why_command(settings: CommandSettings, words: tuple[str, ...], session: str | None, limit: int) -> None:
    """Find the facts that an agent's words most likely came from, in the wording of that moment.

    TEXT is what it said, or - to read it. Where it is part of a captured message, that says who said it, and when.
    """
    text = sys.stdin.read() if words == ("-",) else " ".join(words)
    if not text.strip():
        raise ArgumentError("there is nothing to explain; give the agent's words", text)
    with settings.store() as store:
        theme = settings.confining_theme(store)
        if session is not None:
            session_row = store.sessions.find(session, theme=theme)
            saying = Saying(text, session_row.theme, session_row.name)
        else:
            saying = Saying(text, theme)
        explanation = explain_saying(store, saying, limit=limit)
    if settings.as_json:
        print_document(explanation_json(explanation))
    else:
        print_explanation(explanation)


def print_explanation(explanation: SayingExplanation) -> None:
    """Print the facts, the most likely first, and what nothing explains."""
    saying = explanation.saying
    if saying.session is None:
        click.echo("No captured message has this text: who said it is not known.")
    elif saying.at is not None:
        records = explanation.contexts[:1]
        title = next(
            (record.title for record in (explanation.turn, *records) if record is not None and record.title),
            saying.session,
        )
        click.echo(f"Said by {to_printable(title)} at {format_iso_time(saying.at)[:19].replace('T', ' ')}.")
    for place, source in enumerate(explanation.sources, 1):
        print_hanging(f"{place:>3}  {short_uid(source.fact.uid)}  ", to_printable(source.then.notation))
        shared = ", ".join(source.words)
        print_hanging(" " * 5, to_printable(f"{describe_source(source)}; shares {shared}"))
    if not explanation.sources:
        click.echo("Nothing in this memory shares rare words with it.")
    if explanation.unknown:
        print_hanging("nothing here has: ", to_printable(", ".join(explanation.unknown)))
    if explanation.purged:
        click.echo(f"{format_quantity(explanation.purged, 'fact')} that it was given were purged since.")


def describe_source(source: SayingSource) -> str:
    """Say whether the session was given a fact, which change wrote it, and whether it still says so."""
    if source.given is not None:
        origin = f"given {format_iso_time(source.given.at)[:16].replace('T', ' ')}"
    else:
        origin = "written by the session" if source.is_own else "not given before, as far as is recorded"
    since = "" if source.then.is_current else "; changed since"
    return f"{origin}; change {source.then.wrote.change} by {source.then.wrote.actor.title or source.then.wrote.actor}{since}"


def explanation_json(explanation: SayingExplanation) -> dict[str, Any]:
    saying = explanation.saying
    return {
        "session": saying.session,
        "said_at": None if saying.at is None else format_iso_time(saying.at),
        "turn": None if explanation.turn is None else explanation.turn.uid,
        "sources": [
            {
                "likelihood": round(source.likelihood, 3),
                "notation_then": source.then.notation,
                "is_current": source.then.is_current,
                "words": list(source.words),
                "given_at": None if source.given is None else format_iso_time(source.given.at),
                "is_own": source.is_own,
                "change": source.then.wrote.change,
                "fact": fact_json(source.fact),
            }
            for source in explanation.sources
        ],
        "unknown": list(explanation.unknown),
        "contexts": len(explanation.contexts),
        "purged": explanation.purged,
    }
