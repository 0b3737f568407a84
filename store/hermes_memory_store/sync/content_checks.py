"""Content checks that versions from other machines pass before anything of them is shown.

The findings are kept with the version, so that any program that shows the version later respects them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from hermes_memory_store import errors, uids
from hermes_memory_store.conversations.turn_rows import PortableTurn, admit_turn
from hermes_memory_store.database.db import Db
from hermes_memory_store.intake.intake import AdmittedTurn, Intake, Writer
from hermes_memory_store.intake.spans import MARK
from hermes_memory_store.items.name_keys import Names
from hermes_memory_store.model import ScopeStatus
from hermes_memory_store.sync.standing import is_uncurated
from hermes_memory_store.sync.wire_format import (
    LIVE,
    NAMES_IN_FACT,
    UNCHANGED,
    CheckedVersion,
    SyncRow,
    canonical_text_digest,
    find_row_fault,
)

SOURCE = "team"
"""The source of what comes from other machines: what a person rules about it holds for all of them."""


class ContentCheck(Protocol):
    """Check texts from another machine by the policy of their theme."""

    def name(self, theme: str, what: str, name: str) -> None:
        """Check a name. :raises StoreError: a target or scope that must not be listed, with the reason"""

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        """Check a content. :raises StoreError: it must not be shown in any form, with the reason"""

    def reveal(self, theme: str, masked: str) -> str:
        """Return a content with the secrets that are kept here. :raises VaultError: the vault does not answer"""

    def turn(self, theme: str, turn: PortableTurn) -> AdmittedTurn:
        """Return a captured turn as it may be kept here. :raises StoreError: it may not, with the reason"""


class IntakeCheck:
    """Check texts from another machine as an agent's writes on this one, by a person's rule on the source `team`.

    Another machine may have a laxer policy, an older program, or somebody else at its keyboard.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake

    def name(self, theme: str, what: str, name: str) -> None:
        self._intake.admit_name(theme, what, name, writer=Writer.AGENT)

    def content(self, theme: str, target: str, content: str) -> CheckedVersion:
        masking, suspicion, _ = self._intake.admit_content(
            theme, target, content, source=SOURCE, writer=Writer.AGENT, confirmed=True
        )
        shown = None if masking.content == content else masking.content
        return CheckedVersion(shown, None if suspicion is None else suspicion.rule)

    def reveal(self, theme: str, masked: str) -> str:
        vault = self._intake.vault
        return re.sub(MARK, lambda mark: (vault and vault.reveal(theme, mark[1] or "")) or mark[0], masked)

    def turn(self, theme: str, turn: PortableTurn) -> AdmittedTurn:
        return admit_turn(self._intake, theme, turn)


FACT_IS_STANDING = "SELECT 1 FROM facts WHERE uid = ? AND theme_id = ? AND tier NOT IN ('withdrawn', 'quarantined')"


def check_versions(
    db: Db, names: Names, check: ContentCheck, theme_id: int, theme: str, rows: Sequence[SyncRow]
) -> list[CheckedVersion]:
    """Check each version; a malformed one is hidden unchecked.

    Not inside a transaction: a keyring may take its time. A name that already exists here was admitted by somebody,
    and is not held against new versions.
    """
    refusals: dict[str, str | None] = {}

    def refusal(label: str | None) -> str | None:
        if label is None:
            return None
        if label not in refusals:
            key = names.scope_or_none(theme_id, label)
            is_here = key is not None and key.status != ScopeStatus.WITHDRAWN
            refusals[label] = None if is_here else find_name_refusal(check, theme, "the scope", label)
        return refusals[label]

    def check_one(row: SyncRow, fault: str | None) -> CheckedVersion:
        if fault is not None or row.state != LIVE:
            return CheckedVersion(hidden_because=fault) if fault else UNCHANGED
        if row.kind == "scope":
            closed_by = row.attrs.get("closed_by")
            reason = refusal(str(row.content)) or (
                find_name_refusal(check, row.theme, "what closed the scope", str(closed_by)) if closed_by else None
            )
            return CheckedVersion(hidden_because=reason)
        return check_fact_version(check, row, refusal(row.attrs["scope"]), db, theme_id)

    return [
        check_one(row, find_row_fault(row))._replace(uncurated=not row.trusted and is_uncurated(row)) for row in rows
    ]


def check_fact_version(
    check: ContentCheck, row: SyncRow, name_refusal: str | None, db: Db, theme_id: int
) -> CheckedVersion:
    """Check a fact. :param name_refusal: why its scope must not be listed"""
    target = row.attrs["target"]
    for what, field in NAMES_IN_FACT.items():
        name = row.attrs.get(field)
        if name_refusal is None and name:
            name_refusal = find_name_refusal(check, row.theme, what, str(name))
    if name_refusal is not None and not db.value(FACT_IS_STANDING, (uids.parse_uid(row.uid), theme_id)):
        return CheckedVersion(hidden_because=name_refusal)
    try:
        checked = check.content(row.theme, target, content := str(row.content))
        return checked._replace(clear_digest=canonical_text_digest(content)) if checked.masked_content else checked
    except errors.StoreError as error:
        return CheckedVersion(hidden_because=error.message)


def find_name_refusal(check: ContentCheck, theme: str, what: str, name: str) -> str | None:
    try:
        check.name(theme, what, name)
    except errors.StoreError as error:
        return error.message
    return None
