"""What `sync verify` finds: how both sides of each theme differ, and what the carrier tells of this machine's journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hermes_memory_store.compact_json import to_members
from hermes_memory_store.items.journal_receipt import ChainHead


@dataclass(frozen=True, slots=True)
class ThemeDifferences:
    """The differences between the two sides of one theme; all empty when there are none."""

    theme: str
    rows: int
    differ: list[str]
    only_here: list[str]
    only_there: list[str]
    waiting: int
    """Rows and turns that are not sent yet, which are not compared."""
    refused: list[str] = field(default_factory=list)
    """Those of them that the database refused."""
    held_back: list[str] = field(default_factory=list)
    """Rows that are there, and are held back here, since their clock is ahead."""

    @property
    def differs(self) -> bool:
        """Check whether rows that both sides have, or should have, differ."""
        return bool(self.differ or self.only_here or self.only_there)

    @property
    def same(self) -> bool:
        """Check whether both sides are the same, and nothing is left to sync."""
        return not (self.differs or self.waiting or self.refused or self.held_back)

    def as_dict(self) -> dict[str, Any]:
        """Return the differences as `sync verify --json` prints them."""
        return to_members(self, "theme same rows waiting differ only_here only_there refused held_back")


@dataclass(frozen=True, slots=True)
class JournalReport:
    """What the database tells of this machine's journal."""

    held: bool
    """Whether the journal has all that the database knows of it."""
    known: ChainHead | None
    """The newest row that the database knows, or knew."""
    words: str

    def as_dict(self) -> dict[str, Any]:
        """Return it as `sync verify --json` prints it."""
        known_head = None if self.known is None else {"seq": self.known.seq, "at": self.known.at}
        return {"held": self.held, "known": known_head, "words": self.words}


@dataclass(frozen=True, slots=True)
class SyncComparison:
    themes: list[ThemeDifferences]
    journal: JournalReport | None = None
    """What the carrier tells of this machine's journal; None where it keeps nothing of it."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as `sync verify --json` prints it."""
        return {
            "same": all(theme.same for theme in self.themes),
            "themes": [theme.as_dict() for theme in self.themes],
            "journal": None if self.journal is None else self.journal.as_dict(),
        }


def merge_comparisons(comparisons: Sequence[SyncComparison]) -> SyncComparison:
    themes = [theme for entry in comparisons for theme in entry.themes]
    return SyncComparison(themes, next((entry.journal for entry in comparisons if entry.journal is not None), None))
