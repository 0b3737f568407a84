"""The `instructions` of each connection: the fixed words, and its theme's hot facts where they are for it; recorded.

A shim that has answered its host's handshake by itself says so in its greeting, with what it gave: that is recorded here,
and what the shim then asks on its own gets the words alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.surface.resources import STATUS
from hermes_memory_bridge.toolkit.connection import GIVEN_WITH_HANDSHAKE, Connection
from hermes_memory_bridge.wire.instructions import WORDS, read_facts, to_instructions
from hermes_memory_bridge.wire.messages import OWN_CLIENTS, OWN_REQUEST
from hermes_memory_store.errors import StoreError
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    Context = ServerRequestContext[Any, Any]

log = logging.getLogger(__name__)

HANDSHAKES = ("initialize", "server/discover")

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"

MOST_FACTS = 1_000
"""Facts that a shim may say it gave: more than any budget takes."""


def to_instructions_middleware(worker: StoreWorker, find_connection: Callable[[Context], Connection]) -> Any:
    async def give_instructions(context: Context, call_next: Any) -> Any:
        answer = await call_next(context)
        if context.method not in HANDSHAKES or not isinstance(answer, dict) or "instructions" not in answer:
            return answer
        if str(context.request_id).startswith(OWN_REQUEST):
            return {**answer, "instructions": WORDS}
        connection = find_connection(context)
        client = find_declared_client(context)
        if client.startswith(OWN_CLIENTS) or not may_read_facts(connection):
            return {**answer, "instructions": WORDS}
        folder = connection.folder or ""
        facts = await asyncio.to_thread(
            read_facts,
            str(worker.store.path),
            folder,
            theme=connection.theme,
            client=client,
            personal=connection.reads_personal,
            sealed=connection.is_sealed,
        )
        if facts is not None:
            await note_given_facts(worker, connection, facts.uids, facts.tokens)
        return {**answer, "instructions": to_instructions(facts)}

    return give_instructions


def may_read_facts(connection: Connection) -> bool:
    """Check whether a connection may read the facts of its theme without calling a tool."""
    return connection.rights.read and connection.rights.grants_any_tool(STATUS.tools)


def find_declared_client(context: Context) -> str:
    """Return what the client of a handshake calls itself; empty when it says nothing."""
    params = context.params if isinstance(context.params, dict) else {}
    meta = params.get("_meta")
    info = params.get("clientInfo") or (meta.get(CLIENT_INFO) if isinstance(meta, dict) else None)
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


async def note_shim_facts(worker: StoreWorker, connection: Connection, declared: Any) -> None:
    """Record what a shim gave in the handshake that it answered by itself. :param said: of its greeting"""
    uids = declared.get("uids") if isinstance(declared, dict) else None
    tokens = declared.get("tokens") if isinstance(declared, dict) else None
    if not isinstance(uids, list) or not isinstance(tokens, int) or not may_read_facts(connection):
        return
    await note_given_facts(worker, connection, [uid for uid in uids[:MOST_FACTS] if isinstance(uid, str)], tokens)


async def note_given_facts(worker: StoreWorker, connection: Connection, uids: list[str], tokens: int) -> None:
    """Record that a connection was given these facts, unless it had all of them before."""
    if connection.instruction_uids.issuperset(uids):
        return

    def note(store: Store) -> None:
        facts = []
        for uid in uids:
            try:
                facts.append(connection.with_store(store).find_fact(uid))
            except StoreError:
                continue  # purged since: what is gone is not said to have been given
        connection.instruction_uids.update(fact.uid for fact in facts)
        is_written = store.names.theme_or_none(connection.theme) is not None  # else the facts are all of other themes
        theme = connection.theme if is_written else None
        at = store.reads.note(GIVEN_WITH_HANDSHAKE, theme, facts, session=connection.own_session, tokens=tokens)
        if at is not None and connection.own_session is None:
            connection.unclaimed_notes.append(at)

    try:
        await worker.read(note)
    except StoreError as error:
        log.error("what was given with a handshake could not be recorded: %s", error.message)
