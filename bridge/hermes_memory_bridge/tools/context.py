"""`memory_context`: what a host adds to a message by itself, in one call and within a budget, as hermes-agent's prefetch does.

Facts first, then what was said. The text is fenced as data, and empty when nothing answers: a host may pass it on as it is.
A message is plain language: what looks like a filter, a phrase or an excluded word in it is none.
"""

from __future__ import annotations

import re

from hermes_memory_bridge import recall
from hermes_memory_bridge.answers import Answer
from hermes_memory_bridge.arguments import Arguments, integer, text
from hermes_memory_bridge.connection import Connection
from hermes_memory_bridge.fence import HEAD, MARK, fenced
from hermes_memory_bridge.tools.spec import WHOLE, ToolSpec
from hermes_memory_store.tokens import estimate

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


def memory_context(connection: Connection, arguments: Arguments) -> Answer:
    """What answers a message, as one text."""
    message, theme = text(arguments, "message"), connection.theme
    standard = max(LEAST, connection.store.policies.for_theme(theme).injection_tokens)
    budget = integer(arguments, "tokens", standard, least=LEAST, most=MOST)
    session = connection.session(arguments)
    asked = plain(message)
    found = recall.facts(connection, [theme], asked, FACTS, session=session, record=False) if asked else []
    said = recall.turns(connection, [theme], asked, TURNS) if asked else []
    room = Room(budget)
    facts = [one.fact for one in found if room.take(one.fact.notation, budget * (FOR_FACTS if said else 1.0))]
    turns = [one.turn for one in said if room.take(line_of(one.turn.role, one.turn.content), budget)]
    facts += [one.fact for one in found if one.fact not in facts and room.take(one.fact.notation, budget)]
    connection.store.search.note("context", theme, facts, session=session, why=message)
    lines = [*(fact.notation for fact in facts), *(line_of(turn.role, turn.content) for turn in turns)]
    whole = fenced("\n".join(lines)) if lines else ""
    data = {
        "facts": [fact.uid for fact in facts],
        "turns": [turn.uid for turn in turns],
        "tokens": estimate(whole) if whole else 0,
        "ranked_by": recall.ranked_by(connection),
    }
    return Answer(whole, data)


def plain(message: object) -> str:
    """A message as words alone, nothing of it in the search language."""
    return (
        " ".join(re.sub(r"""["“”„«»:]|(?<!\S)-+""", " ", message[:MOST_CHARS]).split())
        if isinstance(message, str)
        else ""
    )


class Room:
    """What is left of a budget of tokens."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.spent = estimate(HEAD) + 1

    def take(self, line: str, most: float) -> bool:
        """Take the room of one line, if it fits below `most` in all; a long one leaves its room to shorter ones after it."""
        cost = estimate(MARK + line) + 1
        if self.spent + cost > min(most, self.budget):
            return False
        self.spent += cost
        return True


def line_of(role: str, content: str) -> str:
    """A turn on one line, shortened."""
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
    meant=lambda arguments: plain(arguments.get("message")),
    about="message",
    reads_only=True,
    repeatable=True,
    group="all",
)
