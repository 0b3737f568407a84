"""Statements to the team database for the heads of a store's journal, which tell that its end was cut off or rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_memory_bridge.team.database.team_server import TeamServer, to_hash, to_hash_array
from hermes_memory_store.clock import format_iso_time
from hermes_memory_store.items.journal_receipt import ChainHead

LIST = "SELECT * FROM hm.list_heads(%s::uuid)"

KEEP = "SELECT hm.keep_head(%s::uuid, %s, %s::bytea, %s::timestamptz, %s::bytea[])"


def list_heads(server: TeamServer, node: str) -> list[ChainHead]:
    """Return the heads that the database keeps of a store's journal for this role, newest first.

    :raises TeamError: the database cannot be used now
    """
    return [ChainHead(seq, link, format_iso_time(ms)) for seq, link, ms in server.rows(LIST, (node,))]


def keep_head(server: TeamServer, node: str, head: ChainHead, *, past: Sequence[ChainHead] = ()) -> None:
    """Have a head kept without a push.

    :param past: heads that it takes the place of
    :raises TeamError: the database cannot be used now
    """
    server.rows(KEEP, (node, head.seq, to_hash(head), head.at, to_hash_array(past)))
