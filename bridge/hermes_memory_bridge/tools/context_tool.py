"""`memory_context`: context that a host adds to a message, in one call and within a budget.

Does what hermes-agent's prefetch does. Facts first, then captured messages. The text is fenced as data, and empty
when nothing is relevant: a host may pass it on as it is. A message is plain language: nothing in it is read as a
filter, a phrase or an excluded word.
"""

from __future__ import annotations

import re

from hermes_memory_bridge.recall import hybrid
from hermes_memory_bridge.toolkit.arguments import Arguments, parse_integer_argument, parse_text_argument
from hermes_memory_bridge.toolkit.connection import Connection
from hermes_memory_bridge.toolkit.fence import HEAD, MARK, format_fenced_text
from hermes_memory_bridge.toolkit.tool_results import ToolResult
from hermes_memory_bridge.toolkit.tool_spec import WHOLE, ToolSpec
from hermes_memory_store.notation.token_estimate import estimate_tokens

MOST_CHARS = 4_000
"""Of a message that are looked at."""

LEAST, MOST = 60, 4_000
"""Tokens a host may ask for: the fence alone takes some thirty."""

FACTS, TURNS = 20, 6
"""Of each kind at most."""

SHOWN = 400
"""Characters of a turn: enough to know whether to recall it whole."""

FOR_FACTS = 0.75
"""Part of the budget that facts may take before turns have had theirs."""


def memory_context(connection: Connection, arguments: Arguments) -> ToolResult:
    """Return what is relevant to a message, as one text."""
    message, theme = parse_text_argument(arguments, "message"), connection.theme
    standard = max(LEAST, connection.store.policies.for_theme(theme).injection_tokens)
    budget = parse_integer_argument(arguments, "tokens", standard, least=LEAST, most=MOST)
    session = connection.session(arguments)
    query = to_plain_words(message)
    recalled = hybrid.recall_facts(connection, [theme], query, FACTS, session=session, record=False) if query else None
    found = [] if recalled is None else recalled.facts
    heard = hybrid.recall_turns(connection, [theme], query, TURNS) if query else []
    room = TokenBudget(budget)
    given = [one.marked for one in found if room.take(one.marked.line, budget * (FOR_FACTS if heard else 1.0))]
    turns = [one.turn for one in heard if room.take(format_turn_line(one.turn.role, one.turn.content), budget)]
    given += [one.marked for one in found if one.marked not in given and room.take(one.marked.line, budget)]
    facts = [one.fact for one in given]
    connection.store.search.note("context", theme, facts, session=session, why=message)
    lines = [*(one.line for one in given), *(format_turn_line(turn.role, turn.content) for turn in turns)]
    whole = format_fenced_text("\n".join(lines)) if lines else ""
    data = {
        "facts": [fact.uid for fact in facts],
        "turns": [turn.uid for turn in turns],
        "tokens": estimate_tokens(whole) if whole else 0,
        "ranked_by": hybrid.format_ranking_methods(connection),
    }
    if recalled is not None and recalled.held_note is not None:
        data["held"] = recalled.held_note
    return ToolResult(whole, data)


def to_plain_words(message: object) -> str:
    """Return the plain words of a message, with nothing of the search language."""
    return (
        " ".join(re.sub(r"""["“”„«»:]|(?<!\S)-+""", " ", message[:MOST_CHARS]).split())
        if isinstance(message, str)
        else ""
    )


class TokenBudget:
    """The remainder of a token budget."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.used = estimate_tokens(HEAD) + 1

    def take(self, line: str, most: float) -> bool:
        """Reserve the tokens of one line if the total stays below `most`.

        A line that is too long leaves its share to shorter ones after it.
        """
        cost = estimate_tokens(MARK + line) + 1
        if self.used + cost > min(most, self.budget):
            return False
        self.used += cost
        return True


def format_turn_line(role: str, content: str) -> str:
    """Format a turn on one line, shortened."""
    words = " ".join(content.split())
    return f"{role}: {words}" if len(words) <= SHOWN else f"{role}: {words[:SHOWN].rstrip()} …"


SPEC = ToolSpec(
    name="memory_context",
    title="Context for a message",
    description=(
        "For hosts: facts and past turns that answer a message, as one fenced text within a budget of tokens; empty when none."
    ),
    arguments={
        "message": {"type": "string"},
        "tokens": {"type": WHOLE, "description": f"{LEAST}-{MOST}; the theme's injection budget unless given"},
        "session_id": {"type": "string"},
    },
    required=("message",),
    gives={
        "facts": {"type": "array", "items": {"type": "string"}},
        "turns": {"type": "array", "items": {"type": "string"}},
        "tokens": {"type": "integer"},
        "ranked_by": {"type": "string"},
    },
    handler=memory_context,
    query_to_embed=lambda arguments: to_plain_words(arguments.get("message")),
    about="message",
    reads_only=True,
    repeatable=True,
    group="all",
)
