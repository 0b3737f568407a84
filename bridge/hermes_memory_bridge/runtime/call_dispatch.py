"""Dispatch of tool calls: the thread, the session, idempotency, and a result for every outcome."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from hermes_memory_bridge.runtime.call_origin import CallOrigin, find_call_origin, read_for_caller
from hermes_memory_bridge.runtime.store_worker import StoreWorker
from hermes_memory_bridge.runtime.tool_access import find_call_refusal
from hermes_memory_bridge.toolkit.arguments import (
    Arguments,
    check_argument_names,
    check_argument_types,
    parse_optional_name,
)
from hermes_memory_bridge.toolkit.connection import GIVEN_WITH_HANDSHAKE, Connection
from hermes_memory_bridge.toolkit.tool_results import ConsentRequired, ToolResult
from hermes_memory_bridge.toolkit.tool_spec import ToolSpec
from hermes_memory_bridge.wire.messages import KEY
from hermes_memory_store.errors import StoreError
from hermes_memory_store.intake.intake import to_listed_name
from hermes_memory_store.model import UNKNOWN_ORIGIN, Session
from hermes_memory_store.store import Store

if TYPE_CHECKING:
    from hermes_memory_bridge.embedding.query_vector import QueryVector
    from hermes_memory_store.intake.intake import KeptSecret

log = logging.getLogger(__name__)

LONGEST_KEY = 200

MOST_CLIENT_CHARS = 1_000
"""Characters of a client's name that are looked through."""

VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
"""A version as it is kept: `2.1.0`, `main`."""


class ToolRollback(Exception):
    """A refusal; raised so that whatever its tool did before is rolled back."""

    def __init__(self, answer: ToolResult) -> None:
        super().__init__(answer.text)
        self.answer = answer


async def dispatch_call(
    worker: StoreWorker, connection: Connection, spec: ToolSpec, arguments: Arguments, meta: Any
) -> ToolResult:
    """Run one tool. Every error becomes a text result; an internal error is logged with its traceback.

    :param meta: the call's `_meta`: its idempotency key, and what it says of its origin
    :raises ConsentRequired: the user must be asked first
    """
    started_at = time.perf_counter()
    data, outcome = None, "cancelled"
    try:
        answer = await run_tool(worker, connection, spec, arguments, meta)
        outcome = answer.data["error"]["code"] if "error" in answer.data else "ok"
        data = answer.data if outcome == "ok" else None
        worker.metrics.count_theme_call(connection.theme, spec.name, outcome, time.perf_counter() - started_at)
        return answer
    except ConsentRequired:
        outcome = "consent.needed"
        raise
    finally:
        worker.calls.note(connection, spec, arguments, data, outcome, time.perf_counter() - started_at)


async def run_tool(
    worker: StoreWorker, connection: Connection, spec: ToolSpec, arguments: Arguments, meta: Any
) -> ToolResult:
    """Run a tool as `dispatch_call` does, without counting or logging it."""
    denied = find_call_refusal(spec, connection)
    if denied is not None:
        return denied
    try:
        check_argument_types(spec.arguments, arguments)
        if spec.destroys or spec.overwrites:
            check_argument_names(spec.arguments, arguments)
        if spec.own_session:
            await ensure_session(worker, connection, arguments, meta)
        if spec.reads_only:
            query_vector = await find_query_vector(worker, connection, spec, arguments)
            kind = spec.asks_team
            team_fallback = (
                await worker.team_search.search(connection, kind, arguments, query_vector)
                if kind and worker.team_search
                else None
            )
            try:
                return await read_for_caller(
                    worker,
                    connection,
                    meta,
                    lambda store, origin: spec.handler(
                        connection.with_store(store, query_vector, team_fallback, origin, arguments.get("session_id")),
                        arguments,
                    ),
                )
            finally:
                if team_fallback is not None:
                    team_fallback.close()
        secrets: list[KeptSecret] = []
        origin = await find_call_origin(connection, meta, worker.projects.read)
        job = to_idempotent_write(connection, spec, arguments, parse_idempotency_key(meta), secrets, origin)
        answer = await worker.write(job, alone=spec.alone, failed=lambda: worker.store.intake.take_back(secrets))
        worker.projects.notice(origin.seen)
        worker.branches.notice(origin.seen, wrote=True)
        return answer
    except ToolRollback as taken_back:
        return taken_back.answer
    except StoreError as error:
        return spec.refuses(error)
    except ConsentRequired:
        raise
    except Exception:
        log.exception("tool %s failed", spec.name)
        message = "something went wrong inside the memory; nothing was changed, see the bridge's log"
        return ToolResult(f"error: {message}", {"error": {"code": "internal", "message": message, "value": None}})


