"""The operations of the journal, each declared once: its word, what people call it, its colour, and how undo takes it."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    """What can happen to an item, in one row of the journal."""

    word: str
    done: str
    """What was done: an item was archived."""
    did: str | None = None
    """What somebody did, after who it was; `done` where it is the same."""
    ink: str = ""
    """A semantic colour."""
    is_deliberate: bool = False
    """Whether it is meant for the very fact: who does one of them has made it their own, and an undo of an earlier change by
    somebody else does not touch it."""
    leads: tuple[tuple[str, int], ...] = ()
    """By entity: how well it says what a change was that has several rows; the lowest says it best."""


OPERATIONS = {
    operation.word: operation
    for operation in (
        Operation("create", "written", "wrote", "success", leads=(("fact", 10),)),
        Operation("touch", "confirmed", is_deliberate=True),
        Operation("supersede", "superseded"),
        Operation("obsolete", "made obsolete", leads=(("fact", 14),)),
        Operation("resolve", "resolved", leads=(("fact", 15),)),
        Operation("edit", "edited", ink="warning", is_deliberate=True, leads=(("fact", 13), ("file", 9))),
        Operation("pin", "pinned", is_deliberate=True),
        Operation("unpin", "unpinned", is_deliberate=True),
        Operation("guard", "guarded", is_deliberate=True),
        Operation("unguard", "unguarded", is_deliberate=True),
        Operation("cite", "cited", is_deliberate=True),
        Operation("uncite", "uncited", is_deliberate=True),
        Operation("cool", "cooled"),
        Operation("warm", "warmed"),
        Operation("archive", "archived", is_deliberate=True),
        Operation("restore", "restored", is_deliberate=True),
        Operation("merge", "merged", leads=(("scope", 3), ("fact", 16))),
        Operation("move", "moved", is_deliberate=True, leads=(("fact", 17),)),
        Operation("quarantine", "quarantined", ink="warning", leads=(("fact", 11),)),
        Operation("open", "opened"),
        Operation("close", "closed", leads=(("scope", 0),)),
        Operation("reopen", "reopened", leads=(("scope", 1),)),
        Operation("rename", "renamed", leads=(("scope", 2),)),
        Operation("withdraw", "withdrawn", "withdrew", leads=(("file", 9),)),
        Operation("undo", "undo", ink="primary"),
        Operation("purge", "purged", ink="error", leads=(("scope", 4), ("fact", 12))),
        Operation("hold", "held back"),
        Operation("branch_merged", "branch_merged"),
    )
}
"""Every operation that can happen to a fact or a scope, by its word."""

OTHER_OPERATIONS = {
    operation.word: operation
    for operation in (
        Operation("backfill", "brought in"),
        Operation("propose", "proposed"),
        Operation("capture", "capture", leads=(("turn", 39),)),
        Operation("link", "linked"),
        Operation("import", "import", "imported"),
        Operation("delete", "delete", leads=(("scope", 5),)),
    )
}
"""Parts of a change that no filter of the journal asks for."""

LAST_LEADS = {"fact": 18, "scope": 30}
"""Ranks of operations that give a change its name only where nothing else does, by entity."""


def find_operation(word: str) -> Operation:
    """Return the operation of a word; one that is named by itself where the word is none."""
    return OPERATIONS.get(word) or OTHER_OPERATIONS.get(word) or Operation(word, word)


def lead_rank(entity: str, word: str) -> int:
    """Return how well a row of this entity and operation says what its change was; the lowest says it best."""
    return dict(find_operation(word).leads).get(entity, LAST_LEADS.get(entity, 40))
