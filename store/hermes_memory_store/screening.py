"""The screens that versions from other machines pass before anything of them is shown.

What looks like an instruction or a secret is found by whoever syncs, since the store knows no such rules. What they found
is kept with the version, so that any program that shows the version later, and knows no screens, heeds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hermes_memory_store import errors, uids
from hermes_memory_store.db import Db
from hermes_memory_store.malformed import why_not_whole
from hermes_memory_store.model import ScopeStatus
from hermes_memory_store.names import Names
from hermes_memory_store.travelling import LIVE, Screened, SyncRow

SOURCE = "team"
"""The source of what comes from other machines: what a person rules about it holds for all of them."""


class Screen(Protocol):
    """Looks at what another machine said, by the policy of its theme."""

    def name(self, theme: str, what: str, name: str) -> None:
        """:raises StoreError: a target or scope that must not be listed, with the reason"""

    def content(self, theme: str, target: str, content: str) -> Screened:
        """:raises StoreError: a content that must not be shown in any form, with the reason"""

    def turn(self, theme: str, content: str) -> str:
        """A captured turn as it may be kept here. :raises StoreError: it may not, with the reason"""


class NoScreen:
    """Lets everything pass."""

    def name(self, theme: str, what: str, name: str) -> None: ...

    def content(self, theme: str, target: str, content: str) -> Screened:
        return Screened()

    def turn(self, theme: str, content: str) -> str:
        return content


NOTHING = Screened()

STANDS = "SELECT 1 FROM facts WHERE uid = ? AND theme_id = ? AND tier NOT IN ('withdrawn', 'quarantined')"


def screened(db: Db, names: Names, screen: Screen, theme: str, rows: Sequence[SyncRow]) -> Iterator[Screened]:
    """What the screens make of each version; one that is malformed is kept aside before they look at it.

    Not inside a transaction: a keyring may take its time.

    A name that stands here already was let in by somebody, and is not held against what comes for it.
    """
    theme_id = names.theme_or_none(theme)
    passed: dict[str, str | None] = {}

    def refusal(label: str | None) -> str | None:
        if label is None:
            return None
        if label not in passed:
            key = names.scope_or_none(theme_id, label) if theme_id is not None else None
            known = key is not None and key.status != ScopeStatus.WITHDRAWN
            passed[label] = None if known else refused(screen, theme, "the scope", label)
        return passed[label]

    for row in rows:
        fault = why_not_whole(row)
        if fault is not None or row.state != LIVE:
            yield Screened(aside=fault) if fault else NOTHING
        elif row.kind == "scope":
            yield Screened(aside=refusal(str(row.content)))
        else:
            yield of_fact(screen, row, refusal(row.attrs["scope"]), db, theme_id)


def of_fact(screen: Screen, row: SyncRow, scope: str | None, db: Db, theme_id: int | None) -> Screened:
    target = row.attrs["target"]
    if scope is None:
        scope = refused(screen, row.theme, "the target", target)
    if scope is not None and not db.value(STANDS, (uids.to_bytes(row.uid), theme_id)):
        return Screened(aside=scope)
    try:
        return screen.content(row.theme, target, str(row.content))
    except errors.StoreError as error:
        return Screened(aside=error.message)


def refused(screen: Screen, theme: str, what: str, name: str) -> str | None:
    """Why a name must not be listed; None: it may."""
    try:
        screen.name(theme, what, name)
    except errors.StoreError as error:
        return error.message
    return None
