"""The team's database as an anchor of this store's journal: it keeps the journal's newest head outside of the machine.

Each push brings the head of that moment, and names the heads that are kept there and that the journal still has; those
are replaced. One that the journal has no more stays, however far the journal goes on: it proves that the end was cut off.
"""

from __future__ import annotations

from hermes_memory_bridge.team.database.head_statements import keep_head, list_heads
from hermes_memory_bridge.team.database.team_server import NewHead, TeamServer
from hermes_memory_bridge.team.sync_comparison import JournalReport
from hermes_memory_store.diagnostics.row_checks import Anchor, AnchorReport, describe_broken_anchors
from hermes_memory_store.items.journal_receipt import ChainHead
from hermes_memory_store.store import Store

WAY_OUT = (
    "`hermes-memory-tui doctor` compares it with the receipt and the backups of this machine, `hermes-memory-tui backup"
    " --restore FILE` puts one back; if what is here is what you want, back it up and restore that backup"
)

HASH_DIGITS = range(32, 65)
"""Hexadecimal digits of a hash that the database takes; a link of the chain has 40."""


class KeptHeads:
    """The heads of one store's journal that the database keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._server: TeamServer | None = None
        """The connection over which they were asked for: of a push whose answer was lost nothing else tells."""
        self._kept: list[ChainHead] = []

    def renew(self, server: TeamServer) -> NewHead | None:
        """Return the head that a push brings along; None when the database has it.

        :raises TeamError: the database cannot be used now
        """
        head = self._load_head()
        if head is None:
            return None
        if server is not self._server:
            self._kept, self._server = list_heads(server, self._store.sync.node), server
        lost = self._find_lost(self._kept)
        past = [anchor for anchor in self._kept if anchor not in lost and anchor != head]
        return None if head in self._kept and not past else NewHead(head, past)

    def note(self, new: NewHead | None) -> None:
        """Note that a push was accepted, and what it brought along."""
        if new is not None:
            self._kept = [new.head, *(anchor for anchor in self._kept if anchor not in new.past and anchor != new.head)]

    def carry_over(self, server: TeamServer, former: str) -> list[ChainHead]:
        """Have what the journal lost kept under the store's new name; return it, newest first.

        :param former: the name that the store had
        :raises TeamError: the database cannot be used now
        """
        self._server = None
        lost = self._find_lost(list_heads(server, former))
        for anchor in lost:
            keep_head(server, self._store.sync.node, anchor)
        return lost

    def compare(self, server: TeamServer) -> JournalReport | None:
        """Compare the journal with what the database knows of it; None for a store without changes.

        :raises TeamError: the database cannot be used now
        """
        head = self._load_head()
        if head is None:
            return None
        heads = list_heads(server, self._store.sync.node)
        if lost := self._find_lost(heads):
            return JournalReport(False, lost[0], f"{describe_lost_heads(lost, head)}; {WAY_OUT}")
        missing, since = self._store.journal.find_missing_heads(heads), self._store.journal.restored_at
        newest = next((anchor for anchor in heads if anchor not in missing), None)
        message = (
            "the database knows no row of it"
            if newest is None
            else f"held: it has row {newest.seq} of {newest.at}, as the database knows"
        )
        if since is not None:
            message = f"{message}; what was known before the backup that was restored here at {since} does not count"
        return JournalReport(True, newest, message)

    def _load_head(self) -> ChainHead | None:
        """Load the head of the journal; None for a store without changes, and for a damaged row, of which the doctor tells."""
        try:
            head = self._store.journal.head()
        except (ValueError, OverflowError, OSError):  # of a time that is none
            return None
        is_sound = head is not None and len(head.hash) in HASH_DIGITS and "1970" < head.at < "9999"
        return head if is_sound else None

    def _find_lost(self, heads: list[ChainHead]) -> list[ChainHead]:
        """Return those of the heads that the journal has to have and has not: none from before a backup was restored here."""
        missing = self._store.journal.find_missing_heads(heads)
        since = self._store.journal.restored_at if missing else None
        return [anchor for anchor in missing if since is None or anchor.at > since]


def describe_lost_heads(lost: list[ChainHead], head: ChainHead) -> str:
    """Return the sentence about heads that the journal does not have. :param head: of the journal"""
    cut = [Anchor(anchor, "the team's database") for anchor in lost if anchor.seq > head.seq]
    rewritten = [Anchor(anchor, "the team's database") for anchor in lost if anchor.seq <= head.seq]
    return describe_broken_anchors(AnchorReport(None, cut, rewritten, is_head_known=False), head.seq)
