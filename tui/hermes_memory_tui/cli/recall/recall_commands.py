"""`recall`: what an agent is given for a question, and how much of what answers is given at which budget."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from hermes_memory_store.context.given import NOTHING_TOUCHES, Given, GivenItem
from hermes_memory_store.find.question_gate import is_touched
from hermes_memory_store.find.recall import is_plain_question, list_session_hits
from hermes_memory_store.memory_tests.case_file import read_case_file
from hermes_memory_store.memory_tests.case_run import CaseRunner
from hermes_memory_store.memory_tests.evidence_curve import BUDGETS, RecallCurve, measure_curve, to_questions
from hermes_memory_store.safe_text import to_printable
from hermes_memory_tui.cli.command_examples import add_examples
from hermes_memory_tui.cli.common_options import CommandSettings, add_common_options, pass_settings
from hermes_memory_tui.cli.json_documents import print_document
from hermes_memory_tui.cli.local_meaning import find_by_meaning
from hermes_memory_tui.cli.memory.conversation_commands import print_sessions
from hermes_memory_tui.cli.query_arguments import QueryCommand, join_query
from hermes_memory_tui.cli.recall.memory_test_command import require_case_file
from hermes_memory_tui.cli.table_output import Listing, add_list_options, print_rows
from hermes_memory_tui.cli.terminal_output import format_quantity

TOKENS = click.IntRange(20, 1_000_000)

BAR_COLUMNS = 20

KINDS = {"facts": ("fact",), "turns": ("turn",), "both": ("fact", "turn")}


GIVEN_ITEMS = Listing(
    fields=("uid", "kind", "line", "tokens", "score", "reasons"), shown=("uid", "kind", "tokens", "score", "line")
)


@add_examples(
    ("recall ask --tokens 180 --why which database do we use", "what an agent would be given for a question"),
    ("recall curve memory-tests.toml", "how much of what answers is given"),
)
@click.group("recall", short_help="Ask as an agent is answered, and measure it.")
@add_common_options
def recall_command() -> None:
    """Ask as an agent is answered, and measure how much of what answers is given."""


@add_examples(
    ("recall ask which database do we use", "within the budget of the theme"),
    ("recall ask --tokens 90 -o table which database do we use", "as a table"),
)
@recall_command.command("ask", cls=QueryCommand, short_help="Show what an agent is given for a question.")
@click.argument("question", nargs=-1, required=True)
@click.option("--tokens", type=TOKENS, help="The budget.  [default: the theme's injection_tokens]")
@click.option("--kind", type=click.Choice(list(KINDS)), default="both", show_default=True)
@click.option("--why", "show_reasons", is_flag=True, help="Show what ranked each, and what was left out.")
@add_list_options(GIVEN_ITEMS)
@add_common_options
@pass_settings
def recall_ask_command(
    settings: CommandSettings, question: tuple[str, ...], tokens: int | None, kind: str, show_reasons: bool
) -> None:
    """Show the facts and messages that QUESTION is answered with, packed into a budget of tokens."""
    with settings.store() as store, find_by_meaning(store) as make_nearest:
        theme = settings.reading_theme(store)
        budget = store.policies.for_theme(theme).injection_tokens if tokens is None else tokens
        line = join_query(question)
        answer = store.recall.give(
            [theme, *settings.other_themes(store, theme)],
            line,
            budget,
            kinds=KINDS[kind],
            nearest=None if make_nearest is None else make_nearest(line),
            ranked_by=None if make_nearest is None else make_nearest.ranked_by,
            explains=settings.as_json or show_reasons,
        )
        answering = [item.turn for item in answer.items if is_answer(item, line)]
        sessions = list_session_hits(store.host_sessions, answering, line)
    if settings.as_json:
        beside = {"by_session": [hit.to_data() for hit in sessions]} if sessions else {}
        print_document(given_json(answer, budget) | beside)
        return
    if settings.is_tabular:
        print_rows(settings, GIVEN_ITEMS, map(item_json, answer.items))
    else:
        print_sessions(sessions)
        print_given(answer, show_reasons)
    if not answer.items:
        click.echo(NOTHING_TOUCHES, err=True)
    click.echo(f"{answer.tokens} of {budget} tokens, by {answer.ranked_by}", err=True)
    if answer.note:
        click.echo(f"note: {answer.note}", err=True)


def is_answer(item: GivenItem, question: str) -> bool:
    """Check whether a turn answers by itself, by its words or its meaning: beside a fact that does, any may be given."""
    is_near = any(reason.name == "meaning" for reason in item.reasons) or not is_plain_question(question)
    return item.turn is not None and (is_near or is_touched(question, [("", item.turn.content)]))


def print_given(answer: Given, show_reasons: bool) -> None:
    """Print what is given, and with `show_reasons` what was left out."""
    for item in answer.items:
        print_item(item, show_reasons)
    if show_reasons and answer.left_out:
        click.echo("\nleft out:")
        for item in answer.left_out[:10]:
            print_item(item, show_reasons)


def print_item(item: GivenItem, show_reasons: bool) -> None:
    click.echo(to_printable(item.line))
    if show_reasons:
        reasons = ", ".join(f"{reason.name} {reason.value:+.2f}" for reason in item.reasons)
        click.echo(f"    {item.score:.3f} for {format_quantity(item.tokens, 'token')}: {reasons}")


def given_json(answer: Given, budget: int) -> dict[str, Any]:
    return {
        "items": [item_json(item) for item in answer.items],
        "left_out": [item_json(item) for item in answer.left_out],
        "tokens": answer.tokens,
        "budget": budget,
        "ranked_by": answer.ranked_by,
        **({} if answer.note is None else {"note": answer.note}),
    }


def item_json(item: GivenItem) -> dict[str, Any]:
    return {
        "uid": item.uid,
        "kind": "fact" if item.fact is not None else "turn",
        "line": item.line,
        "tokens": item.tokens,
        "score": round(item.score, 4),
        "reasons": {reason.name: round(reason.value, 4) for reason in item.reasons},
    }


@recall_command.command("curve", short_help="Measure how much of what answers is given at which budget.")
@click.argument("file", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--budget", "budgets", type=TOKENS, multiple=True, help=f"Tokens; again for more.  [default: {BUDGETS}]")
@click.option("--words", is_flag=True, help="Rank by words alone, without the model on this machine.")
@add_common_options
@pass_settings
def curve_command(settings: CommandSettings, file: Path | None, budgets: tuple[int, ...], words: bool) -> None:
    """Measure how much of what answers is given at 90, 180, 500 and 2,048 tokens, how fast, and the area below.

    Answer words are those of what must be given that the question does not have; evidence counts a message as far as its text is
    given, told as soon as any part of it is.

    FILE is a memory-tests.toml, whose tests are asked of the store: the one that `test` takes unless given.
    """
    case_file = read_case_file(file or require_case_file(settings.path()))
    with settings.store() as store, find_by_meaning(store, by_words=words) as nearest:
        questions = to_questions(CaseRunner(store, settings.reading_theme(store), nearest), case_file.cases)
        curve = measure_curve(case_file.path.name, questions, sorted(set(budgets)) or BUDGETS)
    if settings.as_json:
        print_document(curve_json(curve))
    else:
        print_curve(curve)


def print_curve(curve: RecallCurve) -> None:
    click.echo(
        f"{'tokens':>7}  {'answer words':<{BAR_COLUMNS + 8}}{'all of them':>12}{'evidence':>10}{'told':>8}", nl=False
    )
    click.echo(f"{'spent':>7}{'p50':>9}{'p95':>9}")
    for point in curve.points:
        shares = point.shares
        bar = "█" * round(shares.answer_words * BAR_COLUMNS)
        click.echo(f"{point.budget:>7,}  {bar:<{BAR_COLUMNS}} {shares.answer_words:6.1%} ", nl=False)
        click.echo(f"{shares.all_words:12.1%}{shares.evidence:10.1%}{shares.told:8.1%}", nl=False)
        click.echo(f"{point.spent:>7,.0f}{point.p50_ms:>6.1f} ms{point.p95_ms:>6.1f} ms")
    click.echo(f"{'area':>7}  {curve.area:.3f}  over {curve.cases:,} questions")


def curve_json(curve: RecallCurve) -> dict[str, Any]:
    return {
        "name": curve.name,
        "questions": curve.cases,
        "area": round(curve.area, 4),
        "points": [
            {
                "tokens": point.budget,
                **{name: round(share, 4) for name, share in asdict(point.shares).items()},
                "spent": round(point.spent, 1),
                "p50_ms": round(point.p50_ms, 3),
                "p95_ms": round(point.p95_ms, 3),
            }
            for point in curve.points
        ],
    }