async def find_query_vector(
    worker: StoreWorker, connection: Connection, spec: ToolSpec, arguments: Arguments
) -> QueryVector | None:
    """Return the vector of a call's query, if its tool uses one and it is available.

    :raises StoreError: as the tool itself
    """
    meaning, suffice = worker.vectors, spec.words_suffice
    if meaning is None or spec.query_to_embed is None:
        return None
    question = spec.query_to_embed(arguments)
    if spec.waits_for_endpoint:
        return await meaning.find_query_vector(question)
    # Where nothing is computed here, only what was asked before is known, and costs nothing.
    if suffice is not None and meaning.computes_here:
        check = suffice
        if await worker.read(lambda store: check(connection.with_store(store), arguments)):
            return None
    return await meaning.find_query_vector(question, local_theme=connection.theme)


async def ensure_session(worker: StoreWorker, connection: Connection, arguments: Arguments, meta: Any) -> None:
    """Open the session a call belongs to, in a commit of its own: a failed tool does not roll it back."""
    name = connection.unopened_session(parse_optional_name(arguments, "session_id"))
    if name is None:
        return
    called = await find_call_origin(connection, meta, worker.projects.read)

    def take(store: Store) -> Session:
        origin = called.resolve(store, None)
        with store.attribute(origin):
            joined = connection.find_host_session(store) if name == connection.name else None
            if joined is not None:
                connection.add_session(joined, name)
                connection.name = joined.name
            session = joined or connection.with_store(store, origin=origin).take_session(name)
            if session.name == connection.name and connection.unclaimed_notes:
                store.reads.assign_session(session, GIVEN_WITH_HANDSHAKE, connection.unclaimed_notes)
                connection.unclaimed_notes = []
            return session

    connection.add_session(await worker.write(take), name)
    worker.projects.notice(called.seen)


def to_idempotent_write(
    connection: Connection,
    spec: ToolSpec,
    arguments: Arguments,
    key: str | None,
    newly_kept: list[KeptSecret],
    called: CallOrigin,
) -> Callable[[Store], ToolResult]:
    """Wrap a tool as a write. With a key, its result is stored with the write and returned instead of writing twice.

    :param newly_kept: is filled with the secrets that the vault has since, which go when the write fails
    """

    def run_once(store: Store) -> ToolResult:
        # Of two calls with one key, the second waits until the answer of the first is there.
        with (
            store.db.write_transaction() if key and not spec.alone else nullcontext(),
            store.intake.hold_secrets(newly_kept),
        ):
            return run_handler(store)

    def run_handler(store: Store) -> ToolResult:
        name = arguments.get("session_id")
        session = connection.find_session(name) if spec.own_session else None
        view = connection.with_store(store, origin=called.resolve(store, session), session=name)
        saved = store.idempotency_keys.find_answer(connection.theme, key) if key else None
        if saved is not None:
            return ToolResult(**json.loads(saved))
        with store.attribute(view.origin or UNKNOWN_ORIGIN):
            answer = spec.handler(view, arguments)
        if "error" in answer.data:
            raise ToolRollback(answer)
        if key:
            saved_text = json.dumps({"text": answer.text, "data": answer.data}, ensure_ascii=False)
            store.idempotency_keys.save_answer(connection.theme, key, saved_text)
        return answer

    return run_once


def parse_idempotency_key(meta: Any) -> str | None:
    """Return the idempotency key in a call's `_meta`, if there is a valid one."""
    key = meta.get(KEY) if isinstance(meta, dict) else None
    return key if isinstance(key, str) and 0 < len(key) <= LONGEST_KEY else None


def introduce_client(connection: Connection, info: Any) -> None:
    """Note how the connected program calls itself: its name, and its version."""
    connection.client = format_client_name(info)
    connection.declared_name = None if connection.client is None else format_client_name({"name": info["name"]})
    version = info.get("version") if isinstance(info, dict) else None
    is_version = isinstance(version, str) and VERSION.fullmatch(version)
    connection.declared_version = to_listed_name(version) if is_version else None


def format_client_name(info: Any) -> str | None:
    """Return the client's name and version as it reports them, safe to display."""
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return None
    name = to_listed_name(f"{info['name']} {info.get('version', '')}".strip()[:MOST_CLIENT_CHARS])
    return json.dumps(name[:100], ensure_ascii=True)[1:-1]
