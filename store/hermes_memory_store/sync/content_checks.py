"""Content checks that versions from other machines pass before anything of them is shown.

The syncing program looks for instructions and secrets, since the store knows no such rules. Its findings are kept
with the version, so that any program that shows the version later, without such checks, respects them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hermes_memory_store import errors, uids
from hermes_memory_store.database.db import Db
from hermes_memory_store.model import ScopeStatus
from hermes_memory_store.rows.name_keys import Names
from hermes_memory_store.sync.row_validation import find_row_fault
from hermes_memory_store.sync.wire_format import LIVE, CheckedVersion, SyncRow

SOURCE = "team"
"""The source of what comes from other machines: what a person rules about it holds for all of them."""


class ContentCheck(Protocol):
    """Check texts from another machine by the policy of their theme."""

    def name(self, theme: str, what: str, name: str) -> None:
        """Check a name. :raises StoreError: a target or scope that must not be listed, with the reason"""

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        """Check a content. :raises StoreError: it must not be shown in any form, with the reason"""

    def turn(self, theme: str, content: str) -> str:
        """Return a captured turn as it may be kept here. :raises StoreError: it may not, with the reason"""


class NoContentCheck:
    """Accept everything."""

    def name(self, theme: str, what: str, name: str) -> None: ...

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        return CheckedVersion()

    def turn(self, theme: str, content: str) -> str:
        return content


UNCHANGED = CheckedVersion()

FACT_IS_STANDING = "SELECT 1 FROM facts WHERE uid = ? AND theme_id = ? AND tier NOT IN ('withdrawn', 'quarantined')"


def check_versions(
    db: Db, names: Names, screen: ContentCheck, theme: str, rows: Sequence[SyncRow]
) -> Iterator[CheckedVersion]:
    """Check each version; a malformed one is kept aside unchecked.

    Not inside a transaction: a keyring may take its time. A name that already exists here was admitted by somebody,
    and is not held against new versions.
    """
    theme_id = names.theme_or_none(theme)
    passed: dict[str, str | None] = {}

    def refusal(label: str | None) -> str | None:
        if label is None:
            return None
        if label not in passed:
            key = names.scope_or_none(theme_id, label) if theme_id is not None else None
            known = key is not None and key.status != ScopeStatus.WITHDRAWN
            passed[label] = None if known else find_name_refusal(screen, theme, "the scope", label)
        return passed[label]

    for row in rows:
        fault = find_row_fault(row)
        if fault is not None or row.state != LIVE:
            yield CheckedVersion(aside=fault) if fault else UNCHANGED
        elif row.kind == "scope":
            yield CheckedVersion(aside=refusal(str(row.content)))
        else:
            yield check_fact_version(screen, row, refusal(row.attrs["scope"]), db, theme_id)


def check_fact_version(
    screen: ContentCheck, row: SyncRow, scope: str | None, db: Db, theme_id: int | None
) -> CheckedVersion:
    target = row.attrs["target"]
    if scope is None:
        scope = find_name_refusal(screen, row.theme, "the target", target)
    if scope is not None and not db.value(FACT_IS_STANDING, (uids.parse_uid(row.uid), theme_id)):
        return CheckedVersion(aside=scope)
    try:
        return screen.content(row.theme, target, str(row.content))
    except errors.StoreError as error:
        return CheckedVersion(aside=error.message)


def find_name_refusal(screen: ContentCheck, theme: str, what: str, name: str) -> str | None:
    """Find the reason why a name must not be listed; None when it may."""
    try:
        screen.name(theme, what, name)
    except errors.StoreError as error:
        return error.message
    return None
