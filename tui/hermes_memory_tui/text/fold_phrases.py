"""A fold of the journal in words: `scope payments: 10 facts cooled`, `412 facts from MEMORY.md`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from hermes_memory_store.items.tier_columns import PROPOSED, is_proposed
from hermes_memory_store.model import IMPORT, Tier, Way
from hermes_memory_store.operations import find_operation
from hermes_memory_store.safe_text import to_printable

if TYPE_CHECKING:
    from hermes_memory_store.journal.change_folds import ChangeFold, FoldPart
    from hermes_memory_store.model import QuarantinedFact

NOUNS = {"turn": "message", "branch": "branch mark"}
"""Entities that a person knows by another word."""


def format_fold_verb(fold: ChangeFold) -> str:
    lead = fold.lead
    if lead.op == "undo":
        return f"undo of #{lead.undoes}" if len(fold.changes) == 1 else f"undo of {len(fold.changes):,}"
    if is_import_fold(fold):
        return "import"
    if is_backfill_fold(fold):
        return "backfill"
    after = lead.after or {}
    is_quarantined = lead.op == "create" and after.get("tier") == Tier.QUARANTINED
    held = "propose" if is_proposed(after) else "quarantine"
    return held if is_quarantined else lead.op


def format_fold_subject(fold: ChangeFold, subject: str) -> str:
    """Return what a change was about, and how much. :param subject: what the row says that leads it"""
    if is_backfill_fold(fold):
        return next((format_amount(part.rows, "message") for part in fold.parts), format_size(fold))
    if fold.size == 1:
        return subject
    if is_import_fold(fold):
        file = fold.lead.origin.file
        source = f" from {to_printable(PurePath(file).name)}" if file else ""
        created = [part for part in fold.parts if part.op == "create" and part.entity == "fact"]
        rest = [part for part in fold.parts if part not in created]
        much = format_amount(created[0].rows, "fact") if created else ""
        return "; ".join(filter(None, ((much or format_size(fold)) + source, much and format_parts(rest))))
    first, *rest = fold.parts or (None,)
    if first is None:
        return format_size(fold)
    if fold.lead.op == "undo":
        return ", ".join(format_amount(part.rows, noun_of(part)) for part in fold.parts)
    phrase = subject if first.rows == 1 else format_amount(first.rows, noun_of(first))
    if rest and first.entity == "scope":
        phrase = phrase.removeprefix("scope ")  # what happened to its facts must be seen in a narrow list, too
    return f"{phrase}{': ' if first.entity == 'scope' else ' · '}{format_parts(rest)}" if rest else phrase


def format_parts(parts: Sequence[FoldPart]) -> str:
    """Format what happened to how many: `1 fact written, 2 facts cooled`."""
    return ", ".join(f"{format_amount(part.rows, noun_of(part))} {find_operation(part.op).done}" for part in parts)


def format_amount(number: int, noun: str) -> str:
    """Format a number with its noun, as whatever draws it: this module loads nothing that only a screen needs."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def format_size(fold: ChangeFold) -> str:
    """Format the number of rows, where nothing else was counted."""
    return format_amount(fold.size, "row")


def noun_of(part: FoldPart) -> str:
    return NOUNS.get(part.entity, part.entity)


def is_import_fold(fold: ChangeFold) -> bool:
    """Check whether an import made a change: it is named by its file, and not by the first of its facts."""
    return fold.lead.actor == IMPORT and fold.size > 1


def is_backfill_fold(fold: ChangeFold) -> bool:
    return fold.lead.op == "capture" and fold.lead.origin.way is Way.HISTORY


def explain_waiting(entry: QuarantinedFact) -> str:
    """Explain why a fact waits: "tells the reader to drop its instructions"."""
    from hermes_memory_store.intake.detector import explain_rule

    if entry.why == PROPOSED:
        return PROPOSED
    if entry.is_cleared:
        return "no rule of this version holds it any more"
    return explain_rule(entry.why) + (", and has waited long" if entry.is_overdue else "")
