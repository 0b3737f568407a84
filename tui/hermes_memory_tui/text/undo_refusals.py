"""Why an undo is refused, in words for the screen: without whole uids and columns, and with the keys that help."""

from __future__ import annotations

import re

from hermes_memory_store.items.kinds import FACT, SCOPE
from hermes_memory_store.operations import OPERATIONS
from hermes_memory_store.uids import short_uid

PHRASES = {
    attribute.name: attribute.phrase for kind in (FACT, SCOPE) for attribute in kind.attributes if attribute.phrase
}
"""Attributes of a fact or a scope as a person knows them."""

FOLLOWED = re.compile(
    r"change (?P<change>\d+) was followed by change (?P<later>\d+) of the same (?:fact|scope), "
    r"(?P<name>.+?) \((?P<what>[a-z_ ]+(?:, [a-z_ ]+)*)\); undo (?P=later) first"
)

NO_LONGER = re.compile(
    r"is no longer as change (?P<change>\d+) left it \((?P<columns>[a-z_]+(?:, [a-z_]+)*)\); change it by hand"
)

FROM_TEAM = "from the team"

UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

UID_AFTER_NAME = re.compile(rf"(?<=\]) \({UID.pattern}\)")

UNDO_FIRST = re.compile(r"\bundo (\d+) first")

JOURNAL_KEY = "6"


def format_refusal(message: str) -> str:
    """Return a refusal of an undo as the screen says it; what is not known to need it stays as it is.

    >>> format_refusal("change 5 was followed by change 6 of the same fact, V[port] (content); undo 6 first")
    'V[port]: change 6 changed its content again after change 5. Undo change 6 first: 6, and U on #6'
    """
    text = UID_AFTER_NAME.sub("", message)
    text = FOLLOWED.sub(
        lambda match: (
            f"{match['name']}: change {match['later']} {deed_in_words(match['what'])} after "
            f"change {match['change']}. Undo change {match['later']} first: {JOURNAL_KEY}, and U on #{match['later']}"
        ),
        text,
    )
    text = NO_LONGER.sub(
        lambda match: (
            f"is no longer as change {match['change']} left it: {columns_in_words(match['columns'])} changed since. "
            "Change it by hand"
        ),
        text,
    )
    text = UNDO_FIRST.sub(rf"undo change \1 first: {JOURNAL_KEY}, and U on #\1", text)
    return UID.sub(lambda match: short_uid(match[0]), text)


def deed_in_words(change: str) -> str:
    """Return what a later change did, from the columns or the operation in a refusal: `changed its content again`."""
    if change == FROM_TEAM:
        return "brought it from the team"
    operation = OPERATIONS.get(change)
    return f"changed {columns_in_words(change)} again" if operation is None else f"{operation.did or operation.done} it"


def columns_in_words(columns: str) -> str:
    """Return columns in words, each once: `its content and its tier`."""
    *words, last = dict.fromkeys(PHRASES.get(column, column.replace("_", " ")) for column in columns.split(", "))
    return f"{', '.join(words)} and {last}" if words else last
